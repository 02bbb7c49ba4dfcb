// Models: what each translates, its scores, whether it is in memory, and its card, which is opened in a frame.
import "./site.js";
import { get, onKey, showError } from "./api.js";
import { addressOf, find, make } from "./elements.js";
import { showInFrame } from "./frames.js";
import { languageName, text, writeScore } from "./texts.js";

async function show() {
  try {
    const { models } = await get("/v1/models");
    find("#list").replaceChildren(...models.map(modelView));
    showError(find("#error"), null);
  } catch (error) {
    showError(find("#error"), error);
  }
  document.body.dataset.ready = "yes";
}

function modelView(model) {
  const id = `model-${model.name.replace(/\W/g, "-")}`;
  const address = `/v1/models/${encodeURIComponent(model.name)}`;
  const state = make("span", { class: model.is_loaded ? "state loaded" : "state" }, text(model.is_loaded ? "models.loaded" : "models.not_loaded"));
  const directions = model.directions.map(({ source, target }) => make("li", {}, make("a", { href: addressOf("/", { source, target, model: model.name }) }, `${languageName(source)} → ${languageName(target)}`)));
  const facts = [
    [text("models.directions"), make("ul", { class: "directions" }, directions)],
    [text("models.licence"), [make("span", { lang: "en" }, model.licence ?? ""), model.licence ? null : text("models.unknown"), model.attribution ? make("p", { class: "hint", lang: "en" }, model.attribution) : null]],
    [text("models.explains"), model.can_explain ? make("a", { href: addressOf("/why", { model: model.name }) }, text("models.can_explain")) : text("models.cannot_explain")],
  ];
  return make("article", { class: "model", "aria-labelledby": id },
    make("div", { class: "model-head" }, make("h2", { id }, model.name), state),
    model.title ? make("p", { lang: "en" }, model.title) : null,
    make("dl", { class: "facts" }, facts.map(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    model.scores?.length ? scoreTable(model.scores) : null,
    cardView(model, address));
}

function scoreTable(scores) {
  const head = make("tr", {}, [text("models.direction"), "BLEU", "chrF", text("models.test")].map((name) => make("th", { scope: "col" }, name)));
  const lines = scores.map(({ source, target, bleu, chrf, test, signature }) => make("tr", {},
    make("th", { scope: "row" }, `${languageName(source)} → ${languageName(target)}`),
    [bleu, chrf].map((score) => make("td", { class: "number" }, score === null ? "–" : writeScore(score))),
    make("td", { lang: "en" }, test, signature ? make("small", {}, signature) : null)));
  const table = make("table", {}, make("caption", {}, text("models.scores")), make("thead", {}, head), make("tbody", {}, lines));
  return make("div", { class: "scores", tabindex: 0, role: "group", "aria-label": text("models.scores") }, table);
}

function cardView(model, address) {
  const box = make("div", { class: "card-frame" });
  const fault = make("p", { class: "error", role: "alert" });
  const details = make("details", {}, make("summary", {}, text("models.card")), fault, box);
  let isOpen = false;
  details.addEventListener("toggle", async () => {
    if (!details.open || isOpen) return;
    isOpen = true;
    try {
      const { card_html: page, card } = await get(address);
      if (!card) box.replaceChildren(make("p", { class: "notice" }, text("models.no_card")));
      else showInFrame(box, { kind: "card", label: text("models.card_of", { name: model.name }), content: { page }, hasOwnHeight: true });
    } catch (error) {
      isOpen = false;
      showError(fault, error);
    }
  });
  return details;
}

onKey(show);
show();
