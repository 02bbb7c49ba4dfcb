// Why this word: its probability, the alternatives, the layer that decided, and the source words that carried it.
const METHOD_NAMES = { attention_norm: "Attention × value norm", gradient_input: "Gradient × input", leave_out: "Leaving it out" };

// Return the panel for target token `at`.
function whyPanel(at) {
  const token = DATA.tokens[at];
  const panel = make("div", { class: "why" });
  const text = targetLabels[at];
  const heading = make("h3", {}, "Why ", make("q", { dir: "auto" }, text), "?");
  const facts = make("p", { class: "lead" }, `Probability ${percent(token.probability)} (log P ${write(token.log_prob, 4)}), `,
    token.rank === 0 ? "the most probable token here. " : `rank ${token.rank + 1} here. `, decidedText(token), " ", disputeText(token));
  const parts = [alternativesCard(token, at)];
  if (token.lens?.length) parts.push(lensCard(token));
  if (token.contributions) parts.push(contributionsCard(token.contributions, token, wordsBefore(at)));
  panel.append(heading, facts, make("div", { class: "cards" }, parts));
  return panel;
}

const wordsOfContributions = () => (SOURCE ?? TARGET).words;
// In a text without a source only the words before a token can carry it.
const wordsBefore = (at) => (SOURCE ? SOURCE.words : TARGET.words.slice(0, TARGET.word_of[at] ?? undefined));

function decidedText(token) {
  if (!token.lens?.length) return "";
  if (token.decided_at === null || token.decided_at === undefined) return "It never becomes the most probable token for good in the layers.";
  return token.decided_at === 0 ? "It is ahead from the embedding on." : `It is ahead from layer ${token.decided_at} on.`;
}

function disputeText(token) {
  const words = wordsOfContributions();
  const names = Object.keys(token.top ?? {}).filter((name) => token.top[name] !== null);
  if (!names.length) return "";
  if (!token.is_disputed) return `All methods name “${words[token.top[names[0]]]}” as its most important word.`;
  const tops = [...new Set(names.map((name) => token.top[name]))];
  const parts = tops.map((w) => `“${words[w]}” (word ${w + 1}) by ${names.filter((name) => token.top[name] === w).map((name) => METHOD_NAMES[name].toLowerCase()).join(" and ")}`);
  return `The methods disagree on the most important word: ${parts.join("; ")}.`;
}

const barRow = (name, share, value, className = "") =>
  make("li", { class: className }, make("span", { class: "name", dir: "auto" }, name), bar(share), make("span", { class: "value" }, value));

function alternativesCard(token, at) {
  const rows = [];
  for (const other of token.alternatives) {
    rows.push(barRow(pieceText(other.piece), other.probability, percent(other.probability), other.token === token.token ? "chosen" : ""));
  }
  return make("article", { class: "card plain" }, make("h4", {}, "What else could stand here"), make("ul", { class: "bars" }, rows));
}

function lensCard(token) {
  const rows = token.lens.map((one) => {
    const best = one.best[0];
    const isAhead = best?.token === token.token;
    const name = make("span", { class: "name" }, one.layer === 0 ? "Embedding" : `Layer ${one.layer}`);
    const says = make("span", { class: "says", dir: "auto" }, isAhead ? "this word" : `says “${pieceText(best?.piece ?? "")}”`);
    const isFirst = one.layer === token.decided_at;
    return make("li", { class: isFirst ? "chosen" : "" }, name, bar(one.probability), make("span", { class: "value" }, percent(one.probability)), says);
  });
  return make("article", { class: "card plain" }, make("h4", {}, "When did it win? The logit lens"),
    make("p", { class: "hint" }, "The output layer applied after each layer: the probability of this word, and the word that is ahead."),
    make("ul", { class: "bars lens" }, rows));
}

// Bars of each word by each method. The scale of a method is its largest absolute value, which is written out.
function contributionsCard(contributions, token, words) {
  const names = Object.keys(METHOD_NAMES).filter((name) => contributions[name]);
  const largest = Object.fromEntries(names.map((name) => [name, Math.max(...contributions[name].map(Math.abs), 1e-12)]));
  const isSigned = Object.fromEntries(names.map((name) => [name, contributions[name].some((value) => value < 0)]));
  const important = words.map((_, w) => w);
  if (words.length > MOST_CELLS) important.sort((a, b) => contributions[names[0]][b] - contributions[names[0]][a]).splice(24);
  const head = make("tr", {}, make("th", { scope: "col" }, "Word"), names.map((name) => make("th", { scope: "col" }, METHOD_NAMES[name])));
  const lines = important.map((w) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, words[w]), names.map((name) => {
    const value = contributions[name][w];
    const isTop = token.top?.[name] === w;
    return make("td", { class: isTop ? "top" : null }, bar(value / largest[name], isSigned[name]), make("span", { class: "value" }, write(value, 2)));
  })));
  const pairs = Object.entries(token.agreement ?? {}).filter(([, value]) => value !== null)
    .map(([pair, value]) => `${pair.split("/").map((name) => METHOD_NAMES[name].toLowerCase()).join(" and ")} ${write(value, 2)}`);
  return make("article", { class: "card plain wide-card" }, make("h4", {}, "Which words carried it"),
    make("div", { class: "box" }, make("table", { class: "methods" }, make("thead", {}, head), make("tbody", {}, lines))),
    important.length < words.length ? make("p", { class: "hint" }, `The ${important.length} most important of ${words.length} words.`) : null,
    pairs.length ? make("p", { class: "hint" }, `Rank correlation of the methods: ${pairs.join("; ")}.`) : null, methodNotes(names), leftOut());
}

function methodNotes(names) {
  const items = names.map((name) => [make("dt", {}, METHOD_NAMES[name]), make("dd", {}, DATA.methods?.[name] ?? "")]);
  return make("details", {}, make("summary", {}, "What the methods measure"), make("dl", {}, items));
}

// The translation of the text without each word.
function leftOut() {
  if (!DATA.left_out?.length) return null;
  const items = DATA.left_out.map((one) => [make("dt", { dir: "auto" }, `Without “${SOURCE?.words[one.word] ?? one.word}”`), make("dd", { dir: "auto" }, one.translation)]);
  return make("details", {}, make("summary", {}, "The translation without each word"), make("dl", {}, items));
}

// The classes of an encoder-only model instead of target tokens.
function classesPanel() {
  const classes = [...DATA.classes].sort((a, b) => b.probability - a.probability);
  const bars = classes.map((one, n) => barRow(one.label, one.probability, percent(one.probability), n === 0 ? "chosen" : ""));
  const best = classes[0];
  const cards = make("div", { class: "cards" }, make("article", { class: "card plain" }, make("h4", {}, "Classes"), make("ul", { class: "bars" }, bars)));
  if (best?.lens?.[0]?.best) cards.append(lensCard({ ...best, token: best.class }));
  if (best?.contributions) cards.append(contributionsCard(best.contributions, best, SOURCE.words));
  return make("div", { class: "why" }, make("h3", {}, "Why ", make("q", { dir: "auto" }, best.label), "?"), cards);
}
