// The two texts: words of the translation can have the focus, words of the source lie in a mirror below the text area.
// A word that has the pointer, the focus or the caret lights up together with the words it is aligned with.
import { arrowKeys, find, findAll, make, makeTabStop } from "./elements.js";
import { linksOf, placesOf, wordsOf } from "./sentences.js";
import { text } from "./texts.js";

export function makePanels({ source, mirror, output, onSentence }) {
  let sentences = [];

  // Return the words of both sides of a sentence, with their places and links.
  function alignmentOf(sentence) {
    const { translation } = sentence;
    const target = translation.target_words ?? wordsOf(translation.translation);
    return {
      source: placesOf(translation.source_words ?? [], sentence.text),
      target: placesOf(target, translation.translation),
      links: linksOf(translation.alignment),
    };
  }

  // Text with an element for each word; what lies between the words stays text.
  function pieces(content, places, makeWord) {
    const parts = [];
    let from = 0;
    places.forEach((place, at) => {
      if (!place || place[0] < from) return;
      parts.push(content.slice(from, place[0]), makeWord(content.slice(...place), at));
      from = place[1];
    });
    parts.push(content.slice(from));
    return parts.filter((part) => part !== "");
  }

  function show(shown, whole) {
    sentences = shown;
    const [above, below] = [[], []];
    let end = 0;
    sentences.forEach((sentence, number) => {
      above.push(whole.slice(end, sentence.start));
      end = sentence.start + sentence.text.length;
      below.push(sentence.before);
      if (sentence.translation) {
        sentence.words = alignmentOf(sentence);
        above.push(...pieces(sentence.text, sentence.words.source, (word, at) => make("span", { "data-sentence": number, "data-word": at }, word)));
        below.push(...pieces(sentence.translation.translation, sentence.words.target, (word, at) => make("span", { class: "word", tabindex: -1, "data-sentence": number, "data-word": at, "aria-description": spoken(sentence, at) }, word)));
      } else above.push(sentence.text);
      below.push(sentence.after);
    });
    above.push(whole.slice(end), "\n"); // a last line without letters has a height, too
    mirror.replaceChildren(...above);
    output.replaceChildren(...below);
    const words = findAll(".word", output);
    if (words[0]) words[0].tabIndex = 0;
  }

  // What a screen reader says about a word of the translation: the words of the source that it is aligned with.
  function spoken(sentence, at) {
    const names = sentence.words.links.filter(([, target]) => target === at).map(([from]) => sentence.translation.source_words[from]);
    return names.length ? text("translate.aligned", { words: names.join(", ") }) : null;
  }

  // Show the text alone, until there is a translation of it.
  function clear(whole) {
    mirror.replaceChildren(`${whole}\n`);
  }

  const elementsAt = (scope, number, words) => words.map((at) => find(`[data-sentence="${number}"][data-word="${at}"]`, scope)).filter(Boolean);

  function light(side, number, at) {
    for (const lit of [...findAll(".lit", mirror), ...findAll(".lit", output)]) lit.classList.remove("lit");
    const sentence = sentences[number];
    if (!sentence?.words) return;
    const own = side === "source" ? 0 : 1;
    const partners = sentence.words.links.filter((link) => link[own] === at).map((link) => link[1 - own]);
    const [here, there] = side === "source" ? [mirror, output] : [output, mirror];
    for (const element of [...elementsAt(here, number, [at]), ...elementsAt(there, number, partners)]) element.classList.add("lit");
    if (sentence.text) onSentence(sentence);
  }
  const placeOf = (element) => [Number(element.dataset.sentence), Number(element.dataset.word)];

  // ---- the translation ----
  for (const kind of ["pointerover", "focusin"])
    output.addEventListener(kind, (event) => {
      const word = event.target.closest(".word");
      if (word) light("target", ...placeOf(word));
    });
  output.addEventListener("focusin", (event) => makeTabStop(findAll(".word", output), event.target));
  for (const kind of ["pointerleave", "focusout"]) output.addEventListener(kind, () => light("target", -1, -1));
  arrowKeys(output, ".word");

  // ---- the source: the pointer is above the text area, the mirror is below it ----
  source.addEventListener("pointermove", (event) => {
    const word = document.elementsFromPoint(event.clientX, event.clientY).find((element) => element.parentElement === mirror);
    if (word) light("source", ...placeOf(word));
    else light("source", -1, -1);
  });
  source.addEventListener("pointerleave", () => light("source", -1, -1));
  document.addEventListener("selectionchange", () => {
    if (document.activeElement !== source) return;
    const caret = source.selectionStart;
    const number = sentences.findIndex((one) => one.words && caret >= one.start && caret <= one.start + one.text.length);
    const inside = caret - sentences[number]?.start;
    light("source", number, sentences[number]?.words.source.findIndex((place) => place && inside >= place[0] && inside <= place[1]) ?? -1);
  });

  return { show, clear };
}
