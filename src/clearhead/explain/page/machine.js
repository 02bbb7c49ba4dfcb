// The machine in two lanes, left to right: the encoder above, the decoder below, ribbons of cross-attention between them.
// A token is followed from station to station; each station shows what the explanation knows about it there.
const ROLE_TAGS = { attention: "A", "feed-forward": "F", plain: "•", residual: "R" };

// Every station as {lane, layer, name, role, stack?, after?}: `after` is the layer whose logit lens belongs to it.
function stations() {
  const all = [];
  const lane = (name, layers, parts) => {
    all.push({ lane: name, layer: null, name: "Embedding", short: "Embed", role: "plain", kind: "embed" });
    for (let layer = 0; layer < layers; layer++) for (const part of parts) all.push({ lane: name, layer, ...part });
  };
  const self = (key) => ({ name: "Self-attention", short: "Self", role: "attention", kind: "attend", stack: key });
  const forward = { name: "Feed-forward", role: "feed-forward", kind: "forward" };
  if (stackOf("encoder")) {
    lane("encoder", stackOf("encoder").layers.length, [self("encoder"), forward]);
    all.push({ lane: "encoder", layer: null, name: TARGET ? "Memory" : "Output", role: "residual", kind: "memory" });
  }
  if (stackOf("decoder")) {
    const cross = { name: "Cross-attention", short: "Cross", role: "attention", kind: "attend", stack: "cross" };
    lane("decoder", stackOf("decoder").layers.length, [self("decoder"), ...(stackOf("cross") ? [cross] : []), forward]);
    all.push({ lane: "decoder", layer: null, name: "Next word", role: "plain", kind: "output" });
  }
  return all;
}

function machine() {
  const all = stations();
  const state = { token: { encoder: 0, decoder: 0 }, at: 0 };
  const buttons = all.map((station, at) => {
    const tag = make("b", { "aria-hidden": "true" }, ROLE_TAGS[station.role]);
    const label = `${station.lane === "encoder" ? "Encoder" : "Decoder"}${station.layer === null ? "" : ` layer ${station.layer + 1}`}: ${station.name}`;
    const button = make("button", { type: "button", class: `station ${station.role}`, "data-kind": station.stack ?? station.kind, "aria-label": label, "data-say": "" }, tag, make("span", {}, station.short ?? station.name));
    button.addEventListener("click", () => go(at));
    return button;
  });
  const ribbons = draw("svg", { class: "ribbons", "aria-hidden": "true" });
  const rails = make("div", { class: "rails" }, ribbons);
  for (const lane of ["encoder", "decoder"]) if (all.some((station) => station.lane === lane)) rails.append(rail(lane, all, buttons));
  const detail = make("div", { class: "detail" });
  const place = make("span", { class: "place", role: "status" });
  const back = make("button", { type: "button", class: "plain-button", onclick: () => go(state.at - 1) }, "← Back");
  const next = make("button", { type: "button", class: "plain-button", onclick: () => go(state.at + 1) }, "Next step →");
  const tokens = make("div", { class: "tools" });
  const scroller = make("div", { class: "box machine", tabindex: 0, role: "group", "aria-label": "The stations of the model" }, rails);

  function go(at) {
    state.at = Math.max(0, Math.min(all.length - 1, at));
    const station = all[state.at];
    buttons.forEach((button, n) => button.setAttribute("aria-pressed", String(n === state.at)));
    back.disabled = state.at === 0;
    next.disabled = state.at === all.length - 1;
    place.textContent = `Step ${state.at + 1} of ${all.length}: ${buttons[state.at].getAttribute("aria-label")}`;
    detail.replaceChildren(...stationDetail(station, state.token[station.lane]));
    tokens.replaceChildren(choice("Follow", tokenOptions(station.lane), state.token[station.lane], (value) => {
      state.token[station.lane] = Number(value);
      go(state.at);
    }), back, next, place);
    const box = scroller.getBoundingClientRect();
    const seen = buttons[state.at].getBoundingClientRect();
    if (box.width && (seen.left < box.left || seen.right > box.right)) scroller.scrollTo({ left: scroller.scrollLeft + seen.left - box.left - box.width / 3, behavior: CALM.matches ? "auto" : "smooth" });
  }

  new ResizeObserver(() => {
    paintCrossRibbons(ribbons, rails);
    if (matchMedia("screen").matches) fitPaper(rails, Math.max(...[...rails.querySelectorAll(".rail")].map((one) => one.offsetWidth)));
  }).observe(rails);
  go(0);
  return [scroller, tokens, detail];
}

const tokenOptions = (lane) =>
  lane === "encoder" ? sourceLabels.map((text, n) => [n, `${n + 1}. ${text}`]) : targetLabels.map((text, n) => [n, `${n + 1}. ${inputLabels[n]} → ${text}`]);

// One lane: the embedding, a card for each layer with its stations, and the result.
function rail(lane, all, buttons) {
  const line = make("div", { class: `rail ${lane}`, role: "group", "aria-label": lane === "encoder" ? "Encoder" : "Decoder" });
  line.append(make("span", { class: "rail-name" }, lane === "encoder" ? "Encoder" : "Decoder"));
  let card = null;
  let layer = null;
  all.forEach((station, at) => {
    if (station.lane !== lane) return;
    if (station.layer === null || station.layer !== layer) {
      card = make("div", { class: station.layer === null ? "block end" : "block" });
      if (station.layer !== null) card.append(make("span", { class: "block-name" }, `Layer ${station.layer + 1}`));
      line.append(card);
    }
    layer = station.layer;
    card.append(buttons[at]);
  });
  return line;
}

// From the memory, which is the end of the encoder, to the cross-attention of every decoder layer.
function paintCrossRibbons(svg, rails) {
  const memory = rails.querySelector("[data-kind=memory]");
  const frame = rails.getBoundingClientRect();
  svg.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
  const from = memory?.getBoundingClientRect();
  const edges = { left: from?.left, right: from?.right };
  const x = (from?.left + from?.right) / 2 - frame.left;
  const floor = memory?.closest(".rail").getBoundingClientRect().bottom - frame.top; // below the layers
  const paths = [...rails.querySelectorAll("[data-kind=cross]")].map((station) => {
    const to = station.closest(".block").getBoundingClientRect();
    return draw("path", { d: `M${x} ${from.bottom - frame.top}V${floor}${ribbonPath({ ...edges, bottom: floor + frame.top }, to, frame, false)}`, "stroke-width": 5, "stroke-opacity": 0.3 });
  });
  svg.replaceChildren(...(from ? paths : []));
}

// What happens to one token at one station, in words and with its own numbers.
function stationDetail(station, at) {
  const isEncoder = station.lane === "encoder";
  const side = isEncoder ? SOURCE : TARGET;
  const text = isEncoder ? sourceLabels[at] : inputLabels[at];
  const model = DATA.model;
  const paragraph = (...parts) => make("p", {}, ...parts);
  const word = () => make("q", { dir: "auto" }, text);
  if (station.kind === "embed") {
    const number = isEncoder ? `token ${side.ids[at]}` : at ? `token ${side.ids[at - 1]}` : "the start token";
    return [paragraph(word(), ` is ${number}: its row of the embedding matrix, ${model.d_model} numbers, plus its position (${model.positions}).`)];
  }
  if (station.kind === "attend") return attendDetail(station, at, word);
  if (station.kind === "forward") {
    const parts = [paragraph(`The feed-forward network works on `, word(), ` alone: ${model.d_model} numbers to ${model.d_ff}, ${model.activation}, and back to ${model.d_model}. The result is added to the residual stream.`)];
    const lens = isEncoder ? null : DATA.tokens?.[at]?.lens?.[station.layer + 1];
    if (lens) parts.push(paragraph(`After this layer the output layer would say:`), lensList(lens, DATA.tokens[at].token));
    return parts;
  }
  if (station.kind === "memory") return [paragraph(`The vector of `, word(), ` after the last encoder layer, with all that it took from the other words.`, TARGET ? " Every decoder layer reads it by cross-attention." : "")];
  const token = DATA.tokens?.[at];
  if (!token) return [];
  return [paragraph(`The output layer gives every token of the vocabulary a probability; `, make("q", { dir: "auto" }, targetLabels[at]), ` has ${percent(token.probability)}.`),
    make("ul", { class: "bars narrow" }, token.alternatives.map((one) => barRow(pieceText(one.piece), one.probability, percent(one.probability), one.token === token.token ? "chosen" : "")))];
}

const lensList = (lens, chosen) =>
  make("ul", { class: "bars narrow" }, lens.best.map((one) => barRow(pieceText(one.piece), one.probability, percent(one.probability), one.token === chosen ? "chosen" : "")));

function attendDetail(station, at, word) {
  const stack = stackOf(station.stack);
  const heads = keptHeads(stack, station.layer);
  if (!heads.length) return [make("p", {}, "All heads of this layer were removed: it adds the same vector, its bias, to every word.")];
  const numbers = [...stack.layers[station.layer].keys()].filter((n) => !isRemoved(stack.layers[station.layer][n]));
  const rows = heads.map((head) => head.weights[at]);
  const columns = stack.columns;
  const best = strongest(weightsOf(stack, station.layer, "mean")[at]);
  const query = make("span", {}, word());
  const sentence = (i, j) => `${headTitle(stack, station.layer, numbers[i])}: weight ${write(rows[i][j], 4)} on ${columns[j]}`;
  const text = [`In this row the decoder has read `, query, ` and is to predict `, make("q", { dir: "auto" }, targetLabels[at]), `. `];
  return [make("p", {}, ...(station.lane === "decoder" ? text : [query, " looks at every word of the source. "]), `Its ${heads.length} heads look most at “${columns[best.at]}” (${write(best.weight, 2)} on average).`),
    strip({ caption: "One row for each head; a row adds up to 1", rows: numbers.map((n) => `Head ${n + 1}`), columns, weights: rows, sentence, mostDigits: 24, isMasked: (i, j) => isMaskedAt(stack)(at, j) })];
}
