"use strict";
// What every page of matrices shares: arrow keys, Home and End over the cells of a table, and lists that open for print.
// It stands before the page's own script, in the same <script>.
const cellsOf = (scope) => [...scope.querySelectorAll("td[data-at]")];
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// The next cell in the direction of an arrow key, past gaps; at the edge the cell itself.
function neighbourOf(cell, [down, right]) {
  const body = cell.closest("tbody");
  let i = cell.parentElement.sectionRowIndex + down;
  let j = cell.cellIndex + right;
  for (; body.rows[i]?.cells[j]; i += down, j += right) if (body.rows[i].cells[j].matches("td[data-at]")) return body.rows[i].cells[j];
  return cell;
}

// The cell that a key leads to from this one, or null for any other key. Ctrl makes Home and End those of the table.
function cellByKey(cell, event) {
  if (event.key in ARROWS) return neighbourOf(cell, ARROWS[event.key]);
  if (event.key !== "Home" && event.key !== "End") return null;
  return cellsOf(event.ctrlKey ? cell.closest("tbody") : cell.parentElement).at(event.key === "Home" ? 0 : -1);
}

// Tab stops at one cell of each table: the one that had the focus last.
function makeTabStop(cell) {
  for (const other of cellsOf(cell.closest("table"))) other.tabIndex = -1;
  cell.tabIndex = 0;
}

// A closed list of sums or story is printed too.
function openDetailsForPrint() {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
  });
}
openDetailsForPrint();
