// A practice sheet as elements: printed numbers, and cells to fill in, which show the verdicts of the marker.
import { findAll, make } from "./elements.js";
import { text } from "./texts.js";

const KINDS = { // what a verdict looks like; every other verdict is an error
  "correct": "right", "correct (rounded working)": "right", "carried forward": "carried", "truncated": "loose",
  "rounding only": "loose", "plausible": "right", "true, but not from your line": "loose", "not enough working": "unread",
  "cannot read": "unread", "not checked": "unread",
};
const WORDS = {
  right: "practice.cell_right", carried: "practice.cell_carried", loose: "practice.cell_loose", wrong: "practice.cell_wrong", unread: "practice.cell_unread",
};
const kindOf = (verdict) => KINDS[verdict] ?? "wrong";

// A typed number as the server reads it: 0,5 becomes 0.5
const asTyped = (typed) => typed.trim().replace(/^([-+−]?\d*),(\d+)$/, "$1.$2");

function table(matrix, makeCell) {
  const head = make("tr", {}, make("td"), matrix.columns.map((name) => make("th", { scope: "col", dir: "auto" }, name)));
  const rows = matrix.cells.map((cells, i) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, matrix.rows[i]), cells.map((cell, j) => makeCell(cell, i, j))));
  return make("div", { class: "grid-box" }, make("table", { "aria-label": matrix.symbol }, make("thead", {}, head), make("tbody", {}, rows)));
}

const printed = (content) => make("td", {}, content);

export function drawGivens(box, givens) {
  box.replaceChildren(...givens.map((matrix) => make("div", { class: "line" }, make("p", { class: "name" }, matrix.symbol), table(matrix, printed))));
}

// Draw the lines into a box. `onLine` is called when all cells of a line are filled in, `onInput` after every key.
export function drawLines(box, lines, { onLine, onInput }) {
  const inputs = new Map(); // by line, and in it by "row,column"
  const faults = new Map(); // the list of faults of every line

  function drawLine(line) {
    const cells = new Map();
    const list = make("ul", { class: "faults" });
    const makeCell = (content, i, j) => {
      if (content !== null) return printed(content);
      const label = text("matrix.cell", { label: line.symbol, row: line.rows[i], column: line.columns[j] });
      const input = make("input", { "aria-label": label, inputmode: "text", autocomplete: "off", autocapitalize: "off", spellcheck: "false", maxlength: 40 });
      cells.set(`${i},${j}`, input);
      return make("td", { class: "cell" }, input, make("span", { class: "verdict" }));
    };
    const grid = table(line, makeCell);
    inputs.set(line.name, cells);
    faults.set(line.name, list);
    const isAsked = cells.size > 0;
    const box = make("fieldset", { class: isAsked ? "line asked" : "line" }, make("legend", { class: "name" }, line.equation), line.section ? make("p", { class: "section", lang: "en" }, line.section) : null, grid, list);
    box.addEventListener("input", (event) => {
      clear(event.target.parentElement);
      list.replaceChildren();
      onInput();
    });
    box.addEventListener("change", () => [...cells.values()].every((input) => input.value.trim()) && onLine(line.name));
    return box;
  }

  box.replaceChildren(...lines.map(drawLine));
  box.onkeydown = moveByKeys;

  const typed = () => Object.fromEntries(lines.filter((line) => inputs.get(line.name).size).map((line) => [line.name, line.cells.map((row, i) => row.map((_, j) => asTyped(inputs.get(line.name).get(`${i},${j}`)?.value ?? "")))]));

  return {
    typed,
    isComplete: () => [...inputs.values()].every((cells) => [...cells.values()].every((input) => input.value.trim())),
    isEmpty: () => [...inputs.values()].every((cells) => [...cells.values()].every((input) => !input.value.trim())),
    fill(written) {
      for (const [name, rows] of Object.entries(written)) rows.forEach((row, i) => row.forEach((cell, j) => { const input = inputs.get(name)?.get(`${i},${j}`); if (input) input.value = cell; }));
    },
    showMarks(marks) {
      for (const cells of inputs.values()) for (const input of cells.values()) clear(input.parentElement);
      for (const list of faults.values()) list.replaceChildren();
      for (const line of marks.lines) {
        for (const cell of line.cells) showVerdict(inputs.get(line.name)?.get(`${cell.row},${cell.column}`), cell);
        if (line.note) faults.get(line.name)?.append(make("li", { lang: "en" }, line.note));
      }
      for (const error of marks.errors) faults.get(error.line)?.append(faultOf(error, lines.find((line) => line.name === error.line)));
    },
    showSolution(solution) {
      for (const [name, cells] of inputs) for (const [place, input] of cells) {
        const [i, j] = place.split(",").map(Number);
        input.parentElement.querySelector(".answer")?.remove();
        input.parentElement.append(make("span", { class: "answer" }, text("practice.answer", { answer: solution[name][i][j] })));
      }
    },
    focus: () => box.querySelector("input")?.focus(),
  };
}

function showVerdict(input, cell) {
  if (!input) return;
  const kind = kindOf(cell.verdict);
  const place = input.parentElement;
  place.classList.add(kind);
  input.setAttribute("aria-invalid", String(kind === "wrong"));
  place.querySelector(".verdict").replaceChildren(make("span", { "aria-hidden": "true" }, cell.symbol), make("span", { class: "hidden" }, text(WORDS[kind])));
}

function clear(place) {
  place.className = "cell";
  place.querySelector(".verdict")?.replaceChildren();
  place.querySelector("input")?.removeAttribute("aria-invalid");
}

function faultOf(error, line) {
  const [row, column] = error.cells[0] ?? [0, 0];
  const where = error.cells.length > 1 ? text("practice.cells", { number: error.cells.length, row: line.rows[row], column: line.columns[column] }) : text("practice.at", { row: line.rows[row], column: line.columns[column] });
  const what = error.name ? `${error.in_words}: ${error.name}` : error.in_words;
  return make("li", {}, `${where}: `, make("span", { lang: "en" }, what), make("details", {}, make("summary", {}, text("practice.hint")), make("p", { lang: "en" }, error.hint)));
}

// Up, down, left and right at the ends of a cell, and Enter: the next cell to fill in.
function moveByKeys(event) {
  if (event.target.tagName !== "INPUT") return;
  const { selectionStart: start, selectionEnd: end, value } = event.target;
  const all = findAll("input", this);
  const at = all.indexOf(event.target);
  const cell = event.target.closest("td");
  const inRow = (row) => row?.cells[cell.cellIndex]?.querySelector("input");
  const next = {
    Enter: all[at + 1], ArrowUp: inRow(cell.parentElement.previousElementSibling), ArrowDown: inRow(cell.parentElement.nextElementSibling),
    ArrowLeft: start === 0 && end === 0 ? all[at - 1] : null, ArrowRight: start === value.length ? all[at + 1] : null,
  }[event.key];
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.select();
}
