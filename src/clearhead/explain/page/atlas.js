// The atlas of heads: a thumbnail for every head, and the head that is open below.
function atlas() {
  const opened = make("div", { class: "opened", id: "head" });
  const state = { stack: null, layer: 0, head: 0, isShifted: false };
  const thumbnails = new Map();

  function open(stack, layer, head, isByUser = true) {
    Object.assign(state, { stack, layer, head });
    for (const [name, button] of thumbnails) button.setAttribute("aria-pressed", String(name === `${stack.key}.${layer}.${head}`));
    opened.replaceChildren(...headView(state, (isShifted) => {
      state.isShifted = isShifted;
      open(stack, layer, head);
    }));
    if (isByUser) opened.querySelector("h3").scrollIntoView({ block: "nearest", behavior: CALM.matches ? "auto" : "smooth" });
  }

  function removedThumbnail(stack, layer, head) {
    const label = `${headTitle(stack, layer, head)}: removed`;
    return make("button", { type: "button", class: "thumbnail removed", "aria-label": label, "data-say": "", "aria-disabled": "true" }, make("canvas", { "aria-hidden": "true" }), make("span", { class: "kind" }, "removed"));
  }

  function thumbnail(stack, layer, head) {
    if (isRemoved(stack.layers[layer][head])) return removedThumbnail(stack, layer, head);
    const { kind, confidence, weights } = stack.layers[layer][head];
    const canvas = make("canvas", { "aria-hidden": "true" });
    const label = `${headTitle(stack, layer, head)}: ${kind}, confidence ${write(confidence, 2)}`;
    const notes = make("span", { class: "kind" }, kind, make("span", { class: "value" }, write(confidence, 2)));
    const button = make("button", { type: "button", class: "thumbnail", "aria-label": label, "data-say": "", "aria-pressed": "false" }, canvas, notes);
    button.addEventListener("click", () => open(stack, layer, head));
    button.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      open(stack, layer, head);
      opened.querySelector("td[tabindex='0']")?.focus();
    });
    thumbnails.set(`${stack.key}.${layer}.${head}`, button);
    whenSeen(canvas, () => paintWeights(canvas, weights));
    return button;
  }

  const sheets = STACKS.map((stack) => {
    const lines = stack.layers.map((heads, layer) => {
      const line = make("div", { class: "layer", role: "group", "aria-label": `${stack.title}, layer ${layerNumber(stack, layer)}` }, make("span", { class: "layer-name" }, `Layer ${layerNumber(stack, layer)}`), make("div", { class: "heads" }, heads.map((_, head) => thumbnail(stack, layer, head))));
      return line;
    });
    const numRemoved = stack.layers.flat().filter(isRemoved).length;
    const sheet = make("div", { class: "sheet" }, make("h3", {}, stack.title, " ", make("small", {}, `${counted(stack.layers.length, "layer")} × ${counted(stack.layers[0].length, "head")}${numRemoved ? `, ${numRemoved} removed` : ""}`)), lines);
    gridKeys(sheet);
    return sheet;
  });
  opened.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    thumbnails.get(`${state.stack.key}.${state.layer}.${state.head}`)?.focus();
  });
  const start = firstHead();
  if (start) open(stackOf(start.key), start.layer, start.head, false);
  addEventListener("beforeprint", () => sheets.forEach((sheet) => sheet.querySelectorAll("canvas").forEach((canvas) => canvas.paint?.())));
  const board = make("div", { class: "sheets" }, sheets);
  board.style.setProperty("--heads", Math.max(...STACKS.map((stack) => stack.layers[0].length)));
  return [board, opened];
}

// The first head that is open: one whose products are in the file, else the most confident cross-attention head. None if all were removed.
function firstHead() {
  const all = STACKS.flatMap((stack) => stack.layers.flatMap((heads, layer) => heads.map((data, head) => ({ key: stack.key, layer, head, data })))).filter((one) => !isRemoved(one.data));
  const start = (stackOf("cross") ?? STACKS[0]).key;
  const candidates = all.filter((one) => one.key === start).sort((a, b) => b.data.confidence - a.data.confidence);
  return candidates.find((one) => DATA.sums?.[one.data.name]) ?? all.find((one) => DATA.sums?.[one.data.name]) ?? candidates[0] ?? all[0];
}

// Paint a canvas when it comes into view, and again when the colours of the system change.
const DARK = matchMedia("(prefers-color-scheme: dark)");
function whenSeen(canvas, paint) {
  canvas.paint = paint;
  const watcher = new IntersectionObserver((entries) => {
    if (!entries.some((entry) => entry.isIntersecting)) return;
    watcher.disconnect();
    paint();
    DARK.addEventListener("change", paint);
  }, { rootMargin: "200px" });
  watcher.observe(canvas);
}

// The open head: what it does, its weights, and for cross-attention the same weights shifted by a row.
function headView({ stack, layer, head, isShifted }, onShift) {
  const data = stack.layers[layer][head];
  const isCross = stack.key === "cross";
  const facts = [`Kind: ${data.kind}. Confidence, the mean of the largest weight of a row: ${write(data.confidence, 2)}. `,
    `Most frequent offset of the largest weight: ${minus(String(data.offset))} (${percent(data.offset_share)}). `,
    `Mean weight of the first token: ${write(data.first_share, 2)}${data.end_share === null ? "" : `, of the end token: ${write(data.end_share, 2)}`}.`];
  const offset = isCross && isShifted ? 1 : 0;
  const weights = offset ? shifted(data.weights) : data.weights;
  const rows = offset ? stack.rows.slice(0, weights.length) : stack.rows;
  const sentence = (i, j) => isMaskedAt(stack)(i, j)
    ? `${stack.columns[j]} comes after ${rows[i]}: masked, weight 0`
    : `${rows[i]} → ${stack.columns[j]}: weight ${write(weights[i][j], 4)}`;
  const reading = !isCross
    ? `A row is a word that looks, a column is a word that is looked at.${stack.isCausal ? " Later words are masked." : ""}`
    : offset
      ? "Each row is labelled with the word that it reads. This is the row below the one that predicts it; the last word is read by no row. Which of the two rows looks at the source of a word depends on the model and the layer."
      : "Each row is labelled with the word that it predicts. It has read the words before.";
  const tools = isCross
    ? [switcher("Rows", [["predicts", "Row that predicts the word"], ["reads", "Row that reads it"]], offset ? "reads" : "predicts", (value) => onShift(value === "reads"))]
    : [];
  return [make("h3", { tabindex: -1 }, headTitle(stack, layer, head), " ", make("code", {}, data.name)), make("p", { class: "lead" }, facts),
    weightGrid({ name: headTitle(stack, layer, head), tools, caption: reading, rows, columns: stack.columns, weights, sentence, isMasked: isMaskedAt(stack), working: (i, j) => cellWorking({ stack, layer, head, label: rows[i] }, i + offset, j) })];
}
