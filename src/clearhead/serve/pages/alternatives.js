// Other words at a place of the translation, each with the translation that follows from it.
import { post } from "./api.js";
import { arrowKeys, find, latestOnly, make } from "./elements.js";
import { linksOf } from "./sentences.js";
import { text, writePercent } from "./texts.js";

const COUNT = 6;

export function makeAlternatives(box, { request, onChoice }) {
  const run = latestOnly();
  let anchor = null;
  arrowKeys(box, "button");

  async function open(sentence, word, button) {
    anchor = button;
    const { translation } = sentence;
    show(make("p", {}, make("span", { class: "busy" }), " ", text("translate.working")));
    box.showPopover();
    placeBox();
    try {
      const answer = await run((signal) => post("/v1/alternatives", { ...request(), text: sentence.text, translation: translation.translation, word: word + 1, count: COUNT }, signal));
      if (answer) list(sentence, word, answer.alternatives);
    } catch (error) {
      show(make("p", { lang: "en" }, error.message));
    }
    placeBox();
  }

  function list(sentence, word, alternatives) {
    const others = alternatives.filter((one) => one.text !== sentence.translation.translation);
    if (!others.length) return show(make("p", {}, text("translate.no_alternatives")));
    const buttons = others.map((one) => make("li", {}, make("button", { type: "button", onclick: () => choose(sentence, word, one) },
      make("b", { dir: "auto" }, one.word), make("span", { class: "value" }, writePercent(one.probability)), make("span", { class: "whole", dir: "auto" }, one.text))));
    show(make("h2", {}, text("translate.alternatives_of", { word: anchor.textContent })), make("ul", {}, buttons));
    find("button", box).focus();
    return undefined;
  }

  async function choose(sentence, word, { text: chosen }) {
    box.hidePopover();
    onChoice(sentence, { ...sentence.translation, ...(await alignedTo(sentence, chosen)) }, word);
  }

  // The alignment of a translation that was chosen: the model is given it whole, and has nothing to add.
  async function alignedTo(sentence, chosen) {
    const plain = { translation: chosen, alignment: "", target_words: undefined, notes: [] };
    try {
      const answer = await post("/v1/translate", { ...request(), text: sentence.text, prefix: chosen, alignment: true });
      const [translation] = answer.translations;
      return translation.translation === chosen && linksOf(translation.alignment).length ? translation : plain;
    } catch {
      return plain;
    }
  }

  const show = (...content) => box.replaceChildren(...content);

  // Below the word, or above it where there is more room.
  function placeBox() {
    const [word, size] = [anchor.getBoundingClientRect(), box.getBoundingClientRect()];
    const isBelow = word.bottom + size.height + 12 < innerHeight || word.top < size.height;
    box.style.left = `${Math.max(12, Math.min(word.left, innerWidth - size.width - 12))}px`;
    box.style.top = isBelow ? `${word.bottom + 6}px` : `${word.top - size.height - 6}px`;
  }
  box.addEventListener("toggle", (event) => {
    if (event.newState !== "closed") return;
    run.stop();
    if (!document.activeElement || document.activeElement === document.body) anchor?.focus();
  });
  addEventListener("scroll", () => box.matches(":popover-open") && placeBox(), { passive: true });
  return { open };
}
