/* The page itself: typing, arrow keys, keeping the work in the browser, checking, hints, saving and loading. */
const sheet = JSON.parse(document.getElementById("sheet-data").textContent);
const fields = [...document.querySelectorAll("input[data-cell]")];
const placeOf = (field) => field.dataset.cell.split(/[:,]/).map(Number);
const fieldOf = new Map(fields.map((field) => [field.dataset.cell, field]));
const resultText = document.getElementById("result"), studentField = document.getElementById("student");
const STORE = `clearhead-quiz:${sheet.number}`;
const MARKS_OF = {
  correct: "right", rounded: "right", carried: "right", truncated: "right", rounding: "right", plausible: "right", "from-right": "right",
  coarse: "unsure", few: "unsure", true: "unsure", open: "unsure", wrong: "wrong", unreadable: "wrong",
};
const WORDS_OF = {
  correct: "right", rounded: "right", carried: "follows from the line above", truncated: "right, digits cut instead of rounded",
  rounding: "right except for the last digit", plausible: "possible with the rounding above", "from-right": "right",
  true: "the right number, but it does not follow from the line above",
  coarse: "close, but not what your lines above give: compare the last digits, and keep more digits in numbers that you do not type",
  few: `has too few decimals: write ${sheet.decimals}, as the sheet asks`,
  open: "cannot be decided while lines above are empty", wrong: "does not follow from the lines above", unreadable: "not a number",
};
const withSign = (text) => (sheet.hasComma ? text.replace(/(\d)\.(\d)/g, "$1,$2") : text);

/* What is typed, as a grid for every record. */
function typedTexts() {
  return sheet.records.map((record, index) => record.shown.map((row, i) => row.map((_, j) => {
    const field = fieldOf.get(`${index}:${i},${j}`);
    return field ? field.value.trim() : "";
  })));
}

/* Arrow keys: up and down to the nearest field of the row above or below, left and right at the ends of the text. */
function neighbour(field, key) {
  const order = fields.indexOf(field);
  if (key === "Enter" || key === "ArrowRight") return fields[order + 1];
  if (key === "ArrowLeft") return fields[order - 1];
  const cell = field.closest("td"), column = cell.cellIndex, down = key === "ArrowDown" ? 1 : -1;
  for (let row = cell.parentElement.rowIndex + down; ; row += down) {
    const next = cell.closest("table").rows[row];
    if (!next) break;
    const input = next.cells[column] && next.cells[column].querySelector("input");
    if (input) return input;
  }
  const others = fields.filter((other) => other.closest("table") !== cell.closest("table"));
  const here = others.filter((other) => (fields.indexOf(other) - order) * down > 0);
  return down > 0 ? here[0] : here[here.length - 1];
}
function onKey(event) {
  const field = event.target, key = event.key;
  if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.isComposing) return;
  const isWhole = field.selectionStart === 0 && field.selectionEnd === field.value.length;
  const atStart = isWhole || field.selectionEnd === 0, atEnd = isWhole || field.selectionStart === field.value.length;
  const isAtEdge = (key === "ArrowLeft" && atStart) || (key === "ArrowRight" && atEnd);
  if (!isAtEdge && !["Enter", "ArrowUp", "ArrowDown"].includes(key)) return;
  event.preventDefault();
  const next = neighbour(field, key);
  if (next) {
    next.focus();
    next.select();
  }
}

/* Keep the work in the browser; some browsers refuse that for a file. */
function keep() {
  const cells = Object.fromEntries(fields.filter((field) => field.value.trim()).map((field) => [field.dataset.cell, field.value]));
  try {
    localStorage.setItem(STORE, JSON.stringify({ cells, student: studentField.value }));
  } catch {
    document.getElementById("no-storage").hidden = false;
  }
}
function restore() {
  let stored = null;
  try {
    localStorage.setItem("clearhead-quiz:test", "");
    localStorage.removeItem("clearhead-quiz:test");
    stored = JSON.parse(localStorage.getItem(STORE) || "null");
  } catch (problem) {
    if (!(problem instanceof SyntaxError)) document.getElementById("no-storage").hidden = false;
  }
  if (stored && typeof stored === "object") fill(stored.cells, stored.student);
}
function fill(cells, student) {
  for (const field of fields) field.value = String((cells && cells[field.dataset.cell]) ?? "").slice(0, 60);
  studentField.value = String(student ?? "").slice(0, 80);
  unmark(0);
}

/* Marks are for what was checked: a change removes those of its line and of all lines below. */
function unmark(fromRecord) {
  for (const field of fields) {
    if (placeOf(field)[0] < fromRecord) continue;
    delete field.closest("td").dataset.mark;
    field.removeAttribute("aria-invalid");
    field.setAttribute("aria-label", field.dataset.name);
  }
  for (const line of document.querySelectorAll(".first-wrong")) if (Number(line.id.slice(4)) >= fromRecord) line.classList.remove("first-wrong");
  for (const note of document.querySelectorAll(".words")) note.remove();
  resultText.textContent = "";
}

/* The mark of the selected cell in words; screen readers have the same words in its label. */
function showWords(field) {
  for (const note of document.querySelectorAll(".words")) note.remove();
  if (!field.closest("td").dataset.mark) return;
  const note = document.createElement("p");
  note.className = "note words";
  note.setAttribute("aria-hidden", "true");
  note.textContent = field.getAttribute("aria-label");
  field.closest("figure").append(note);
}

function check() {
  unmark(0);
  const result = judge(sheet, typedTexts());
  for (const field of fields) {
    const [index, i, j] = placeOf(field);
    const judged = result.records[index].verdicts[i][j];
    if (!judged) continue;
    const words = judged.problem ? `cannot be read: ${judged.problem}` : WORDS_OF[judged.verdict];
    field.closest("td").dataset.mark = MARKS_OF[judged.verdict];
    field.setAttribute("aria-label", `${field.dataset.name}: ${words}`);
    if (WRONG.has(judged.verdict)) field.setAttribute("aria-invalid", "true");
  }
  if (result.firstWrong >= 0) document.getElementById(`line${result.firstWrong}`).classList.add("first-wrong");
  resultText.textContent = sentenceOf(result);
}

/* Say which line goes wrong first, and where in it, but not what is right. */
function sentenceOf(result) {
  const numEmpty = fields.length - result.numTyped;
  const empty = numEmpty ? ` ${numEmpty} of ${fields.length} cells ${numEmpty === 1 ? "is" : "are"} empty.` : "";
  if (!result.numTyped) return "Nothing is typed yet.";
  if (result.firstWrong < 0) {
    const verdicts = result.records.flatMap((record) => record.verdicts.flat());
    const unsure = verdicts.filter((judged) => judged && MARKS_OF[judged.verdict] === "unsure").length;
    if (unsure) return `Nothing is wrong so far. ${unsure} marked "?": select the cell to read why.${empty}`;
    return numEmpty ? `Everything typed so far follows from the lines above.${empty}` : "All cells are right.";
  }
  const names = fields.filter((field) => {
    const [index, i, j] = placeOf(field);
    const judged = result.records[index].verdicts[i][j];
    return index === result.firstWrong && judged && WRONG.has(judged.verdict);
  });
  const judgedFirst = names[0] && result.records[result.firstWrong].verdicts[placeOf(names[0])[1]][placeOf(names[0])[2]];
  const more = names.length > 1 ? ` and ${names.length - 1} more cell${names.length > 2 ? "s" : ""} of this line` : "";
  const follows = more ? "do not follow from the lines above it" : "does not follow from the lines above it";
  const why = judgedFirst && judgedFirst.problem ? `cannot be read: ${judgedFirst.problem}` : follows;
  const numLater = result.numWrong - names.length;
  const later = numLater > 0 ? ` ${numLater} wrong in later lines.` : "";
  return `First line that goes wrong: ${names[0].dataset.name}${more} ${why}.${later}${empty}`;
}

/* Hints for one cell: the rule in words, then the sum with the student's own numbers, then the answer. */
const hintState = { cell: "", level: 0 };
let lastField = null;
function hintField(index) {
  const line = fields.filter((field) => placeOf(field)[0] === index);
  if (lastField && line.includes(lastField)) return lastField;
  return line.find((field) => field.closest("td").dataset.mark === "wrong") || line.find((field) => !field.value.trim()) || line[0];
}
function giveHint(index) {
  const field = hintField(index), [, i, j] = placeOf(field), record = sheet.records[index];
  const expected = judge(sheet, typedTexts()).records[index].expected[i][j];
  const sum = record.sums[`${i},${j}`];
  const levels = [`${record.sentence} ${withSign(record.rule)}`];
  if (sum) levels.push(`${field.dataset.name} = ${withSign(ownNumbers(sum))}`);
  levels.push(`${field.dataset.name} is ${withSign(roundedText(expected))}.`);
  if (hintState.cell !== field.dataset.cell) Object.assign(hintState, { cell: field.dataset.cell, level: 0 });
  hintState.level = Math.min(hintState.level + 1, levels.length);
  const kinds = ["Rule", ...(sum ? ["Your sum"] : []), "Answer from your lines above"];
  const box = document.getElementById(`hints${index}`);
  box.replaceChildren(...levels.slice(0, hintState.level).map((text, level) => {
    const paragraph = document.createElement("p"), name = document.createElement("b");
    name.textContent = `${kinds[level]}: `;
    paragraph.append(name, text);
    return paragraph;
  }));
}
function ownNumbers(template) {
  const texts = typedTexts(), expected = judge(sheet, texts).records.map((record) => record.expected);
  return template.replace(/\{(\d+):(\d+),(\d+)\}/g, (_, record, i, j) => {
    const printed = sheet.records[record].shown[i][j];
    const text = printed !== null ? printed : texts[record][i][j] || roundedText(expected[record][i][j]);
    return /^[-−]/.test(text) ? `(${text})` : text;
  });
}
function roundedText(value) {
  if (!Number.isFinite(value)) return value < 0 ? "-∞" : "∞";
  const size = Math.abs(value), decimals = sheet.significant && size ? Math.max(0, sheet.significant - 1 - Math.floor(Math.log10(size))) : sheet.decimals;
  const scale = 10 ** decimals, text = (Math.round(size * scale * (1 + 1e-13)) / scale).toFixed(decimals);
  return value < 0 && Number(text) ? `-${text}` : text;
}

/* The file to hand in: the number of the sheet, and every line with a number in it, as the marker reads it. */
const turned = (rows) => (sheet.isTurned ? rows[0].map((_, j) => rows.map((row) => row[j])) : rows);
function workingData() {
  const texts = typedTexts(), written = {};
  sheet.records.forEach((record, index) => {
    const rows = record.shown.map((row, i) => row.map((printed, j) => (printed === null ? texts[index][i][j] : printed)));
    if (!rows.flat().some(Boolean)) return;
    const place = record.where ? (written[record.where] = written[record.where] || {}) : written;
    place[record.symbol] = turned(rows);
  });
  const student = studentField.value.trim();
  return { sheet: sheet.number, ...(student && { student }), ...(sheet.hasComma && { decimal: "comma" }), written };
}
function save() {
  const link = document.createElement("a"), text = `${JSON.stringify(workingData(), null, 1)}\n`;
  link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  link.download = `${sheet.number}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  resultText.textContent = `Saved as ${link.download} in your downloads.`;
}
async function load(file) {
  let data = null;
  try {
    data = JSON.parse(await file.text());
  } catch {
    data = null;
  }
  const written = data && typeof data === "object" && data.written;
  if (!written || typeof written !== "object") {
    resultText.textContent = `${file.name} is not a working that this page saved. Choose the .json file from "Save working".`;
    return;
  }
  if (data.sheet !== sheet.number) {
    resultText.textContent = `${file.name} is a working of sheet ${String(data.sheet).slice(0, 60)}, and this is sheet ${sheet.number}.`;
    return;
  }
  if (fields.some((field) => field.value.trim()) && !confirm("Replace what you typed by the working in the file?")) return;
  const cells = {};
  sheet.records.forEach((record, index) => {
    const place = record.where ? written[record.where] : written;
    const rows = place && Array.isArray(place[record.symbol]) ? turned(place[record.symbol]) : [];
    rows.forEach((row, i) => (Array.isArray(row) ? row : []).forEach((text, j) => (cells[`${index}:${i},${j}`] = text)));
  });
  fill(cells, data.student);
  keep();
  resultText.textContent = `Loaded ${file.name}.`;
}
function clear() {
  if (!confirm("Clear everything that you typed on this sheet?")) return;
  fill({}, studentField.value);
  keep();
  for (const box of document.querySelectorAll(".hints")) box.replaceChildren();
  resultText.textContent = "Cleared.";
}

for (const field of fields) {
  field.addEventListener("keydown", onKey);
  field.addEventListener("focus", () => {
    lastField = field;
    showWords(field);
  });
  field.addEventListener("input", () => {
    unmark(placeOf(field)[0]);
    keep();
  });
  field.closest("td").addEventListener("mouseenter", () => (field.title = field.getAttribute("aria-label")));
}
studentField.addEventListener("input", keep);
document.getElementById("check").addEventListener("click", check);
document.getElementById("save").addEventListener("click", save);
document.getElementById("clear").addEventListener("click", clear);
const fileField = document.getElementById("file");
document.getElementById("load").addEventListener("click", () => fileField.click());
fileField.addEventListener("change", async () => {
  if (fileField.files[0]) await load(fileField.files[0]);
  fileField.value = "";
});
for (const button of document.querySelectorAll("button.hint")) button.addEventListener("click", () => giveHint(Number(button.dataset.record)));
restore();
