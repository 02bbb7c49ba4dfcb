// The sum behind a weight: the products of the score, the softmax of the row, and the values that the row mixes.
// Totals are sums of the numbers shown; beside each stands the number of the model, which was rounded after its own sum.

const inBrackets = (value, decimals) => (value < 0 ? `(${write(value, decimals)})` : write(value, decimals));
const total = (numbers) => numbers.reduce((sum, number) => sum + number, 0);

// A total and its parts as one line: `0.84 = 1.20×0.50 + 0.30×0.80`.
function sumLine(name, result, parts, className) {
  return make("p", { class: `sum-line ${className}`, "data-total": result }, make("b", {}, name), ` ${write(result, 4)} = ${parts.join(" + ")}`);
}

// `label` is the word that the row has in the grid: in cross-attention it is predicted or read, and the query is made of what was read.
function cellWorking({ stack, layer, head, label }, i, j) {
  const { name, weights: allWeights } = stack.layers[layer][head];
  const weights = allWeights[i];
  const sums = DATA.sums?.[name];
  const key = stack.columns[j];
  const title = [make("h4", {}, make("q", { dir: "auto" }, label), " → ", make("q", { dir: "auto" }, key), `: weight ${write(weights[j], 4)}`)];
  if (stack.key === "cross") title.push(make("p", { class: "hint" }, "In this row the decoder has read ", make("q", { dir: "auto" }, inputLabels[i]), ", whose vector is the query, and predicts ", make("q", { dir: "auto" }, targetLabels[i]), "."));
  const seen = weights.filter((_, n) => !isMaskedAt(stack)(i, n));
  const row = sumLine("row", total(seen), seen.map((weight) => write(weight, 4)), "row-sum");
  if (isMaskedAt(stack)(i, j)) return make("div", {}, title, make("p", {}, "This key comes later in the sentence. Its score is −∞ before the softmax, so its weight is 0."));
  if (!sums) {
    return make("div", {}, title, make("p", { class: "hint" }, "The weights of this row add up to 1, up to rounding:"), row, make("p", { class: "hint" }, headsWithSums(name)));
  }
  return make("div", {}, title, scoreStep(sums, i, j), softmaxStep(stack, sums, weights, i, j), row, valueStep(sums, weights, i, j), sums.projections ? projectionStep(stack, sums, { label, key }, i, j) : null);
}

function headsWithSums(name) {
  if (!IS_TRANSFORMER) return "The products behind the scores of this model are not in this file.";
  const names = Object.keys(DATA.sums ?? {});
  const others = names.length ? `, but only for ${names.slice(0, 4).join(", ")}${names.length > 4 ? ` and ${names.length - 4} other heads` : ""}` : "";
  return ["The products behind the scores of this head are not in this file", others, ". To write them, repeat the command with ", make("code", {}, `--sums ${name}`), "."];
}

// s = q·k / √E, product by product.
function scoreStep(sums, i, j) {
  const [q, k] = [sums.q[i], sums.k[j]];
  const products = q.map((value, e) => value * k[e]);
  const dot = total(products);
  const width = q.length;
  const lines = make("tbody", {}, products.map((product, e) => make("tr", {}, make("th", { scope: "row" }, e + 1), make("td", { class: "query" }, write(q[e], 4)), make("td", { class: "key" }, write(k[e], 4)), make("td", {}, write(product, 4)))));
  const foot = make("tfoot", {}, make("tr", {}, make("th", { scope: "row", colspan: 3 }, "sum of the products"), make("td", { class: "products-total" }, write(dot, 4))));
  const head = make("tr", {}, make("th", { scope: "col" }, ""), make("th", { scope: "col" }, "Q query"), make("th", { scope: "col" }, "K key"), make("th", { scope: "col" }, "product"));
  const table = make("div", { class: "box products-box", tabindex: 0, role: "group", "aria-label": "Products of the score" }, make("table", { class: "products" }, make("thead", {}, head), lines, foot));
  const first = products.slice(0, 4).map((_, e) => `${inBrackets(q[e], 2)}×${inBrackets(k[e], 2)}`);
  return make("section", {}, make("h5", {}, "1. Score"), make("p", { class: "formula" }, `${write(sums.scores[i][j], 4)} = (${first.join(" + ")}${width > 4 ? " + …" : ""}) / √${width} = ${write(dot, 4)} / ${write(Math.sqrt(width), 4)}`),
    make("details", {}, make("summary", {}, `All ${width} products`), table));
}

// w = e^s / Σ e^s over the keys that are not masked.
function softmaxStep(stack, sums, weights, i, j) {
  const scores = sums.scores[i].filter((_, n) => !isMaskedAt(stack)(i, n));
  const power = (score) => [`e`, make("sup", {}, write(score, 2))];
  const rest = scores.flatMap((score, n) => [n ? " + " : "", ...power(score)]);
  return make("section", {}, make("h5", {}, "2. Weight: softmax of the row"), make("p", { class: "formula" }, `${write(weights[j], 4)} = `, power(sums.scores[i][j]), " / (", rest, ")"));
}

// z = Σ w v: one number of the head's output.
function valueStep(sums, weights, i, j) {
  const element = make("section", {}, make("h5", {}, "3. Output z: the values V, mixed by the weights"));
  const shown = make("div");
  const show = (e) => {
    const parts = weights.map((weight, n) => [weight, sums.v[n]?.[e]]).filter(([weight, value]) => value !== undefined && weight !== 0);
    const result = total(parts.map(([weight, value]) => weight * value));
    shown.replaceChildren(sumLine(`z[${e + 1}]`, result, parts.map(([weight, value]) => `${write(weight, 4)}×${inBrackets(value, 4)}`), "value-sum"),
      make("p", { class: "hint" }, `${inBrackets(sums.v[j][e], 4)} is the number of this key's value. The model's own sum is ${write(sums.z[i][e], 4)}; the numbers shown have four decimals.`));
  };
  element.append(choice("Number of the vector", sums.z[i].map((_, e) => [e, String(e + 1)]), 0, (e) => show(Number(e))), shown);
  show(0);
  return element;
}

// q = x W + b, and the same for k and v: one number of a vector, product by product with the weights of the model.
function projectionStep(stack, sums, { label, key }, i, j) {
  const { projections } = sums;
  const inputs = { q: projections.query_input[i], k: (projections.key_input ?? projections.query_input)[j] };
  const vectors = { q: ["query", stack.key === "cross" ? `Query of the row “${label}”` : `Query of “${label}”`, inputs.q, sums.q[i]], k: ["key", `Key of “${key}”`, inputs.k, sums.k[j]], v: ["value", `Value of “${key}”`, inputs.k, sums.v[j]] };
  const element = make("section", {}, make("h5", {}, "4. Projections: the vectors q, k and v from the weights of the model"));
  const shown = make("div");
  const state = { vector: "q", number: 0 };
  const show = (change) => {
    Object.assign(state, change);
    const [role, , x, own] = vectors[state.vector];
    shown.replaceChildren(...projectionSum(state, { role, x, own: own[state.number], isRotated: DATA.model.positions === "rotary" && state.vector !== "v" }, projections));
  };
  element.append(make("div", { class: "tools" }, choice("Vector", Object.entries(vectors).map(([name, [, title]]) => [name, title]), "q", (vector) => show({ vector })),
    choice("Number of the projection", sums.q[i].map((_, e) => [e, String(e + 1)]), 0, (e) => show({ number: Number(e) }))), shown);
  show({});
  return element;
}

function projectionSum({ vector, number }, { role, x, own, isRotated }, projections) {
  const weights = projections[`w_${vector}`].map((row) => row[number]);
  const bias = projections[`b_${vector}`][number];
  const products = x.map((value, d) => value * weights[d]);
  const result = total(products) + bias;
  const first = products.slice(0, 3).map((_, d) => `${inBrackets(x[d], 2)}×${inBrackets(weights[d], 2)}`);
  const row = (d) => make("tr", {}, make("th", { scope: "row" }, d + 1), make("td", {}, write(x[d], 6)), make("td", { class: role }, write(weights[d], 6)), make("td", {}, write(products[d], 6)));
  const head = make("tr", {}, ["", "input x", `weight W`, "product"].map((text) => make("th", { scope: "col" }, text)));
  const foot = [["bias b", bias, ""], ["sum of the products and the bias", result, "projection-total"]].map(([name, value, className]) => make("tr", {}, make("th", { scope: "row", colspan: 3 }, name), make("td", { class: className }, write(value, 6))));
  const table = make("table", { class: "products projections" }, make("thead", {}, head), make("tbody", {}, products.map((_, d) => row(d))), make("tfoot", {}, foot));
  const note = isRotated ? "The positions of this model rotate this vector afterwards, so that it differs from the one in the score." : `The model’s own number is ${write(own, 4)}.`;
  return [make("p", { class: "formula" }, `${vector}[${number + 1}] = ${write(result, 4)} = ${first.join(" + ")} + … + ${inBrackets(bias, 4)}`), make("p", { class: "hint" }, note),
    make("details", {}, make("summary", {}, `All ${x.length} products`), make("div", { class: "box products-box", tabindex: 0, role: "group", "aria-label": "Products of the projection" }, table))];
}
