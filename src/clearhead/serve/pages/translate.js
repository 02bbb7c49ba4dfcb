// Translate: the text is translated after a pause, sentence by sentence; words of both sides light up together.
import "./site.js";
import { ApiError, get, onKey, post, showError } from "./api.js";
import { keepDraft, readDraft } from "./drafts.js";
import { addressOf, afterPause, fillSelect, find, flash, latestOnly, make, onAddress, readState, writeState } from "./elements.js";
import { makePanels } from "./panels.js";
import { splitSentences } from "./sentences.js";
import { languageName, text, writeNumber } from "./texts.js";
import { acceptFiles } from "./uploads.js";

const PAUSE = 350; // milliseconds
const AUTO = "auto";
const boxes = { source: find("#source"), from: find("#source-language"), to: find("#target-language"), model: find("#model") };
let languages = [];
let models = [];
let detected = null;
let switched = ""; // a sentence about a target language that was changed here
let sentences = []; // each with its `translation`, an object of the API
const known = new Map(); // translations of sentences, by everything they depend on
const MOST_KNOWN = 2000;
const MOST_AT_ONCE = 100; // sentences of a request
const run = latestOnly();

// ---- languages and models ----
const sourceCode = () => (boxes.from.value === AUTO ? detected : boxes.from.value);
const targetsOf = (code) => languages.find((one) => one.code === code)?.targets ?? [...new Set(languages.flatMap((one) => one.targets))];
const nameOf = (code) => languageName(code, languages.find((one) => one.code === code)?.name ?? code);

function showLanguages({ from, to } = {}) {
  const auto = detected ? text("translate.detected", { language: nameOf(detected) }) : text("translate.detect");
  const sources = languages.filter((one) => one.targets.length);
  fillSelect(boxes.from, [[AUTO, auto], ...sources.map((one) => [one.code, nameOf(one.code)])], from || boxes.from.value || sources[0]?.code);
  fillSelect(boxes.to, targetsOf(sourceCode()).map((code) => [code, nameOf(code)]), to || boxes.to.value);
  find("#swap").disabled = !targetsOf(boxes.to.value).includes(sourceCode()) || !languages.some((one) => one.code === boxes.to.value && one.targets.length);
  boxes.source.lang = sourceCode() ?? "";
  find("#output").lang = boxes.to.value;
  showModels();
}

function showModels() {
  const isFit = (model) => model.directions.some(({ source, target }) => source === sourceCode() && target === boxes.to.value);
  const fit = models.filter(isFit);
  find("#model-choice").hidden = models.length < 2 || fit.length < 2;
  fillSelect(boxes.model, fit.map((model) => [model.name, model.name]), boxes.model.value || start.model);
}
const chosenModel = () => (find("#model-choice").hidden ? null : boxes.model.value);

// ---- translating ----
const request = () => ({ source: sourceCode() ?? AUTO, target: boxes.to.value, model: chosenModel() });
const nameFor = (sentence) => JSON.stringify([sentence, request()]);

async function translate() {
  const whole = boxes.source.value;
  find("#clear").hidden = !whole;
  find("#count").textContent = whole ? text("translate.count", { count: writeNumber(whole.length) }) : "";
  if (!whole.trim()) {
    run.stop();
    detected = null;
    switched = "";
    sentences = [];
    showError(find("#error"), null);
    showLanguages();
    return show();
  }
  find("#busy").hidden = false;
  find("#output").classList.add("old");
  try {
    const parts = await run(async (signal) => {
      await detectLanguage(whole, signal);
      return fetchAll(splitSentences(whole, sourceCode() ?? "en"), signal);
    });
    if (parts === undefined) return undefined; // a newer request has taken over
    sentences = parts;
    showError(find("#error"), null);
    show();
  } catch (error) {
    sentences = [];
    show();
    showError(find("#error"), error, later.now);
  }
  return undefined;
}

// The language of the whole text. A text that is in the target language already is translated into another one.
async function detectLanguage(whole, signal) {
  if (boxes.from.value !== AUTO) return;
  const [{ language: found }] = await post("/detect", { q: whole }, signal);
  if (!languages.find((one) => one.code === found)?.targets.length) throw new ApiError(400, text("translate.no_source", { language: nameOf(found) }));
  const before = detected;
  const isSame = found === boxes.to.value;
  detected = found;
  showLanguages(isSame && targetsOf(found).includes(before) ? { to: before } : {});
  if (isSame) switched = text("translate.switched", { source: nameOf(found), target: nameOf(boxes.to.value) });
  else if (before !== found) switched = "";
}

// Translate the sentences that are not known yet, some of them at a time; what is there is shown while the rest follows.
async function fetchAll(parts, signal) {
  const open = parts.filter((part) => part.text && !known.has(nameFor(part.text)));
  const texts = [...new Set(open.map((part) => part.text))];
  if (known.size > MOST_KNOWN) known.clear();
  for (let start = 0; start < texts.length; start += MOST_AT_ONCE) {
    const some = texts.slice(start, start + MOST_AT_ONCE);
    const answer = await post("/v1/translate", { ...request(), text: some, alignment: true }, signal);
    answer.translations.forEach((translation, n) => known.set(nameFor(some[n]), translation));
    if (start + MOST_AT_ONCE < texts.length) showPart(parts);
  }
  takeKnown(parts);
  return parts;
}
function takeKnown(parts) {
  for (const part of parts) if (part.text) part.translation = known.get(nameFor(part.text));
}
function showPart(parts) {
  takeKnown(parts);
  panels.show(parts, boxes.source.value);
}

const panels = makePanels({
  source: boxes.source, mirror: find("#mirror"), output: find("#output"),
  onSentence: (sentence) => showWhy(sentence),
});
const wholeTranslation = () => sentences.map((part) => part.before + (part.translation?.translation ?? "") + part.after).join("").trimEnd();

function show() {
  find("#busy").hidden = true;
  find("#output").classList.remove("old");
  showLanguages();
  panels.show(sentences, boxes.source.value);
  const notes = [...new Set(sentences.flatMap((part) => part.translation?.notes ?? []))];
  const paragraphs = notes.map((note) => make("p", { lang: "en" }, note));
  find("#notes").replaceChildren(...(switched ? [make("p", {}, switched)] : []), ...paragraphs);
  find("#copy").disabled = !sentences.length;
  showWhy(sentences.find((part) => part.text));
  writeState(state());
  keepDraft(state());
}
const state = () => ({ source: boxes.from.value, target: boxes.to.value, model: chosenModel(), text: boxes.source.value });

function showWhy(sentence) {
  const link = find("#why");
  link.hidden = !sentence;
  if (!sentence) return;
  link.href = addressOf("/why", { source: sourceCode(), target: boxes.to.value, model: chosenModel(), text: sentence.text });
  const isSeveral = sentences.filter((part) => part.text).length > 1;
  find("span", link).textContent = isSeveral ? text("translate.why_of", { sentence: sentence.text }) : text("translate.why");
}

// ---- controls ----
const later = afterPause(PAUSE, translate);
boxes.source.addEventListener("input", () => {
  panels.clear(boxes.source.value);
  keepDraft(state());
  later();
});
for (const box of [boxes.from, boxes.to, boxes.model])
  box.addEventListener("change", () => {
    if (boxes.from.value !== AUTO) detected = null;
    switched = "";
    showLanguages();
    later.now();
  });
find("#clear").addEventListener("click", () => {
  boxes.source.value = "";
  boxes.source.focus();
  later.now();
});
find("#swap").addEventListener("click", () => {
  const [from, to] = [sourceCode(), boxes.to.value];
  const translation = wholeTranslation();
  detected = null;
  switched = "";
  showLanguages({ from: to });
  showLanguages({ from: to, to: from });
  if (translation) boxes.source.value = translation;
  later.now();
});
find("#copy").addEventListener("click", async () => {
  await copyText(wholeTranslation());
  flash(find("#copy"), text("translate.copied"));
  find("#live").textContent = text("translate.copied");
});

async function copyText(content) {
  if (navigator.clipboard) return navigator.clipboard.writeText(content);
  // pages that came over plain HTTP from another machine have no clipboard, but can copy a selection
  const box = Object.assign(document.createElement("textarea"), { value: content });
  document.body.append(box);
  box.select();
  document.execCommand("copy");
  box.remove();
  return undefined;
}

acceptFiles({ input: find("#file"), area: find("#drop"), list: find("#uploads"), request: () => ({ ...request(), source: boxes.from.value }) });

// ---- start ----
const start = readDraft() ?? readState();
async function begin() {
  try {
    [languages, { models }] = await Promise.all([get("/v1/languages"), get("/v1/models")]);
    showError(find("#error"), null);
    showLanguages({ from: start.source, to: start.target });
    showLanguages({ from: start.source, to: start.target });
    if (boxes.source.value) later.now();
  } catch (error) {
    showError(find("#error"), error, begin);
  }
  document.body.dataset.ready = "yes";
}
if (start.text) boxes.source.value = start.text;
panels.clear(boxes.source.value);
onAddress(({ source, target, text: whole }) => {
  boxes.source.value = whole ?? boxes.source.value;
  detected = null;
  showLanguages({ from: source, to: target });
  showLanguages({ from: source, to: target });
  panels.clear(boxes.source.value);
  later.now();
});
onKey(begin);
begin();
