// The explanation as the page reads it: labels of tokens, names of heads, and rows of weights. Nothing is computed here
// but the mean of the heads of a layer, which is a sum of the weights shown for them.
const DATA = JSON.parse(document.getElementById("explanation").textContent);
const SOURCE = DATA.source ?? null;
const TARGET = DATA.target ?? null;

const IS_TRANSFORMER = (DATA.model?.architecture ?? "transformer") === "transformer"; // other models have fewer parts

// A token as people read it: without the sign that starts a word; letters inside a word have a dot before them.
function tokenText(side, at) {
  const piece = side.pieces[at];
  const isInside = at > 0 && side.word_of?.[at] !== null && side.word_of?.[at] === side.word_of?.[at - 1];
  const text = piece.replace(/^▁/, "").replace(/@@$/, "") || "␣";
  return isInside && /^[\p{L}\p{N}]/u.test(piece) ? `·${text}` : text;
}

const labels = (side) => side.pieces.map((_, at) => tokenText(side, at));
const sourceLabels = SOURCE ? labels(SOURCE) : [];
const targetLabels = TARGET ? labels(TARGET) : [];
// What the decoder reads in each row: the start token, then the translation without its last token.
const inputLabels = TARGET ? [TARGET.inputs?.[0]?.replace(/^▁/, "") || "start", ...targetLabels.slice(0, -1)] : [];
const isSpecial = (side, at) => side.word_of?.[at] === null;

// The stacks of attention in the order of the machine. `rows` are queries and `columns` are keys.
const STACKS = [
  { key: "encoder", title: "Encoder self-attention", place: "Encoder", rows: sourceLabels, columns: sourceLabels, isCausal: false },
  { key: "decoder", title: "Decoder self-attention", place: "Decoder", rows: inputLabels, columns: inputLabels, isCausal: true },
  { key: "cross", title: "Cross-attention", place: "Decoder, to the source", rows: targetLabels, columns: sourceLabels, isCausal: false },
]
  .map((stack) => ({ ...stack, layers: DATA.attention?.[stack.key] ?? null }))
  .filter((stack) => stack.layers?.length);
const stackOf = (key) => STACKS.find((stack) => stack.key === key);

// A pruned model has lost some heads: they keep their numbers, but have no weights, and no mean counts them.
const isRemoved = (head) => head.kind === "removed";
const keptHeads = (stack, layer) => stack.layers[layer].filter((head) => !isRemoved(head));

// The number of a layer in the model, from 1: only the last layer of a recurrent model has attention.
const layerNumber = (stack, layer) => Number(stack.layers[layer][0].name.split(".")[1]) + 1;
const counted = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

function headTitle(stack, layer, head) {
  const place = `${stack.title}, layer ${layerNumber(stack, layer)}`;
  if (stack.layers[layer].length === 1) return place;
  return `${place}, ${head === "mean" ? `mean of ${counted(keptHeads(stack, layer).length, "head")}` : `head ${head + 1}`}`;
}

// The weights of a head, or the mean of the heads of a layer; zeros if the layer has no heads.
const means = new Map();
function weightsOf(stack, layer, head) {
  if (head !== "mean") return stack.layers[layer][head].weights;
  const name = `${stack.key}.${layer}`;
  if (!means.has(name)) {
    const heads = keptHeads(stack, layer);
    means.set(name, stack.layers[layer][0].weights.map((row, i) => row.map((_, j) => heads.reduce((sum, one) => sum + one.weights[i][j], 0) / Math.max(1, heads.length))));
  }
  return means.get(name);
}

// Cross-attention by the row that reads a token, which is one row below the row that predicts it; the last token has none.
const shifted = (weights) => weights.slice(1);

const isMaskedAt = (stack) => (stack.isCausal ? (i, j) => j > i : () => false);

// The largest weight of a row, with its index; the first of equal ones.
function strongest(row) {
  let at = 0;
  row.forEach((weight, j) => (at = weight > row[at] ? j : at));
  return { at, weight: row[at] };
}

const layerOptions = (stack) => stack.layers.map((_, n) => [n, `Layer ${layerNumber(stack, n)}`]);
const headOptions = (stack, layer) => [["mean", "Mean of heads"], ...stack.layers[layer].map((head, n) => [n, `Head ${n + 1}`, head]).filter(([, , head]) => !isRemoved(head))];
// The choices of a layer and of a head, where there are several.
const layerChoice = (stack, layer, onChange) => (stack.layers.length > 1 ? choice("Layer", layerOptions(stack), layer, onChange) : "");
const headChoice = (stack, layer, head, onChange) => (stack.layers[layer].length > 1 ? choice("Head", headOptions(stack, layer), head, onChange) : "");
const headFrom = (value) => (value === "mean" ? "mean" : Number(value));
// The layer that alignments are usually read from: the last but one of those that have heads.
function usualLayer(stack) {
  const withHeads = [...stack.layers.keys()].filter((layer) => keptHeads(stack, layer).length);
  return withHeads[Math.max(0, withHeads.length - 2)] ?? 0;
}
