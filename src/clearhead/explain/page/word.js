// One word: what it attends to and what attends to it, as a picture; and below, how it reaches other words in several hops.
const LINE = 26; // pixels of a word in the picture
const MOST_WORDS = 40; // words in a picture
const NARROW = 560; // pixels: a phone gets a narrower picture

function oneWord() {
  const state = { stack: stackOf("encoder") ?? STACKS[0], layer: 0, head: "mean", word: 0 };
  state.layer = usualLayer(state.stack);
  state.word = Math.max(0, ((state.stack.key === "encoder" ? SOURCE : null)?.word_of ?? []).findIndex((word) => word !== null));
  const tools = make("div", { class: "tools" });
  const picture = make("div", { class: "box", tabindex: 0, role: "group", "aria-label": "Picture of the word" });
  const hops = make("div");
  const words = () => (state.stack.key === "cross" ? [...targetLabels, ...sourceLabels] : state.stack.columns);

  function show(change = {}) {
    Object.assign(state, change);
    if (change.stack) Object.assign(state, { layer: usualLayer(state.stack), head: "mean", word: 0 });
    if (state.head !== "mean" && isRemoved(state.stack.layers[state.layer][state.head])) state.head = "mean";
    const { stack, layer, head, word } = state;
    const save = make("button", { type: "button", class: "plain-button", onclick: () => download("word.svg", "image/svg+xml", svgFile(picture.querySelector("svg"))) }, "Save as SVG");
    const options = words().map((text, n) => [n, stack.key === "cross" ? `${n < targetLabels.length ? "target" : "source"}: ${text}` : `${n + 1}. ${text}`]);
    tools.replaceChildren(
      STACKS.length > 1 ? choice("Attention", STACKS.map((one) => [one.key, one.title]), stack.key, (key) => show({ stack: stackOf(key) })) : "",
      choice("Word", options, word, (value) => show({ word: Number(value) })),
      layerChoice(stack, layer, (value) => show({ layer: Number(value) })),
      headChoice(stack, layer, head, (value) => show({ head: headFrom(value) })), save);
    picture.replaceChildren(wordPicture(state, picture.clientWidth < NARROW));
    hops.replaceChildren(...severalHops(state));
  }
  show();
  let isNarrow = null;
  new ResizeObserver(() => {
    if (!picture.clientWidth || isNarrow === picture.clientWidth < NARROW) return;
    isNarrow = picture.clientWidth < NARROW;
    picture.replaceChildren(wordPicture(state, isNarrow));
  }).observe(picture);
  return [tools, picture, hops];
}

// What the word attends to (its row) and what attends to it (its column). In cross-attention a target word has only a row.
function neighbours({ stack, layer, head, word }) {
  const weights = weightsOf(stack, layer, head);
  const list = (numbers, names) => numbers.map((weight, n) => ({ name: names[n], weight }));
  if (stack.key !== "cross")
    return { name: stack.rows[word], to: list(weights[word], stack.columns).slice(0, stack.isCausal ? word + 1 : undefined), from: list(weights.map((row) => row[word]), stack.rows).slice(stack.isCausal ? word : 0) };
  if (word < targetLabels.length) return { name: stack.rows[word], to: list(weights[word], stack.columns), from: [] };
  const column = word - targetLabels.length;
  return { name: sourceLabels[column], to: [], from: list(weights.map((row) => row[column]), stack.rows) };
}

function wordPicture(state, isNarrow = false) {
  const number = (weight) => draw("tspan", { class: "number" }, write(weight, 2));
  const { name, to, from } = neighbours(state);
  const sides = [strongestFirst(to), strongestFirst(from)];
  const height = LINE * (Math.max(sides[0].length, sides[1].length, 3) + 2);
  const { width, edge: margin, inner: gap } = isNarrow ? { width: 400, edge: 128, inner: 160 } : { width: 720, edge: 150, inner: 300 };
  const middle = height / 2 + LINE / 2;
  const title = `${headTitle(state.stack, state.layer, state.head)}: ${name}`;
  const svg = draw("svg", { class: "word-picture", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${title}. ${spoken(name, to, from)}` });
  svg.append(draw("text", { class: "head", x: margin - 8, y: 16, "text-anchor": "end" }, to.length ? "attends to" : ""), draw("text", { class: "head", x: width - margin + 8, y: 16 }, from.length ? "is attended to by" : ""));
  sides.forEach((side, n) => {
    const [edge, inner, anchor] = n ? [width - margin, width - gap, "start"] : [margin, gap, "end"];
    side.forEach(({ name: other, weight }, row) => {
      const y = LINE * (row + 1) + (height - LINE * (side.length + 1)) / 2 + LINE / 2;
      svg.append(draw("path", { d: `M${inner} ${middle}C${(edge + inner) / 2} ${middle} ${(edge + inner) / 2} ${y} ${edge} ${y}`, class: "link", "stroke-width": 0.5 + 12 * weight, "stroke-opacity": 0.15 + 0.6 * weight }));
      const x = n ? edge + 8 : edge - 8;
      svg.append(draw("text", { x, y: y + 5, "text-anchor": anchor, class: weight >= 0.1 ? "strong" : "" }, n ? [number(weight), `\u2003${other}`] : [`${other}\u2003`, number(weight)]));
    });
  });
  svg.append(draw("text", { class: "middle", x: width / 2, y: middle + 7, "text-anchor": "middle" }, name));
  return svg;
}

// All words in their order, or the strongest ones of a long sentence.
function strongestFirst(list) {
  if (list.length <= MOST_WORDS) return list;
  const least = [...list].sort((a, b) => b.weight - a.weight)[MOST_WORDS - 1].weight;
  return list.filter(({ weight }) => weight >= least).slice(0, MOST_WORDS);
}

function spoken(name, to, from) {
  const three = (list) => [...list].sort((a, b) => b.weight - a.weight).slice(0, 3).map((one) => `${one.name} ${write(one.weight, 2)}`).join(", ");
  return [to.length ? `Attends most to ${three(to)}.` : "", from.length ? `Attended to most by ${three(from)}.` : ""].join(" ").trim();
}

// A copy of a picture with its colours written into it, on white paper, for a slide.
function svgFile(svg) {
  const copy = svg.cloneNode(true);
  copy.setAttribute("xmlns", SVG_SPACE);
  const style = "text{font:15px system-ui,sans-serif;fill:#1b1f24}.head,.number{font-size:13px;fill:#57606a}.middle{font-size:20px;font-weight:600}.strong{font-weight:600}.link{fill:none;stroke:#7a28cb}";
  copy.prepend(draw("style", {}, style));
  return new XMLSerializer().serializeToString(copy);
}

// ---- several hops ----
// A formula with its indices set lower: `R_l` and `R_(l-1)`.
function formulaParts(text) {
  return text.split(/(_\([^)]*\)|_\p{L}+|_\d+)/u).map((part) => (part.startsWith("_") ? make("sub", {}, minus(part.replace(/^_\(?|\)$/g, ""))) : part));
}

function severalHops({ stack, word }) {
  const rollout = DATA.rollout?.[stack.key === "cross" ? "decoder_to_source" : stack.key];
  const isSource = stack.key === "cross" && word >= targetLabels.length;
  if (!rollout || isSource) return [];
  const columns = stack.key === "cross" ? [...sourceLabels, ...inputLabels] : stack.columns;
  const single = stack.layers.map((_, layer) => weightsOf(stack, layer, "mean")[word]);
  const rolled = rollout.map((layer) => layer[word]);
  const rows = single.map((_, layer) => `Layer ${layer + 1}`);
  const sentence = (kind, weights, names) => (i, j) => `${kind} layer ${i + 1}: ${stack.rows[word]} → ${names[j]}, ${write(weights[i][j], 4)}`;
  return [make("h3", {}, "Several hops"),
    make("p", { class: "lead" }, "A word that a layer attends to has itself attended to others in the layer before. Attention rollout multiplies the layers, each half attention and half the word itself, which the residual connection keeps. Its rows add up to 1."),
    make("p", { class: "equation" }, formulaParts((stack.key === "cross" && DATA.rollout.source_formula) || DATA.rollout.formula)),
    make("div", { class: "pair" },
      strip({ caption: "Single layers: mean of the heads", rows, columns: stack.columns, weights: single, sentence: sentence("attention of", single, stack.columns), marked: stack.key === "cross" ? null : word }),
      strip({ caption: "Rollout: from the input up to each layer", rows, columns, weights: rolled, sentence: sentence("rollout up to", rolled, columns), marked: stack.key === "cross" ? null : word }))];
}
