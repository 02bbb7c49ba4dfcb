// Puts the sections of the page together, the most important one first. The header is part of the HTML.
const main = document.querySelector("main");
document.getElementById("fallback").remove(); // the table for browsers without JavaScript
const contents = document.querySelector("nav ul");

// Add a section and its link. `build` returns its elements; it is called when the browser has time, so that the first is seen at once.
function section(id, [link, title], sentence, build) {
  const element = make("section", { id, "aria-labelledby": `${id}-title` }, make("h2", { id: `${id}-title` }, title), sentence ? make("p", { class: "lead" }, sentence) : null);
  main.append(element);
  contents.append(make("li", {}, make("a", { href: `#${id}` }, link)));
  later.push(() => element.append(...build().filter(Boolean)));
}
const later = [];

// The sentence, the translation and what each word looked at; below it, why the selected word was chosen.
function overview() {
  const stack = stackOf("cross") ?? stackOf("decoder") ?? stackOf("encoder");
  const isCross = stack?.key === "cross";
  const state = { layer: stack ? usualLayer(stack) : 0, head: "mean", isShifted: false };
  const columns = stack ? stack.columns : TARGET ? sourceLabels : [];
  const above = columns.map((text, at) => ({ text, label: `${isCross ? "source" : "word"} ${at + 1}: ${text}` }));
  const below = (TARGET ? targetLabels : sourceLabels).map((text, at) => {
    const token = DATA.tokens?.[at];
    return { text, note: token ? percent(token.probability) : "", label: token ? `word ${at + 1}: ${text}, probability ${percent(token.probability)}` : `word ${at + 1}: ${text}` };
  });
  const why = make("div");
  const weights = () => {
    if (!stack) return below.map(() => []); // no attention, no ribbons
    const rows = weightsOf(stack, state.layer, state.head);
    return state.isShifted ? shifted(rows) : rows;
  };
  const picture = lanes({ tokens: { source: above, target: below }, weights, onSelect: (place) => place?.side === "target" && DATA.tokens?.[place.at] && why.replaceChildren(whyPanel(place.at)) });
  const tools = make("div", { class: "tools" });
  const show = (change = {}) => {
    Object.assign(state, change);
    tools.replaceChildren(
      stack ? layerChoice(stack, state.layer, (value) => show({ layer: Number(value), head: "mean" })) : "",
      stack ? headChoice(stack, state.layer, state.head, (value) => show({ head: headFrom(value) })) : "",
      ...picture.sliders,
      isCross ? switcher("Rows", [["predicts", "Row that predicts the word"], ["reads", "Row that reads it"]], state.isShifted ? "reads" : "predicts", (value) => show({ isShifted: value === "reads" })) : "");
    picture.paint();
  };
  show();
  if (!stack) picture.element.classList.add("bare");
  if (DATA.classes) why.append(classesPanel());
  else if (TARGET) picture.select({ side: "target", at: mostUncertain() });
  return [picture.element, tools, why];
}

// The word with the lowest probability is the most interesting one to open first; the end token is not a word. Of a long
// sentence it is one of the first words, which are on the screen.
const FIRST_WORDS = 10;
function mostUncertain() {
  let at = 0;
  const tokens = DATA.tokens.length > 2 * FIRST_WORDS ? DATA.tokens.slice(0, FIRST_WORDS) : DATA.tokens;
  tokens.forEach((token, n) => (at = !isSpecial(TARGET, n) && token.probability < DATA.tokens[at].probability ? n : at));
  return at;
}

// The title and the sentence of the first section; a model without attention has no ribbons.
function overviewTexts() {
  const isTranslation = Boolean(SOURCE && TARGET);
  const link = isTranslation ? "Translation" : "Words";
  if (!STACKS.length) return [[link, isTranslation ? "The translation" : "The words"], `${TARGET ? "The percentage is the probability of the word. " : ""}The model has no attention weights that could be drawn.${TARGET ? " Select a word." : ""}`];
  if (isTranslation) return [[link, "The translation and what it looked at"], "Ribbons are attention weights: the wider, the more a word of the translation looked at a word of the source. The percentage is the probability of the word. Select a word."];
  return [[link, "The words and what they looked at"], "Ribbons are attention weights: the wider, the more a word of the second line or column looked at a word of the first. Select a word."];
}

const SEARCHED = "Every hypothesis of the beam search, with what was dropped and why.";
if (DATA.attention) {
  section("words", ...overviewTexts(), overview);
  if (IS_TRANSFORMER) section("machine", ["Machine", "The machine, step by step"], "Follow one token from left to right. Select a station to see the token's own numbers there.", machine);
  if (STACKS.length) section("atlas", ["Heads", "Atlas of heads"], "Every head as a thumbnail: rows look, columns are looked at, darker is more. Select one to open it" + (IS_TRANSFORMER ? "; a cell opens the sum behind it." : "."), atlas);
  if (STACKS.length) section("word", ["One word", "One word"], `What a word attends to and what attends to it${IS_TRANSFORMER ? ", and how it reaches words several hops away" : ""}.`, oneWord);
  if (DATA.search) section("search", ["Search", "The search"], SEARCHED, beamTree);
}
const comparison = DATA.clearhead_comparison ? DATA : DATA.comparison;
if (comparison) section("compare", ["Two sentences", "Two sentences side by side"], null, () => twoSentences(comparison));

// The first section is built at once, the others one by one between the frames of the browser.
(function next() {
  later.shift()?.();
  if (later.length) setTimeout(next, 0);
  else document.body.dataset.ready = "yes";
})();
addEventListener("keydown", (event) => event.key === "Escape" && say(""));
