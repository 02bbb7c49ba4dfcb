// Practice: a sheet that marks itself in the browser, in a frame. The server draws it, and marks it in full on request.
import { get, post, showError } from "./api.js";
import { fillSelect, find, latestOnly, writeState } from "./elements.js";
import { showInFrame } from "./frames.js";
import { text, textsOf } from "./texts.js";

const MOST_SEED = 999999;
const FIRST_KIND = "self-attention";
const storeOf = (number) => `clearhead-quiz:${number}`; // the same name as in a sheet that is opened as a file

// What was typed on a sheet; undefined if this browser keeps nothing, which the sheet then says.
function storedWork(number) {
  try {
    return localStorage.getItem(storeOf(number)) ?? "";
  } catch {
    return undefined;
  }
}

export function makePractice({ onChange }) {
  const run = latestOnly();
  let number = ""; // of the sheet that is shown

  async function open(request) {
    try {
      const sheet = await run((signal) => post("/v1/quiz", { ...request, with_page: true }, signal));
      if (!sheet) return;
      showError(find("#practice-error"), null);
      number = sheet.number;
      find("#sheet-kind").value = sheet.kind;
      find("#difficulty").value = String(sheet.difficulty);
      find("#practice-marks").hidden = true;
      find("#practice-sheet").hidden = false;
      const content = { page: sheet.page, work: storedWork(number), texts: textsOf("practice.") };
      showInFrame(find("#practice-sheet"), { kind: "quiz", label: number, content, onMessage, hasDialogs: true });
      writeState({ number });
      onChange();
    } catch (error) {
      showError(find("#practice-error"), error, () => open(request));
    }
  }

  function onMessage({ kind, work, lines }) {
    if (kind === "work") localStorage.setItem(storeOf(number), work);
    if (kind === "mark") mark(lines);
  }

  async function mark(lines) {
    try {
      const marks = await run((signal) => post("/v1/quiz/mark", { number, lines, with_solution: true }, signal));
      if (!marks) return;
      showError(find("#practice-error"), null);
      const box = find("#practice-marks");
      box.hidden = false;
      showInFrame(box, { kind: "marks", label: text("exercises.marked"), content: { page: marks.report } });
      box.scrollIntoView();
    } catch (error) {
      showError(find("#practice-error"), error, () => mark(lines));
      find("#practice-error").scrollIntoView();
    }
  }

  find("#draw").addEventListener("click", () => {
    const [seed] = crypto.getRandomValues(new Uint32Array(1));
    open({ kind: find("#sheet-kind").value, difficulty: Number(find("#difficulty").value), seed: seed % (MOST_SEED + 1) });
  });

  return {
    number: () => number,
    // List the kinds when the task is first opened, and open a sheet by its number.
    async begin(wanted = "") {
      try {
        if (!find("#sheet-kind").options.length) {
          const { kinds } = await get("/v1/quiz");
          fillSelect(find("#sheet-kind"), kinds.map((kind) => [kind.name, kind.name]), FIRST_KIND);
        }
        showError(find("#practice-error"), null);
        if (wanted && wanted !== number) await open({ number: wanted });
      } catch (error) {
        showError(find("#practice-error"), error, () => this.begin(wanted));
      }
    },
  };
}
