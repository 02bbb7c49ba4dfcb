// Practice: draw a sheet, work it in the page, have every line marked by the server, and get the next sheet.
import "./site.js";
import { get, onKey, post, showError } from "./api.js";
import { keepDraft, readDraft } from "./drafts.js";
import { fillSelect, find, latestOnly, make, onAddress, readState, writeState } from "./elements.js";
import { showInFrame } from "./frames.js";
import { chooseNext, readMistakes, storeMistakes, withMistake } from "./practice_next.js";
import { drawGivens, drawLines } from "./practice_sheet.js";
import { text, writeNumber } from "./texts.js";

const MOST_SEED = 999999;
const run = latestOnly();
let kinds = [];
let sheet = null; // as the server drew it
let page = null; // its cells
let faults = []; // what went wrong on this sheet so far, also if it was corrected
let isShown = false; // whether the solution was shown
let mistakes = readMistakes() ?? [];
find("#remember").checked = readMistakes() !== null;

const seed = () => crypto.getRandomValues(new Uint32Array(1))[0] % (MOST_SEED + 1);
const kindOf = (name) => kinds.find((kind) => kind.name === name);

// ---- a sheet ----
async function open(request, { because = "", written = null, isFocused = true } = {}) {
  try {
    const drawn = await run((signal) => post("/v1/quiz", request, signal));
    if (!drawn) return;
    showError(find("#practice-error"), null);
    sheet = drawn;
    faults = [];
    isShown = false;
    showKind(sheet.kind, sheet.difficulty);
    find("#because").textContent = because;
    find("#because").hidden = !because;
    find("#sheet-kind").textContent = sheet.kind;
    find("#sheet-number").textContent = sheet.number;
    find("#instructions").replaceChildren(...sheet.instructions.map((sentence) => make("li", {}, sentence)));
    drawGivens(find("#givens"), sheet.givens);
    page = drawLines(find("#lines"), sheet.lines, { onLine: mark, onInput: keep });
    if (written) page.fill(written);
    find("#result").textContent = "";
    find("#report").hidden = true;
    find("#report").replaceChildren();
    find("#sheet").hidden = false;
    keep();
    if (isFocused) find("#sheet-title").focus();
  } catch (error) {
    showError(find("#practice-error"), error, () => open(request, { because, written }));
  }
}
const keep = () => {
  writeState({ number: sheet.number });
  keepDraft({ number: sheet.number, written: page.typed() });
};

// ---- marks ----
async function mark() {
  if (page.isEmpty()) {
    find("#result").textContent = text("practice.nothing");
    return;
  }
  const own = sheet;
  try {
    const marks = await run((signal) => post("/v1/quiz/mark", { number: sheet.number, lines: page.typed() }, signal));
    if (!marks || own !== sheet) return;
    showError(find("#practice-error"), null);
    page.showMarks(marks);
    notice(marks);
    find("#result").textContent = sentence(marks);
  } catch (error) {
    showError(find("#practice-error"), error, mark);
  }
}
// What went wrong counts also after it was corrected: it decides which sheet comes next.
function notice(marks) {
  for (const error of marks.errors) {
    const rule = error.verdict === "misconception" ? error.name : "";
    if (!faults.some((one) => one.rule === rule && one.line === error.line)) faults.push({ rule, line: error.line });
    mistakes = withMistake(mistakes, { kind: sheet.kind, difficulty: sheet.difficulty, rule });
  }
  if (find("#remember").checked) storeMistakes(mistakes);
}
function sentence(marks) {
  const score = { earned: writeNumber(marks.marks.earned), out_of: writeNumber(marks.marks.out_of) };
  if (marks.is_right && page.isComplete()) return text("practice.all_right", score);
  if (!marks.has_error) return text("practice.right_so_far", score);
  const first = sheet.lines.find((line) => marks.errors.some((error) => error.line === line.name));
  return text("practice.first_wrong", { ...score, line: first?.symbol ?? "" });
}

async function showSolution() {
  const own = sheet;
  try {
    const address = page.isEmpty() ? "/v1/quiz" : "/v1/quiz/mark";
    const body = { number: sheet.number, with_solution: true, ...(page.isEmpty() ? {} : { lines: page.typed() }) };
    const answer = await run((signal) => post(address, body, signal));
    if (!answer || own !== sheet) return;
    showError(find("#practice-error"), null);
    isShown = true;
    page.showSolution(answer.solution);
    if (answer.errors) {
      page.showMarks(answer);
      page.showSolution(answer.solution);
      notice(answer);
      find("#report").hidden = false;
      showInFrame(find("#report"), { kind: "marks", label: text("practice.report"), content: { page: answer.report } });
    }
    find("#result").textContent = text("practice.solution_shown");
  } catch (error) {
    showError(find("#practice-error"), error, showSolution);
  }
}

// ---- the next sheet ----
async function next() {
  await mark();
  const state = { kind: sheet.kind, difficulty: sheet.difficulty, rule: faults.find((one) => one.rule)?.rule ?? "", hasError: faults.length > 0 || isShown, isComplete: page.isComplete() };
  const choice = chooseNext(state, mistakes, kinds.map((kind) => kind.name));
  mistakes = choice.mistakes;
  if (find("#remember").checked) storeMistakes(mistakes);
  const because = choice.reason ? text(choice.reason, { rule: choice.rule ?? "", kind: choice.request.kind, difficulty: choice.request.difficulty }) : "";
  await open({ ...choice.request, seed: seed() }, { because });
}

function showKind(name, difficulty) {
  find("#kind").value = name;
  find("#difficulty").value = String(difficulty);
  find("#kind-title").textContent = kindOf(name)?.title ?? "";
}

find("#draw").addEventListener("click", () => open({ kind: find("#kind").value, difficulty: Number(find("#difficulty").value), seed: seed() }));
find("#kind").addEventListener("change", (event) => (find("#kind-title").textContent = kindOf(event.target.value)?.title ?? ""));
find("#check").addEventListener("click", mark);
find("#next").addEventListener("click", next);
find("#solution").addEventListener("click", showSolution);
find("#remember").addEventListener("change", (event) => storeMistakes(event.target.checked ? mistakes : null));
onAddress(({ number }) => number && number !== sheet?.number && open({ number }));

// ---- start ----
async function begin() {
  try {
    ({ kinds } = await get("/v1/quiz"));
    fillSelect(find("#kind"), kinds.map((kind) => [kind.name, kind.name]));
    const kept = readDraft();
    const number = kept?.number ?? readState().number;
    showKind(kindOf("self-attention") ? "self-attention" : kinds[0].name, 1);
    if (number) await open({ number }, { written: kept?.written, isFocused: false });
  } catch (error) {
    showError(find("#practice-error"), error, begin);
  }
  document.body.dataset.ready = "yes";
}
onKey(begin);
begin();
