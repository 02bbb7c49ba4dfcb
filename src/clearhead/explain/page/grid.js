// A matrix of attention weights as a table that zooms in: heat map, digits, and the sum behind one cell.
const MOST_CELLS = 64; // tokens in each direction; beyond that a canvas shows all, and a table a part of it
const WINDOW = 24;

// Return the figure of a matrix. `sentence(i, j)` is the label of a cell, `working(i, j)` the element with its sum.
function weightGrid({ name, tools, caption, rows, columns, weights, sentence, working, isMasked = () => false }) {
  const state = { zoom: "heat", decimals: 2, top: 0, left: 0 };
  const body = make("div", { class: "box" });
  const sum = make("div", { class: "working", role: "region", "aria-label": "The sum behind the cell", hidden: true });
  const isLarge = rows.length > MOST_CELLS || columns.length > MOST_CELLS;
  const figure = make("figure", { class: "matrix attention weights" });
  const zooms = switcher("Zoom", [["heat", "Heat map"], ["digits", "Digits"]], "heat", (zoom) => show({ zoom }));
  const decimals = choice("Decimals", [0, 1, 2, 3, 4, 5, 6].map((n) => [n, String(n)]), 2, (n) => show({ decimals: Number(n), zoom: "digits" }));
  figure.append(make("div", { class: "tools" }, tools, zooms, decimals), make("figcaption", { class: "hint" }, caption), body, sum);
  const overview = isLarge ? canvasOverview({ rows, columns, weights, state, move: (place) => show(place) }) : null;
  if (overview) body.before(overview.element);
  let table = null;

  function build() {
    const span = (start, count) => Array.from({ length: isLarge ? Math.min(WINDOW, count - start) : count }, (_, n) => start + n);
    const [down, across] = [span(state.top, rows.length), span(state.left, columns.length)];
    const head = make("tr", {}, make("td"), across.map((j) => make("th", { scope: "col", dir: "auto" }, make("span", {}, columns[j]))));
    const lines = down.map((i) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, rows[i]), across.map((j) => weightCell(i, j))));
    table = make("table", { class: "map", role: "grid", "aria-label": name }, make("thead", {}, head), make("tbody", {}, lines));
    stop = cellsOf(table)[0];
    stop.tabIndex = 0;
    body.replaceChildren(table);
    overview?.paint();
    writeDigits();
  }

  function weightCell(i, j) {
    const label = sentence(i, j);
    const cell = make("td", { "data-at": `${i},${j}`, "data-say": "", "aria-label": label, tabindex: -1 });
    if (isMasked(i, j)) cell.classList.add("masked");
    else cell.classList.add(level(weights[i][j]));
    return cell;
  }

  // Only the old and the new Tab stop change: a table of 64 × 64 cells has to stay fast.
  let stop = null;
  function moveStop(cell) {
    stop.tabIndex = -1;
    stop = cell;
    stop.tabIndex = 0;
  }

  const placeOf = (cell) => cell.dataset.at.split(",").map(Number);

  function writeDigits() {
    table.dataset.zoom = state.zoom;
    table.dataset.decimals = state.decimals;
    for (const cell of cellsOf(table)) {
      const [i, j] = placeOf(cell);
      cell.textContent = state.zoom === "heat" || isMasked(i, j) ? "" : write(weights[i][j], state.decimals);
    }
  }

  function show(change) {
    const isMoved = "top" in change || "left" in change;
    Object.assign(state, change);
    for (const button of zooms.children) button.setAttribute("aria-pressed", String((button.textContent === "Digits") === (state.zoom === "digits")));
    if (isMoved) build();
    else writeDigits();
  }

  function openSum(cell) {
    const [i, j] = placeOf(cell);
    for (const other of table.querySelectorAll(".current")) other.classList.remove("current");
    cell.classList.add("current");
    sum.replaceChildren(working(i, j));
    sum.hidden = false;
    figure.classList.add("with-sum");
  }

  function closeSum() {
    sum.hidden = true;
    figure.classList.remove("with-sum");
    for (const other of table.querySelectorAll(".current")) other.classList.remove("current");
  }

  function goIn(cell) {
    if (state.zoom === "heat") show({ zoom: "digits" });
    else openSum(cell);
  }

  function goOut() {
    if (!sum.hidden) closeSum();
    else if (state.zoom === "digits") show({ zoom: "heat" });
    else return false;
    return true;
  }

  body.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td[data-at]");
    if (!cell || event.altKey || event.metaKey) return;
    const target = cellByKey(cell, event);
    if (target) {
      moveStop(target);
      target.focus();
    } else if (event.key === "Enter") goIn(cell);
    else if (event.key !== "Escape" || !goOut()) return;
    event.preventDefault();
    event.stopPropagation();
  });
  sum.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    closeSum();
    table.querySelector("td[tabindex='0']").focus();
  });
  body.addEventListener("click", (event) => {
    const cell = event.target.closest("td[data-at]");
    if (!cell) return;
    moveStop(cell);
    show({ zoom: "digits" });
    openSum(cell);
  });
  build();
  return figure;
}

// Colours of the style sheet, as numbers for a canvas.
function shades() {
  const style = getComputedStyle(document.body);
  const parse = (name) => style.getPropertyValue(name).trim().match(/\w\w/g).map((part) => parseInt(part, 16));
  return { empty: parse("--empty"), full: parse("--attention") };
}

// Paint weights on a canvas, one pixel for each cell; the style sheet enlarges it.
function paintWeights(canvas, weights) {
  const { empty, full } = shades();
  [canvas.width, canvas.height] = [weights[0].length, weights.length];
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, canvas.height);
  weights.forEach((row, i) => row.forEach((weight, j) => {
    const at = 4 * (i * canvas.width + j);
    for (let part = 0; part < 3; part++) image.data[at + part] = empty[part] + (full[part] - empty[part]) * Math.min(1, weight);
    image.data[at + 3] = 255;
  }));
  context.putImageData(image, 0, 0);
}

// The whole of a large matrix on a canvas, and two sliders for the part that the table below shows.
function canvasOverview({ rows, columns, weights, state, move }) {
  const canvas = make("canvas", { class: "overview-canvas", role: "img", "aria-label": `All ${rows.length} × ${columns.length} weights; the table shows a part` });
  const frame = make("div", { class: "overview-frame" });
  const slider = (label, count, key) => make("label", { class: "choice" }, make("span", {}, label),
    make("input", { type: "range", min: 0, max: Math.max(0, count - WINDOW), value: 0, oninput: (event) => move({ [key]: Number(event.target.value) }) }));
  const sliders = [slider("First row", rows.length, "top"), slider("First column", columns.length, "left")];
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const start = (share, count) => Math.max(0, Math.min(count - WINDOW, Math.round(share * count - WINDOW / 2)));
    move({ top: start((event.clientY - box.top) / box.height, rows.length), left: start((event.clientX - box.left) / box.width, columns.length) });
  });
  function paint() {
    const place = { left: state.left / columns.length, top: state.top / rows.length, width: Math.min(1, WINDOW / columns.length), height: Math.min(1, WINDOW / rows.length) };
    for (const [name, share] of Object.entries(place)) frame.style[name] = `${100 * share}%`;
    [sliders[0].lastChild.value, sliders[1].lastChild.value] = [state.top, state.left];
    paintWeights(canvas, weights);
  }
  const element = make("div", { class: "overview" }, make("div", { class: "overview-map" }, canvas, frame), make("div", { class: "tools" }, sliders.filter((_, n) => [rows, columns][n].length > WINDOW)));
  return { element, paint };
}
