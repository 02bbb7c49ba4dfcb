// Shows the frame of a film that the slider chooses. Every number comes from the frames; nothing is calculated here.
(() => {
  const film = JSON.parse(document.getElementById("film").textContent);
  const byId = (name) => document.getElementById(name);
  const [time, play, now, map, layer, rows] = ["time", "play", "now", "map", "layer", "rows"].map(byId);
  const cards = [...document.querySelectorAll(".sentence-card")];
  const curves = [...document.querySelectorAll(".curve")];
  const number = new Intl.NumberFormat("en");
  const SECONDS = 0.7; // for each frame while the film plays
  const MOST_DIGITS = 16; // columns up to which there is space for digits
  const NAMES = { loss: "loss", "valid/loss": "validation loss", "valid/bleu": "BLEU" };
  let timer = null;

  // ---- float16 numbers in base64 ----
  function halves(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const view = new DataView(bytes.buffer);
    return Array.from({ length: bytes.length / 2 }, (_, index) => half(view.getUint16(2 * index, true)));
  }

  function half(bits) {
    const sign = bits >> 15 ? -1 : 1;
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
  }

  function element(name, text, className = "") {
    const node = document.createElement(name);
    if (text !== undefined) node.textContent = text;
    if (className) node.className = className;
    return node;
  }

  const frameAt = () => film.frames[Number(time.value)];
  const chosen = () => Number(document.querySelector("input[name=sentence]:checked").value);
  const level = (weight) => Math.round(10 * Math.min(Math.max(weight, 0), 1));
  const short = (value) => (value === null ? "not finite" : String(Number(value.toPrecision(4))));

  // ---- the parts of the page ----
  function showTime(frame) {
    const metrics = Object.entries(frame.metrics).map(([name, value]) => `${NAMES[name]} ${short(value)}`);
    const last = film.frames.at(-1).step;
    now.textContent = [`update ${number.format(frame.step)} of ${number.format(last)}`, ...metrics].join(" · ");
    time.setAttribute("aria-valuetext", now.textContent);
    for (const curve of curves) {
      const value = frame.metrics[curve.dataset.metric];
      curve.querySelector("b").textContent = value === undefined ? "" : short(value);
      const place = Number(curve.dataset.left) + frame.step * Number(curve.dataset.scale);
      curve.querySelector(".mark").setAttribute("transform", `translate(${place} 0)`);
    }
  }

  // Show the translations, with the words underlined that the frame before did not have.
  function showTranslations(frame) {
    const before = film.frames[Number(time.value) - 1];
    cards.forEach((card, index) => {
      const text = frame.sentences[index].text;
      const earlier = new Set(before ? before.sentences[index].text.split(/\s+/) : text.split(/\s+/));
      const line = card.querySelector(".translation");
      const parts = text.split(/(\s+)/).map((word) => (!word.trim() || earlier.has(word) ? word : element("mark", word)));
      line.replaceChildren(...parts);
      line.classList.toggle("right", film.references[index] !== null && text.trim() === film.references[index].trim());
    });
  }

  function showTokens(sentence) {
    const probabilities = halves(sentence.p);
    byId("tokens").replaceChildren(
      ...sentence.tokens.map((token, index) => {
        const item = element("li");
        item.style.setProperty("--heat", 100 * probabilities[index]);
        item.append(element("span", token), element("b", probabilities[index].toFixed(2)));
        item.firstChild.dir = "auto";
        return item;
      }),
    );
  }

  // Row t of the weights predicts token t, and its input is token t - 1.
  function weightRows(sentence, source) {
    const size = sentence.tokens.length * source.length;
    const start = film.layers.indexOf(Number(layer.value)) * size;
    const weights = halves(sentence.a).slice(start, start + size);
    const row = (index) => weights.slice(index * source.length, (index + 1) * source.length);
    const isShifted = rows.value === "1";
    const tokens = isShifted ? sentence.tokens.slice(0, -1) : sentence.tokens;
    return tokens.map((token, index) => ({ token, weights: row(index + (isShifted ? 1 : 0)) }));
  }

  function showMap(sentence, source) {
    const at = map.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    const head = element("tr");
    head.append(element("td"), ...source.map((token) => heading("col", token)));
    const lines = weightRows(sentence, source).map(({ token, weights }, i) => {
      const line = element("tr");
      line.append(heading("row", token), ...weights.map((weight, j) => cellOf(weight, i, j, token, source[j])));
      return line;
    });
    map.tHead.replaceChildren(head);
    map.tBodies[0].replaceChildren(...lines);
    map.classList.toggle("dense", source.length > MOST_DIGITS);
    byId("cell").textContent = lines.length ? "" : "This translation has no tokens.";
    const cells = cellsOf(map);
    const focused = at === null ? null : cells.find((cell) => cell.dataset.at === at);
    if (cells.length) makeTabStop(focused ?? cells[0]);
    if (at !== null && cells.length) (focused ?? cells[0]).focus();
  }

  function heading(scope, token) {
    const cell = element("th");
    cell.scope = scope;
    cell.dir = "auto";
    cell.append(element("span", token));
    return cell;
  }

  function cellOf(weight, i, j, token, other) {
    const cell = element("td", weight.toFixed(2), `h${level(weight)}`);
    cell.dataset.at = `${i},${j}`;
    cell.tabIndex = -1;
    cell.setAttribute("aria-label", `${token} attends to ${other}: ${weight.toFixed(3)}`);
    return cell;
  }

  function show() {
    const frame = frameAt();
    const index = chosen();
    showTime(frame);
    showTranslations(frame);
    showTokens(frame.sentences[index]);
    showMap(frame.sentences[index], film.sources[index]);
  }

  // ---- playing and moving ----
  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  function move(place) {
    time.value = Math.min(Math.max(place, 0), film.frames.length - 1);
    show();
  }

  function start() {
    if (Number(time.value) === film.frames.length - 1) move(0);
    play.textContent = "Pause";
    timer = setInterval(() => {
      move(Number(time.value) + 1);
      if (Number(time.value) === film.frames.length - 1) stop();
    }, 1000 * SECONDS);
  }

  function readCell(event) {
    const cell = event.target.closest?.("td[data-at]");
    if (cell) byId("cell").textContent = cell.getAttribute("aria-label");
  }

  play.addEventListener("click", () => (timer === null ? start() : stop()));
  byId("back").addEventListener("click", () => move(Number(time.value) - 1));
  byId("next").addEventListener("click", () => move(Number(time.value) + 1));
  time.addEventListener("input", () => {
    stop();
    show();
  });
  for (const select of [layer, rows]) select.addEventListener("change", show);
  for (const choice of document.querySelectorAll("input[name=sentence]")) choice.addEventListener("change", show);
  for (const button of document.querySelectorAll("button[data-frame]")) {
    button.addEventListener("click", () => {
      stop();
      move(Number(button.dataset.frame));
    });
  }
  map.addEventListener("pointerover", readCell);
  map.addEventListener("focusin", readCell);
  map.addEventListener("keydown", (event) => {
    const cell = event.target.closest("td[data-at]");
    const next = cell && cellByKey(cell, event);
    if (!next) return;
    event.preventDefault();
    makeTabStop(next);
    next.focus();
  });
  document.querySelector(".player").addEventListener("submit", (event) => event.preventDefault());
  document.querySelector(".player").hidden = byId("attention").hidden = false;
  show();
})();
