// A working is pasted or opened, and marked line by line: the report comes as a page.
import { post, showError } from "./api.js";
import { afterPause, fillSelect, find, latestOnly } from "./elements.js";
import { showInFrame } from "./frames.js";
import { text } from "./texts.js";

const PAUSE = 600; // milliseconds
const FORMATS = { yaml: "yaml", yml: "yaml", json: "json", md: "md", markdown: "md", tex: "tex", txt: "txt", html: "html", htm: "html", csv: "csv", tsv: "tsv", xlsx: "xlsx" };
const NONE = "";
const FIRST_SAMPLE = "numerical-self-attention"; // it has an error that is carried forward

export function makeMarking({ problem, onChange }) {
  const run = latestOnly();
  const working = find("#working");
  let samples = [];
  let hasBegun = false;
  let spreadsheet = null; // a file whose bytes are not text, in base64
  const asked = () => ({ sample: find("#sample").value, format: find("#format").value, isWithProblem: find("#with-problem").checked, isStrict: find("#strict").checked });
  const format = () => (spreadsheet === null ? find("#format").value : "xlsx");

  async function mark() {
    onChange();
    const content = spreadsheet ?? working.value;
    if (!content.trim()) {
      run.stop();
      clearMarks();
      return showError(find("#mark-error"), null);
    }
    const body = { working: content, format: format(), result_format: "html", strict_rounding: find("#strict").checked };
    find("#marks").classList.add("old");
    const isWithProblem = find("#with-problem").checked;
    try {
      const answer = await run((signal) => post("/v1/check", { ...body, problem: isWithProblem ? problem() : null }, signal));
      if (!answer) return undefined;
      showError(find("#mark-error"), null);
      find("#marks").hidden = false;
      find("#no-marks").hidden = true;
      showInFrame(find("#marks"), { kind: "marks", label: text("exercises.marked"), content: { page: answer.result } });
      find("#live").textContent = text(answer.is_right ? "exercises.right" : "exercises.wrong");
    } catch (error) {
      clearMarks();
      if (error.status === 400 && !isWithProblem) error.message += `\n${text("exercises.tick")}`;
      showError(find("#mark-error"), error, mark);
    }
    return undefined;
  }
  // Marks never stand beside a working that they do not belong to.
  function clearMarks() {
    find("#marks").replaceChildren();
    find("#marks").hidden = true;
    find("#no-marks").hidden = false;
    find("#live").textContent = "";
  }
  const later = afterPause(PAUSE, mark);
  find("#marks").addEventListener("shown", () => find("#marks").classList.remove("old"));

  function setWorking(content, kind) {
    spreadsheet = null;
    find("#file-name").textContent = "";
    working.value = content;
    find("#format").value = kind;
    later.now();
  }
  working.addEventListener("input", () => {
    spreadsheet = null;
    find("#file-name").textContent = "";
    find("#marks").classList.add("old");
    onChange();
    later();
  });
  for (const name of ["#format", "#with-problem", "#strict"]) find(name).addEventListener("change", later.now);
  find("#sample").addEventListener("change", (event) => {
    const sample = samples.find((one) => one.id === event.target.value);
    find("#with-problem").checked = !sample; // a sample contains its problem
    setWorking(sample?.text ?? "", sample ? "yaml" : "txt");
    if (!sample) working.focus();
  });
  find("#working-file").addEventListener("change", async (event) => {
    const [file] = event.target.files;
    event.target.value = "";
    if (!file) return;
    const kind = FORMATS[file.name.split(".").at(-1).toLowerCase()] ?? "txt";
    if (kind === "xlsx") {
      working.value = "";
      spreadsheet = await base64(file);
      later.now();
    } else setWorking(await file.text(), kind);
    find("#file-name").textContent = text("exercises.opened", { name: file.name });
  });

  return {
    // What was typed; a spreadsheet is not text, and is not kept.
    draft: () => ({ ...asked(), working: working.value }),
    restore({ sample, format: kind, isWithProblem, isStrict, working: content }) {
      find("#sample").value = sample;
      find("#with-problem").checked = isWithProblem;
      find("#strict").checked = isStrict;
      working.value = content;
      find("#format").value = kind;
      hasBegun = true;
    },
    listSamples(workings) {
      samples = workings;
      fillSelect(find("#sample"), [[NONE, text("exercises.own_working")], ...samples.map((one) => [one.id, one.title || one.id])], NONE);
    },
    // The first time that the task is opened it shows a working with errors, so that one sees what comes back.
    begin() {
      if (hasBegun || working.value || spreadsheet !== null || !samples.length) return later.now(); // the problem may have changed
      hasBegun = true;
      const sample = samples.find((one) => one.id === FIRST_SAMPLE) ?? samples[0];
      find("#sample").value = sample.id;
      setWorking(sample.text, "yaml");
      return undefined;
    },
  };
}

const base64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
