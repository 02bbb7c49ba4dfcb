"use strict";
// Shared by all pages with matrices: arrow keys, Home and End move over the cells of a table; closed lists are printed.
// It comes before the page's own script, in the same <script> element.
const cellsOf = (scope) => [...scope.querySelectorAll("td[data-at]")];
const ARROWS = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

// Return the next cell in the direction of an arrow key, skipping gaps; at the edge, the cell itself.
function neighbourOf(cell, [down, right]) {
  const body = cell.closest("tbody");
  let i = cell.parentElement.sectionRowIndex + down;
  let j = cell.cellIndex + right;
  for (; body.rows[i]?.cells[j]; i += down, j += right) if (body.rows[i].cells[j].matches("td[data-at]")) return body.rows[i].cells[j];
  return cell;
}

// Return the cell that a key moves to, or null for any other key. With Ctrl, Home and End are those of the entire table.
function cellByKey(cell, event) {
  if (event.key in ARROWS) return neighbourOf(cell, ARROWS[event.key]);
  if (event.key !== "Home" && event.key !== "End") return null;
  return cellsOf(event.ctrlKey ? cell.closest("tbody") : cell.parentElement).at(event.key === "Home" ? 0 : -1);
}

// Make this cell the only one of its table that Tab stops at.
function makeTabStop(cell) {
  for (const other of cellsOf(cell.closest("table"))) other.tabIndex = -1;
  cell.tabIndex = 0;
}

// Open every closed list for printing, and close it again afterwards.
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
