// A matrix as a grid of cells: typed, or pasted from a spreadsheet; the grid grows with what is pasted.
import { findAll, make } from "./elements.js";
import { text } from "./texts.js";

// A cell as a value: a number, or what was typed (the server reads 1/3 and sqrt(2), and says what it cannot read).
export function cellValue(typed) {
  const content = typed.trim().replace("−", "-").replace(/^([-+]?\d+),(\d+)$/, "$1.$2"); // a decimal comma
  return content !== "" && Number.isFinite(Number(content)) ? Number(content) : content;
}

// Cells of a text that was copied from a spreadsheet, a CSV file or a sheet of paper.
export function cellsOf(content) {
  const lines = content.replace(/\r\n?/g, "\n").replace(/\n+$/, "").split("\n").map((line) => line.trim().replace(/^\[+|[\],;]+$/g, ""));
  const sign = ["\t", ";", ","].find((one) => content.includes(one)) ?? /\s+/;
  const rows = lines.filter(Boolean).map((line) => line.split(sign).map((cell) => cell.trim()));
  // 0,5 in a table with tabs is a decimal comma
  return sign === "\t" || sign === ";" ? rows.map((row) => row.map((cell) => cell.replace(/^(-?\d+),(\d+)$/, "$1.$2"))) : rows;
}

// `kind`: "matrix" (rows of cells), "vector" (one row), "vectors" (a named row for each word). `rows` are cells as text;
// of "vectors" the first cell of a row is its name. Returns the element and a function that reads the cells.
export function makeGrid({ label, kind, rows, onChange }) {
  let cells = rows.map((row) => row.map(String));
  let before = null; // the cells before the last paste, which can be undone until something else is changed
  const body = make("tbody");
  const size = make("span", { class: "hint" });
  const undo = make("button", { type: "button", class: "button small", hidden: true, onclick: () => undoPaste() }, text("matrix.undo"));
  const isNamed = kind === "vectors";
  const width = () => Math.max(1, ...cells.map((row) => row.length));

  function draw(focus = null) {
    const columns = width();
    cells = cells.map((row) => Array.from({ length: columns }, (_, j) => row[j] ?? ""));
    body.replaceChildren(...cells.map((row, i) => make("tr", {}, row.map((cell, j) => {
      const name = isNamed && j === 0 ? text("matrix.name", { label, row: i + 1 }) : text("matrix.cell", { label, row: i + 1, column: isNamed ? j : j + 1 });
      const input = make("input", { "aria-label": name, class: isNamed && j === 0 ? "name" : null, inputmode: isNamed && j === 0 ? null : "decimal", autocomplete: "off", spellcheck: "false", "data-at": `${i},${j}` });
      input.value = cell;
      return make("td", {}, input);
    }))));
    undo.hidden = !before;
    size.textContent = `${cells.length} × ${columns - (isNamed ? 1 : 0)}`;
    if (focus) inputAt(...focus)?.focus();
  }
  const inputAt = (i, j) => body.rows[i]?.cells[j]?.firstChild;
  const placeOf = (input) => input.dataset.at.split(",").map(Number);

  function change(action, focus = null) {
    before = null;
    action();
    draw(focus);
    onChange();
  }

  body.addEventListener("input", (event) => {
    const [i, j] = placeOf(event.target);
    cells[i][j] = event.target.value;
    before = null;
    undo.hidden = true;
    onChange();
  });
  body.addEventListener("paste", (event) => {
    const pasted = event.clipboardData.getData("text/plain");
    const rectangle = cellsOf(pasted);
    if (rectangle.length < 2 && (rectangle[0]?.length ?? 0) < 2) return; // a single number is pasted as usual
    event.preventDefault();
    const [top, left] = placeOf(event.target);
    change(() => {
      before = cells.map((row) => [...row]);
      rectangle.slice(0, kind === "vector" ? 1 : undefined).forEach((row, i) => {
        cells[top + i] ??= [];
        row.forEach((cell, j) => (cells[top + i][left + j] = cell));
      });
      if (top === 0 && left === 0) cells = cells.slice(0, kind === "vector" ? 1 : rectangle.length).map((row) => row.slice(0, rectangle[0].length));
    }, [top, left]);
  });
  // Up, down and Enter move between rows; left and right leave a cell at its ends.
  body.addEventListener("keydown", (event) => {
    const [i, j] = placeOf(event.target);
    if (before && (event.ctrlKey || event.metaKey) && event.key === "z") {
      event.preventDefault();
      return undoPaste();
    }
    const { selectionStart: start, selectionEnd: end, value } = event.target;
    const target = {
      ArrowUp: [i - 1, j], ArrowDown: [i + 1, j], Enter: [i + 1, j],
      ArrowLeft: start === 0 && end === 0 ? [i, j - 1] : null, ArrowRight: start === value.length ? [i, j + 1] : null,
    }[event.key];
    const next = target && inputAt(...target);
    if (!next) return undefined;
    event.preventDefault();
    next.focus();
    next.select();
    return undefined;
  });

  function undoPaste() {
    const earlier = before;
    change(() => (cells = earlier), [0, 0]);
  }
  const button = (key, sign, action) => make("button", { type: "button", class: "button small", "aria-label": text(key, { label }), title: text(key, { label }), onclick: () => change(action) }, sign);
  const rowTools = kind === "vector" ? [] : [
    button("matrix.add_row", text("matrix.row_more"), () => cells.push([])),
    button("matrix.remove_row", text("matrix.row_less"), () => cells.length > 1 && cells.pop()),
  ];
  const tools = make("div", { class: "matrix-tools" }, size, rowTools,
    button("matrix.add_column", text("matrix.column_more"), () => cells[0].push("")),
    button("matrix.remove_column", text("matrix.column_less"), () => width() > (isNamed ? 2 : 1) && cells.forEach((row) => row.pop())), undo);
  draw();
  return {
    element: make("div", { class: "grid" }, make("div", { class: "grid-box" }, make("table", { class: "matrix", role: "group", "aria-label": label }, body)), tools),
    read: () => (kind === "vector" ? cells[0].map(cellValue) : isNamed ? Object.fromEntries(cells.map(([name, ...row]) => [name, row.map(cellValue)])) : cells.map((row) => row.map(cellValue))),
    inputs: () => findAll("input", body),
  };
}
