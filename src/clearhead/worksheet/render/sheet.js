// Explores the numbers of a worksheet. It calculates none of them: it rounds the numbers in the cells and shows the sum of each.
(() => {
  const page = document.body;
  const status = document.getElementById("status");
  const figures = [...document.querySelectorAll("figure.matrix")];
  const cellAt = new Map(); // "3:0,2" is row 0, column 2 of the matrix with the id m3
  const sentences = new Map(); // what the label of a cell says: {symbol, place, sum}
  const shown = new Map(); // the digits in the page's own precision

  // ---- rounding: the same rule as in Python, with the digits written from an integer ----
  const NOISE = 64 * Number.EPSILON; // a number this close to a half counts as that half: 2.675 is stored as 2.67499…
  const SUPERSCRIPTS = { "-": "⁻", 0: "⁰", 1: "¹", 2: "²", 3: "³", 4: "⁴", 5: "⁵", 6: "⁶", 7: "⁷", 8: "⁸", 9: "⁹" };

  function roundWhole(size) {
    const below = Math.floor(size);
    const beyond = size - below;
    const isTie = Math.abs(beyond - 0.5) <= Math.min(Math.max(NOISE * size, NOISE), 1e-3);
    if (isTie) return page.dataset.ties === "half-even" ? below + (below % 2) : below + 1;
    return beyond > 0.5 ? below + 1 : below;
  }

  function fixed(size, decimals) {
    const scaled = size * 10 ** decimals;
    if (scaled >= 2 ** 52) {
      const whole = size >= 2 ** 53 ? BigInt(size) + (decimals ? "." + "0".repeat(decimals) : "") : null;
      return whole ?? size.toFixed(decimals); // there are no more decimals to round
    }
    const digits = String(roundWhole(scaled)).padStart(decimals + 1, "0");
    return decimals ? digits.slice(0, -decimals) + "." + digits.slice(-decimals) : digits;
  }

  function scientific(size, figuresKept) {
    const [mantissa, power] = size.toExponential().split("e");
    const text = fixed(Number(mantissa), figuresKept - 1);
    const isTen = text.startsWith("10");
    const exponent = String(Number(power) + (isTen ? 1 : 0)).replace(/./g, (sign) => SUPERSCRIPTS[sign]);
    return `${isTen ? fixed(1, figuresKept - 1) : text}×10${exponent}`;
  }

  function write(value, decimals) {
    const size = Math.abs(value);
    const sign = value < 0 ? "-" : "";
    const text = fixed(size, decimals);
    if (size !== 0 && !/[1-9]/.test(text)) return sign + scientific(size, Math.max(2, Math.min(3, decimals)));
    if (size >= 1e9 && page.dataset.lines === "exact") return sign + scientific(size, Math.max(3, decimals));
    return sign + text;
  }

  function setDecimals(choice) {
    for (const [cell, text] of shown) {
      const value = Number(cell.dataset.value);
      cell.textContent = choice === "" || !Number.isFinite(value) ? text : write(value, Number(choice));
    }
  }

  // ---- subscripts and exponents: the same rule as scripts.py, which formats the sums that are part of the page ----
  const SCRIPT = /\^(?:([\p{L}\p{N}]+(?:\.\d+)?|____)|(\())|(?<=[\p{L}\p{N}])_((?:\d+|\p{L}+)[₀-₉]*)/u;

  function element(name, children, className) {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.append(...children);
    return made;
  }

  function closingBracket(text) {
    let depth = 0;
    for (let at = 0; at < text.length; at++) {
      depth += text[at] === "(" ? 1 : text[at] === ")" ? -1 : 0;
      if (depth === 0) return at;
    }
    return -1;
  }

  function maths(text) {
    const match = SCRIPT.exec(text);
    if (!match) return [text];
    const before = text.slice(0, match.index);
    const after = text.slice(match.index + match[0].length);
    const sign = (letters) => element("i", [letters], "x");
    if (match[3]) return [before, sign("_"), element("sub", [match[3]]), ...maths(after)];
    if (match[1]) return [before, sign("^"), element("sup", [match[1]]), ...maths(after)];
    const end = closingBracket("(" + after) - 1;
    if (end < 0) return [before + match[0], ...maths(after)];
    return [before, sign("^("), element("sup", maths(after.slice(0, end))), sign(")"), ...maths(after.slice(end + 1))];
  }

  function show(target, cell) {
    const { symbol, place, sum } = sentences.get(cell);
    target.replaceChildren(...maths(symbol), place, ...maths(sum));
  }

  // ---- the label of a cell ----
  function learn(figure) {
    const table = figure.querySelector("table");
    const lines = new Map();
    for (const line of figure.parentElement.querySelectorAll(":scope > details li, :scope > ol li"))
      lines.set(line.dataset.at, line.textContent.slice(line.firstChild.textContent.length));
    const number = figure.id.slice(1);
    const cells = cellsOf(table);
    const sizes = cells.map((cell) => Math.abs(Number(cell.dataset.value))).filter(Number.isFinite);
    const largest = Math.max(...sizes, 0) || 1;
    const columns = table.tHead.rows[0].cells;
    for (const cell of cells) {
      cellAt.set(`${number}:${cell.dataset.at}`, cell);
      const symbol = figure.dataset.symbol;
      const place = `[${cell.parentElement.cells[0].textContent}, ${columns[cell.cellIndex].textContent}]`;
      const how = figure.classList.contains("given") ? "given" : "copied unchanged";
      const plain = cell.classList.contains("blank") ? " is to be filled in" : ` ${cell.textContent}, ${how}`;
      const sum = lines.get(cell.dataset.at) ?? plain;
      sentences.set(cell, { symbol, place, sum });
      cell.setAttribute("aria-label", symbol + place + sum);
      cell.tabIndex = -1;
      if (!cell.dataset.value) continue;
      shown.set(cell, cell.textContent);
      const value = Number(cell.dataset.value);
      if (Number.isFinite(value)) cell.style.setProperty("--heat", Math.abs(value) / largest);
      cell.classList.toggle("minus", value < 0);
    }
    if (cells.length) cells[0].tabIndex = 0;
    table.setAttribute("role", "grid");
    figure.dataset.zoom = "digits";
  }

  function parentsOf(cell) {
    const parents = [];
    for (const block of (cell.dataset.from ?? "").split(" ").filter(Boolean)) {
      const [matrix, rows, columns] = block.split(":");
      const [top, bottom] = rows.split("-").map(Number);
      const [left, right] = columns.split("-").map(Number);
      for (let i = top; i <= bottom; i++)
        for (let j = left; j <= right; j++) {
          const parent = cellAt.get(`${matrix}:${i},${j}`);
          if (parent) parents.push(parent); // a large matrix does not show all its cells
        }
    }
    return parents;
  }

  // ---- the selected cell: the one under the pointer, else the one with the focus, else the pinned one ----
  let pointed = null;
  let focused = null;
  let pinned = null;

  function look() {
    for (const cell of document.querySelectorAll("td.parent, td.current")) cell.classList.remove("parent", "current");
    const cell = pointed ?? focused ?? pinned;
    status.hidden = !cell || cell === pinned; // a pinned sum is shown next to its matrix
    if (!cell) return;
    cell.classList.add("current");
    for (const parent of parentsOf(cell)) parent.classList.add("parent");
    show(status, cell);
  }

  function unpin() {
    if (!pinned) return;
    const figure = pinned.closest("figure");
    figure.querySelector(".sum").textContent = "";
    figure.dataset.zoom = "digits";
    pinned = null;
  }

  function goIn(cell) {
    const figure = cell.closest("figure");
    if (figure.dataset.zoom === "heat") {
      figure.dataset.zoom = "digits";
      return;
    }
    unpin();
    pinned = cell;
    figure.dataset.zoom = "sum";
    show(figure.querySelector(".sum"), cell);
    look();
  }

  function goOut(cell) {
    const figure = cell.closest("figure");
    if (pinned) unpin();
    else figure.dataset.zoom = "heat";
    look();
  }

  // ---- keys ----
  document.addEventListener("keydown", (event) => {
    const cell = event.target.closest?.("td[data-at]");
    if (!cell || event.altKey || event.metaKey) return;
    const target = cellByKey(cell, event);
    if (target) target.focus();
    else if (event.key === "Enter") goIn(cell);
    else if (event.key === "Escape") goOut(cell);
    else return;
    event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    focused = event.target.closest("td[data-at]");
    if (focused) makeTabStop(focused);
    look();
    focused?.scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  document.addEventListener("focusout", () => {
    focused = null;
    look();
  });
  // A cell of the attention map means the cell of the step's matrix; none where that matrix does not show it.
  const cellUnder = (target) => {
    const weight = target.closest(".map[data-of] td:not(.gap)");
    if (!weight) return target.closest("td[data-at]");
    const number = weight.closest("table").dataset.of.slice(1);
    return cellAt.get(`${number}:${weight.parentElement.sectionRowIndex},${weight.cellIndex - 1}`) ?? null;
  };
  document.addEventListener("pointerover", (event) => {
    const cell = cellUnder(event.target);
    if (cell === pointed) return;
    pointed = cell;
    look();
  });
  document.addEventListener("dblclick", (event) => {
    const cell = event.target.closest("td[data-at]");
    if (cell) goIn(cell);
  });

  // ---- the controls ----
  figures.forEach(learn);
  const controls = document.querySelector(".controls");
  controls.hidden = false;
  controls.addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("decimals").addEventListener("change", (event) => setDecimals(event.target.value));
  document.getElementById("zoom").addEventListener("change", (event) => {
    unpin();
    for (const figure of figures) figure.dataset.zoom = event.target.value;
    look();
  });
})();
