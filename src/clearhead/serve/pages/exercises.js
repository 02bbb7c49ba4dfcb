// Exercises: a problem is solved while it is typed, and a working is marked, with errors carried forward.
import "./site.js";
import { get, onKey, post, showError } from "./api.js";
import { afterPause, arrowKeys, fillSelect, find, findAll, latestOnly, readState, writeState } from "./elements.js";
import { showInFrame } from "./frames.js";
import { makeMarking } from "./marking.js";
import { makeForm } from "./problem_form.js";
import { text } from "./texts.js";
import { writeYaml } from "./yaml.js";

const PAUSE = 400; // milliseconds
let catalogue = { kinds: [], gallery: [], workings: [] };
let readForm = () => ({});
let isText = false;
let isTextChanged = false;
const run = latestOnly();
const textBox = find("#problem");

// ---- the problem ----
const kindOf = (name) => catalogue.kinds.find((kind) => kind.name === name);
const fieldsOf = (problem) => kindOf(problem.kind ?? ("parts" in problem ? "parts" : ""))?.fields ?? [];
const OWN = "own";

function showKind(name) {
  const kind = kindOf(name);
  find("#kind").value = name;
  find("#kind-title").textContent = kind.title;
  const samples = catalogue.gallery.filter((one) => one.kind === name);
  fillSelect(find("#example"), [[OWN, text("exercises.first_example")], ...samples.map((one) => [one.id, one.title || one.id])], OWN);
  load({ text: kind.example, data: kind.data });
}

function load({ text: content, data }) {
  readForm = makeForm(find("#form"), { problem: structuredClone(data), fieldsOf, onChange: later });
  textBox.value = content;
  isTextChanged = false;
  showEntry();
  later.now();
}

function showEntry() {
  find("#as-form").setAttribute("aria-pressed", String(!isText));
  find("#as-text").setAttribute("aria-pressed", String(isText));
  find("#as-form").disabled = isText && isTextChanged;
  find("#form").hidden = isText;
  find("#text-entry").hidden = !isText;
  find("#entry-hint").textContent = text(!isText ? "exercises.paste" : isTextChanged ? "exercises.text_changed" : "exercises.text_hint");
}

const problem = () => (isText ? textBox.value : readForm());

async function solve() {
  writeState({ kind: find("#kind").value });
  const box = find("#sheet");
  box.classList.add("old");
  try {
    const answer = await run((signal) => post("/v1/solve", { problem: problem(), format: "html", detail: find("#detail").value }, signal));
    if (!answer) return;
    showError(find("#solve-error"), null);
    showInFrame(box, { kind: "worksheet", label: text("exercises.sheet"), content: { page: answer.result } });
  } catch (error) {
    showError(find("#solve-error"), error);
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
  isText = false;
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
  showEntry();
  later();
});

// ---- the two tasks ----
const marking = makeMarking({ problem });
const tabs = findAll("[role=tab]");
arrowKeys(find("[role=tablist]"), "[role=tab]");
for (const tab of tabs) {
  tab.addEventListener("click", () => showTask(tab));
  tab.addEventListener("focus", () => showTask(tab));
}
function showTask(chosen) {
  for (const tab of tabs) {
    tab.setAttribute("aria-selected", String(tab === chosen));
    tab.tabIndex = tab === chosen ? 0 : -1;
    find(`#${tab.getAttribute("aria-controls")}`).hidden = tab !== chosen;
  }
  if (chosen.id === "tab-mark") marking.begin();
}

// ---- start ----
async function begin() {
  try {
    catalogue = await get("/v1/exercises");
    fillSelect(find("#kind"), catalogue.kinds.map((kind) => [kind.name, kind.name]));
    marking.listSamples(catalogue.workings);
    showKind(kindOf(readState().kind) ? readState().kind : (catalogue.kinds.find((kind) => kind.name === "self-attention") ?? catalogue.kinds[0]).name);
  } catch (error) {
    showError(find("#solve-error"), error);
  }
  document.body.dataset.ready = "yes";
}
onKey(begin);
begin();
