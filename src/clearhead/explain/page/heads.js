// The atlas of heads: layers × heads coloured by a measure, one head with all its numbers, and a table to sort.
const DATA = JSON.parse(document.getElementById("report").textContent);
const STACKS = [["encoder.self_attention", "Encoder self-attention"], ["decoder.self_attention", "Decoder self-attention"], ["decoder.cross_attention", "Cross-attention"]];

// Every measure: its title, its decimals, its worth (the larger, the darker) and the p-value that belongs to it.
const MEASURES = {
  importance: { title: "Importance", decimals: 4, worth: (value) => value },
  loss_change: { title: "Loss if removed", decimals: 4, isChange: true, worth: (value) => value, test: "loss_p_value" },
  bleu_change: { title: "BLEU if removed", decimals: 2, isChange: true, worth: (value) => -value, test: "bleu_p_value" },
  loss_change_alone: { title: "Loss if alone in its layer", decimals: 4, isChange: true, worth: (value, largest) => largest - value },
  confidence: { title: "Confidence", decimals: 2, worth: (value) => value },
  alignment_error: { title: "Alignment error, %", decimals: 1, worth: (value) => 100 - value },
};
for (const name of Object.keys(MEASURES)) if (DATA.heads.every((head) => head[name] === null)) delete MEASURES[name];

const signed = (value, decimals) => (value > 0 ? "+" : "") + write(value, decimals);
const isSignificant = (head, { test }) => Boolean(test) && head[test] !== null && head[test] < DATA.significant;
function shown(head, name) {
  const measure = MEASURES[name];
  const value = head[name];
  if (value === null) return "–";
  return `${measure.isChange ? signed(value, measure.decimals) : write(value, measure.decimals)}${isSignificant(head, measure) ? "*" : ""}`;
}
// Share of the largest worth of all heads, between 0 and 1.
function share(head, name) {
  const { worth } = MEASURES[name];
  const values = DATA.heads.map((other) => other[name]).filter((value) => value !== null);
  const worths = values.map((value) => worth(value, Math.max(...values)));
  const largest = Math.max(...worths);
  return head[name] === null || largest <= 0 ? 0 : Math.max(0, worth(head[name], Math.max(...values)) / largest);
}

function placeOf(head) {
  const [stack, layer, attention, , number] = head.head.split(".");
  return { kind: `${stack}.${attention}`, layer: Number(layer), number: Number(number) };
}
function titleOf(head) {
  const { kind, layer, number } = placeOf(head);
  return `${STACKS.find(([key]) => key === kind)[1]}, layer ${layer + 1}, head ${number + 1}`;
}

// ---- one head ----
const probability = (value) => (value < 0.001 ? "p < 0.001" : `p = ${write(value, 3)}`);
function factsOf(head) {
  const test = (name) => `${probability(head[name])}, ${head[name] < DATA.significant ? "significant" : "not significant"}`;
  const isBest = DATA.best_alone[head.head.split(".head.")[0]] === head.head;
  const facts = [
    ["Kind", head.kind],
    ["Confidence, mean of the largest weight", write(head.confidence, 2)],
    ["Most frequent offset", `${signed(head.offset, 0)} (${percent(head.offset_share)}${head.is_positional ? ", positional" : ""})`],
    ["Mean weight of the first token", write(head.first_share, 2)],
    ["Mean weight of the end token", head.end_share === null ? null : write(head.end_share, 2)],
    ["Alignment error rate", head.alignment_error === null ? null : `${write(head.alignment_error, 1)} % where a token is ${head.alignment_is_shifted ? "read" : "predicted"}`],
    ["Importance, mean |∂loss/∂gate|", write(head.importance, 4)],
    ["Change of the loss if removed", `${signed(head.loss_change, 4)} (${test("loss_p_value")})`],
    ["Change of the loss if alone in its layer", `${signed(head.loss_change_alone, 4)}${isBest ? ", the best of its layer" : ""}`],
    ["Change of BLEU if removed", head.bleu_change === null ? null : `${signed(head.bleu_change, 2)} (${test("bleu_p_value")})`],
  ];
  return make("dl", { class: "facts" }, facts.filter(([, value]) => value !== null).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value))));
}

// ---- the atlas ----
function atlas() {
  const opened = make("div", { class: "opened", id: "head", "aria-live": "polite" });
  const buttons = new Map();

  function open(head, isByUser = true) {
    for (const [other, button] of buttons) button.setAttribute("aria-pressed", String(other === head));
    opened.replaceChildren(make("h3", {}, titleOf(head), " ", make("code", {}, head.head)), factsOf(head));
    if (isByUser) opened.scrollIntoView({ block: "nearest", behavior: CALM.matches ? "auto" : "smooth" });
  }
  function colour(name) {
    for (const [head, button] of buttons) {
      button.querySelector(".field").style.setProperty("--heat", Math.round(100 * share(head, name)));
      button.querySelector(".measure").textContent = shown(head, name);
      button.setAttribute("aria-label", `${titleOf(head)}: ${head.kind}, confidence ${write(head.confidence, 2)}, ${MEASURES[name].title.toLowerCase()} ${shown(head, name).replace("*", ", significant")}`);
    }
  }
  function cell(head) {
    const notes = make("span", { class: "kind" }, head.kind, make("span", { class: "value" }, write(head.confidence, 2)));
    const button = make("button", { type: "button", class: "thumbnail", "data-say": "", "aria-pressed": "false", onclick: () => open(head) }, make("span", { class: "field" }), make("span", { class: "measure" }), notes);
    buttons.set(head, button);
    return button;
  }

  const sheets = [];
  for (const [kind, title] of STACKS) {
    const layers = [];
    for (const head of DATA.heads.filter((one) => placeOf(one).kind === kind)) (layers[placeOf(head).layer] ??= []).push(head);
    if (!layers.length) continue;
    const lines = layers.map((heads, layer) => make("div", { class: "layer", role: "group", "aria-label": `${title}, layer ${layer + 1}` }, make("span", { class: "layer-name" }, `Layer ${layer + 1}`), make("div", { class: "heads" }, heads.map(cell))));
    const sheet = make("div", { class: "sheet" }, make("h3", {}, title, " ", make("small", {}, `${layers.length} layers × ${layers.find(Boolean).length} heads`)), lines);
    gridKeys(sheet);
    sheets.push(sheet);
  }
  const board = make("div", { class: "sheets" }, sheets);
  board.style.setProperty("--heads", Math.max(...DATA.heads.map((head) => placeOf(head).number + 1)));
  const first = Object.keys(MEASURES)[0];
  colour(first);
  open(DATA.heads.reduce((best, head) => (share(head, first) > share(best, first) ? head : best)), false);
  const tools = make("div", { class: "tools" }, choice("Measure", Object.entries(MEASURES).map(([name, { title }]) => [name, title]), first, colour));
  return [tools, board, opened];
}

// ---- the table ----
function sortable(table) {
  const rows = [...table.tBodies[0].rows].map((row, n) => ({ row, n, head: DATA.heads[n] }));
  for (const heading of table.tHead.rows[0].cells) {
    const { name } = heading.dataset;
    const button = make("button", { type: "button" }, heading.textContent);
    heading.replaceChildren(button);
    button.addEventListener("click", () => {
      const isText = typeof DATA.heads[0][name] === "string";
      const before = heading.getAttribute("aria-sort");
      const isDown = before ? before === "ascending" : !isText;
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", isDown ? "descending" : "ascending");
      rows.sort((a, b) => compared(a.head[name], b.head[name], isDown) || a.n - b.n);
      table.tBodies[0].append(...rows.map(({ row }) => row));
    });
  }
}
// Order of two values; what was not measured comes last in both directions.
function compared(a, b, isDown) {
  if (a === null || b === null) return (a === null) - (b === null);
  return (isDown ? -1 : 1) * (a < b ? -1 : a > b ? 1 : 0);
}

document.getElementById("atlas").append(...atlas());
sortable(document.querySelector(".report"));
document.body.dataset.ready = "yes";
