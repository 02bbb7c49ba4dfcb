// Two sentences with one word in common: the word has one static vector, and its contextual vectors drift apart.
function twoSentences(comparison) {
  const sides = comparison.sides.map((side) => {
    const marked = new Set(side.position);
    const words = side.pieces.map((_, at) => make(marked.has(at) ? "mark" : "span", { dir: "auto", class: isSpecial(side, at) ? "special" : null }, tokenText(side, at)));
    const translation = side.translation ? make("p", { class: "hint", dir: "auto" }, side.translation) : null;
    return make("article", { class: "card" }, make("p", { class: "sentence-line" }, words.flatMap((word) => [word, " "])), translation);
  });
  const last = comparison.layers.at(-1);
  const summary = `Before the first layer the vector of “${comparison.word}” in the embedding matrix is the same in both sentences (cosine ${write(comparison.static_cosine, 2)}). After layer ${last.layer} the two vectors have a cosine of ${write(last.cosine, 2)}.`;
  const rows = comparison.layers.map((one) => make("tr", {}, make("th", { scope: "row" }, one.layer === 0 ? (comparison.model?.positions === null ? "Embedding" : "Embedding + position") : `Layer ${one.layer}`), make("td", {}, write(one.cosine, 4)), make("td", {}, write(one.distance, 4))));
  const head = make("tr", {}, make("th", { scope: "col" }, "After"), make("th", { scope: "col" }, "Cosine"), make("th", { scope: "col" }, "Distance"));
  return [make("div", { class: "cards" }, sides), make("p", { class: "lead" }, summary), make("div", { class: "pair" }, driftPicture(comparison), make("div", { class: "box" }, make("table", { class: "numbers" }, make("thead", {}, head), make("tbody", {}, rows))))];
}

// The cosine of the two vectors by layer, as a line.
function driftPicture({ word, layers }) {
  const [width, height, pad] = [560, 260, 44];
  const lowest = Math.min(0, ...layers.map((one) => one.cosine));
  const x = (n) => 1.8 * pad + (n * (width - 2.8 * pad)) / Math.max(1, layers.length - 1);
  const y = (cosine) => 0.75 * pad + ((1 - cosine) * (height - 1.75 * pad)) / (1 - lowest);
  const svg = draw("svg", { class: "drift", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Cosine of the two vectors of ${word} by layer: ${layers.map((one) => write(one.cosine, 2)).join(", ")}` });
  for (const mark of [1, 0.5, 0]) svg.append(draw("path", { class: "rule", d: `M${pad} ${y(mark)}H${width - pad / 3}` }), draw("text", { class: "head", x: pad - 8, y: y(mark) + 5, "text-anchor": "end" }, String(mark)));
  svg.append(draw("path", { class: "line", d: layers.map((one, n) => `${n ? "L" : "M"}${x(n)} ${y(one.cosine)}`).join("") }));
  layers.forEach((one, n) => svg.append(draw("circle", { class: "point", cx: x(n), cy: y(one.cosine), r: 5 }), draw("text", { x: x(n), y: y(one.cosine) - 12, "text-anchor": "middle" }, write(one.cosine, 2)), draw("text", { class: "head", x: x(n), y: height - 8, "text-anchor": "middle" }, one.layer === 0 ? "embedding" : `layer ${one.layer}`)));
  return svg;
}
