// A few rows of weights over the tokens of a sentence, such as one row for each head: a table without zoom.

// Return the table. `sentence(i, j)` is the label of a cell; digits are written for up to `mostDigits` columns.
function strip({ caption, rows, columns, weights, sentence, marked = null, mostDigits = 10, isMasked = () => false }) {
  const head = make("tr", {}, make("td"), columns.map((text, j) => make("th", { scope: "col", dir: "auto", class: j === marked ? "marked" : null }, make("span", {}, text))));
  const lines = rows.map((text, i) => make("tr", {}, make("th", { scope: "row" }, text), columns.map((_, j) => {
    const attributes = { "data-at": `${i},${j}`, "data-say": "", "aria-label": sentence(i, j), tabindex: -1 };
    const cell = make("td", attributes, isMasked(i, j) ? "" : write(weights[i][j], 2));
    cell.classList.add(isMasked(i, j) ? "masked" : level(weights[i][j]));
    return cell;
  })));
  const table = make("table", { class: `map strip${columns.length > mostDigits ? " dense" : ""}`, role: "grid" });
  table.append(make("caption", {}, caption), make("thead", {}, head), make("tbody", {}, lines));
  const first = cellsOf(table)[0];
  if (first) first.tabIndex = 0;
  return make("div", { class: "box attention" }, table);
}

// Arrow keys move over the cells of every strip; a grid with its own keys stops the event before it comes here.
document.addEventListener("keydown", (event) => {
  const cell = event.target.closest?.("td[data-at]");
  if (!cell || event.altKey || event.metaKey) return;
  const target = cellByKey(cell, event);
  if (!target) return;
  event.preventDefault();
  makeTabStop(target);
  target.focus();
});

// A horizontal bar from 0 to `share` of the width. A signed bar starts in the middle and goes to the left for a negative share.
function bar(share, isSigned = false) {
  const inner = make("span", { class: share < 0 ? "fill negative" : "fill" });
  inner.style.width = `${(isSigned ? 50 : 100) * Math.min(1, Math.abs(share))}%`;
  return make("span", { class: isSigned ? "bar signed" : "bar", "aria-hidden": "true" }, inner);
}
