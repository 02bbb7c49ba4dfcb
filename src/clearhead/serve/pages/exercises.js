// Exercises: a problem is solved while it is typed, and a working is marked, with errors carried forward.
import "./site.js";
import { get, onKey, post, showError } from "./api.js";
import { keepDraft, readDraft } from "./drafts.js";
import { afterPause, arrowKeys, fillSelect, find, findAll, latestOnly, onAddress, readState, writeState } from "./elements.js";
import { markFaults } from "./faults.js";
import { showInFrame } from "./frames.js";
import { makeMarking } from "./marking.js";
import { makePractice } from "./practice.js";
import { makeForm } from "./problem_form.js";
import { text } from "./texts.js";
import { writeYaml } from "./yaml.js";

const PAUSE = 400; // milliseconds
let catalogue = { kinds: [], gallery: [], workings: [] };
let readForm = () => ({});
let isText = false;
let isTextChanged = false;
let parsed = null; // the keys of the problem in the text, from the server, if it could be solved
const run = latestOnly();
const textBox = find("#problem");

// ---- the problem ----
const kindOf = (name) => catalogue.kinds.find((kind) => kind.name === name);
const fieldsOf = (problem) => kindOf(problem.kind ?? ("parts" in problem ? "parts" : ""))?.fields ?? [];
const OWN = "own";

function showKind(name) {
  listExamples(name);
  load({ text: kindOf(name).example, data: kindOf(name).data });
}

function listExamples(name) {
  find("#kind").value = name;
  find("#kind-title").textContent = kindOf(name).title;
  const samples = catalogue.gallery.filter((one) => one.kind === name);
  fillSelect(find("#example"), [[OWN, text("exercises.first_example")], ...samples.map((one) => [one.id, one.title || one.id])], OWN);
}

function load({ text: content, data }) {
  showForm(data);
  textBox.value = content;
  isTextChanged = false;
  showEntry();
  later.now();
}
function showForm(data) {
  readForm = makeForm(find("#form"), { problem: structuredClone(data), fieldsOf, onChange: () => {
    keep();
    later();
  } });
}

function showEntry() {
  find("#as-form").setAttribute("aria-pressed", String(!isText));
  find("#as-text").setAttribute("aria-pressed", String(isText));
  find("#as-form").disabled = isText && isTextChanged && !parsed;
  find("#form").hidden = isText;
  find("#text-entry").hidden = !isText;
  find("#entry-hint").textContent = text(!isText ? "exercises.paste" : isTextChanged && !parsed ? "exercises.text_changed" : "exercises.text_hint");
}

// ---- what was typed stays when the page is left ----
const draft = () => ({ kind: find("#kind").value, example: find("#example").value, detail: find("#detail").value, isText, isTextChanged, text: textBox.value, data: readForm(), task: find("[role=tab][aria-selected=true]").id, marking: marking.draft(), number: practice.number() });
const keep = () => keepDraft(draft());
function restore(kept, number) {
  listExamples(kept.kind);
  fillSelect(find("#example"), [...find("#example").options].map((option) => [option.value, option.textContent]), kept.example);
  find("#detail").value = kept.detail;
  isText = kept.isText;
  load({ text: kept.text, data: kept.data });
  isTextChanged = kept.isTextChanged;
  showEntry();
  marking.restore(kept.marking);
  sheetNumber = number ?? kept.number;
  showTask(find(`#${kept.task}`));
}

const problem = () => (isText ? textBox.value : readForm());

async function solve() {
  writeState({ kind: find("#kind").value });
  keep();
  const box = find("#sheet");
  box.classList.add("old");
  try {
    const answer = await run((signal) => post("/v1/solve", { problem: problem(), format: "html", detail: find("#detail").value, with_problem: isText }, signal));
    if (!answer) return;
    showError(find("#solve-error"), null);
    markFaults(find("#form"), "", "solve-error");
    parsed = answer.problem ?? null;
    showEntry();
    showInFrame(box, { kind: "worksheet", label: text("exercises.sheet"), content: { page: answer.result } });
  } catch (error) {
    markFaults(find("#form"), isText ? "" : error.message, "solve-error");
    showError(find("#solve-error"), error, solve);
  }
}
const later = afterPause(PAUSE, solve);
find("#sheet").addEventListener("shown", () => find("#sheet").classList.remove("old"));

find("#kind").addEventListener("change", (event) => showKind(event.target.value));
find("#example").addEventListener("change", (event) => {
  const kind = kindOf(find("#kind").value);
  load(event.target.value === OWN ? { text: kind.example, data: kind.data } : catalogue.gallery.find((one) => one.id === event.target.value));
});
find("#detail").addEventListener("change", later.now);
find("#as-form").addEventListener("click", () => {
  if (isTextChanged) {
    const kind = parsed.kind ?? "parts";
    if (kind !== find("#kind").value) listExamples(kind);
    showForm(parsed);
  }
  isText = isTextChanged = false;
  showEntry();
  later.now();
});
find("#as-text").addEventListener("click", () => {
  if (!isText) textBox.value = writeYaml(readForm());
  isText = true;
  showEntry();
  later.now();
});
textBox.addEventListener("input", () => {
  isTextChanged = true;
  parsed = null; // until the text is solved
  run.stop(); // an answer to the text before would be taken for this one
  showEntry();
  keep();
  later();
});

// ---- the tasks ----
const marking = makeMarking({ problem, onChange: keep });
const practice = makePractice({ onChange: keep });
let sheetNumber = ""; // of the practice sheet to open with its task
const tabs = findAll("[role=tab]");
arrowKeys(find("[role=tablist]"), "[role=tab]");
for (const tab of tabs) {
  tab.addEventListener("click", () => showTask(tab));
  tab.addEventListener("focus", () => showTask(tab));
}
function showTask(chosen) {
  if (chosen.getAttribute("aria-selected") === "true") return;
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    find(`#${tab.getAttribute("aria-controls")}`).hidden = tab !== chosen;
  }
  if (chosen.id === "tab-mark") marking.begin();
  if (chosen.id === "tab-practice") practice.begin(sheetNumber);
  keep();
}
function openSheet(number) {
  sheetNumber = number;
  if (find("#practice").hidden) showTask(find("#tab-practice"));
  else practice.begin(number);
}
onAddress(({ kind, number }) => (number ? openSheet(number) : kindOf(kind) && showKind(kind)));

// ---- start ----
async function begin() {
  try {
    catalogue = await get("/v1/exercises");
    showError(find("#solve-error"), null);
    fillSelect(find("#kind"), catalogue.kinds.map((kind) => [kind.name, kind.name]));
    marking.listSamples(catalogue.workings);
    const kept = readDraft();
    const { number } = readState(); // solving writes another state
    if (kindOf(kept?.kind)) restore(kept, number);
    else showKind(kindOf(readState().kind) ? readState().kind : (catalogue.kinds.find((kind) => kind.name === "self-attention") ?? catalogue.kinds[0]).name);
    if (number && find("#practice").hidden) openSheet(number);
  } catch (error) {
    showError(find("#solve-error"), error, begin);
  }
  document.body.dataset.ready = "yes";
}
onKey(begin);
begin();
