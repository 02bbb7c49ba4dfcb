// The sentence above, its translation below, and between them ribbons as wide as the attention weights.
// Where a line does not fit, the two lines become two columns; of a long sentence they show a window of tokens.
const MOST_TOKENS = 40; // in a line or column at a time
const FAINTEST = 0.08; // weights below this get a ribbon only from the selected word

// Return the picture. `tokens.source` and `tokens.target` are lists of {text, note, label}; `weights()` is (target, source).
function lanes({ tokens, weights, onSelect }) {
  let selected = null; // {side: "source" | "target", at}
  let pointed = null;
  const ribbons = draw("svg", { class: "ribbons", "aria-hidden": "true" });
  const lists = { source: lane("source"), target: lane("target") };
  const starts = { source: 0, target: 0 };
  const picture = make("div", { class: "lanes attention" }, ribbons, lists.source, lists.target);
  const sliders = Object.fromEntries(["source", "target"].filter((side) => tokens[side].length > MOST_TOKENS).map((side) => [side, windowSlider(side)]));

  function lane(side) {
    const list = make("div", { class: `lane ${side}`, role: "group", "aria-label": side === "source" ? "Source words" : "Translation" });
    tokens[side].forEach((token, at) => {
      const button = make("button", { type: "button", class: "word", "data-say": "", "aria-label": token.label, "aria-pressed": "false" });
      button.append(make("span", { class: "text", dir: "auto" }, token.text), make("span", { class: "note" }, token.note ?? ""));
      button.addEventListener("click", () => select({ side, at }));
      button.addEventListener("pointerenter", (event) => event.pointerType === "mouse" && point({ side, at }));
      button.addEventListener("pointerleave", () => point(null));
      list.append(button);
    });
    return list;
  }

  function windowSlider(side) {
    const input = make("input", { type: "range", min: 0, max: tokens[side].length - MOST_TOKENS, value: 0, oninput: () => moveWindow(side, Number(input.value)) });
    return make("label", { class: "choice" }, make("span", {}, side === "source" ? "First source word" : "First target word"), input);
  }

  function moveWindow(side, start) {
    starts[side] = Math.max(0, Math.min(tokens[side].length - MOST_TOKENS, start));
    [...lists[side].children].forEach((button, at) => (button.hidden = at < starts[side] || at >= starts[side] + MOST_TOKENS));
    if (sliders[side]) sliders[side].lastChild.value = starts[side];
    paint();
  }

  // Move the window of the other line to the word with the largest weight.
  function follow(place) {
    const other = place?.side === "target" ? "source" : "target";
    if (!place || !sliders[other]) return;
    const numbers = place.side === "target" ? weights()[place.at] : weights().map((row) => row[place.at]);
    if (!numbers) return;
    const { at } = strongest(numbers);
    if (lists[other].children[at].hidden) moveWindow(other, at - MOST_TOKENS / 2);
  }

  function point(place) {
    pointed = place;
    paint();
  }

  function select(place) {
    selected = place;
    for (const side of ["source", "target"])
      [...lists[side].children].forEach((button, at) => button.setAttribute("aria-pressed", String(place?.side === side && place.at === at)));
    for (const side of ["source", "target"]) arrowKeys(lists[side]);
    follow(place);
    paint();
    onSelect(place);
  }

  // The two words of a ribbon and its weight: the strong ones of all words, and every one of the selected word.
  function links() {
    const rows = weights();
    const place = pointed ?? selected;
    const all = [];
    rows.forEach((row, t) => row.forEach((weight, s) => {
      const isOfPlace = place && (place.side === "target" ? place.at === t : place.at === s);
      if (weight >= (isOfPlace ? 0.005 : FAINTEST)) all.push({ t, s, weight, isOfPlace });
    }));
    all.sort((a, b) => Boolean(a.isOfPlace) - Boolean(b.isOfPlace));
    const isSeen = (word) => word && !word.hidden;
    return all.filter(({ t, s }) => isSeen(lists.target.children[t]) && isSeen(lists.source.children[s]));
  }

  function paint() {
    const place = pointed ?? selected;
    noteWeights(place); // first, because a note can make its word wider
    const frame = picture.getBoundingClientRect();
    if (!frame.width) return;
    ribbons.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    const isColumns = picture.classList.contains("columns");
    const paths = links().map(({ t, s, weight, isOfPlace }) => {
      const [from, to] = [lists.source.children[s], lists.target.children[t]].map((word) => word.getBoundingClientRect());
      return draw("path", { d: ribbonPath(from, to, frame, isColumns), class: isOfPlace ? "of-place" : null, "stroke-width": 1 + 11 * weight, "stroke-opacity": isOfPlace ? 0.3 + 0.6 * weight : (place ? 0.16 : 0.35) * weight });
    });
    ribbons.replaceChildren(...paths);
  }

  // Beside each word of the other line: how much of the attention it has.
  function noteWeights(place) {
    const rows = weights();
    for (const side of ["source", "target"])
      [...lists[side].children].forEach((button, at) => {
        const weight = !place || place.side === side ? null : side === "source" ? rows[place.at]?.[at] : rows[at]?.[place.at];
        button.classList.toggle("lit", weight !== null && weight >= 0.1);
        button.lastChild.textContent = weight === null || weight === undefined ? (tokens[side][at].note ?? "") : write(weight, 2);
      });
  }

  function arrange() {
    picture.classList.remove("columns");
    const isWide = (list) => list.scrollWidth > list.clientWidth + 1;
    if (isWide(lists.source) || isWide(lists.target)) picture.classList.add("columns");
    paint();
  }

  // Paper has another width than the screen: the words are arranged for it, so that the ribbons meet them.
  const forPaper = (isPaper) => {
    picture.style.width = isPaper ? `${PAPER_WIDTH}px` : "";
    arrange();
  };
  addEventListener("beforeprint", () => forPaper(true));
  addEventListener("afterprint", () => forPaper(false));

  let width = 0;
  new ResizeObserver(() => {
    if (picture.clientWidth === width) return;
    width = picture.clientWidth;
    arrange();
  }).observe(picture);
  for (const side of ["source", "target"]) arrowKeys(lists[side]);
  for (const side of Object.keys(sliders)) moveWindow(side, 0);
  return { element: picture, sliders: Object.values(sliders), select, paint, selected: () => selected };
}

// A smooth curve from the lower edge of a source word to the upper edge of a target word; in columns from left to right.
function ribbonPath(from, to, frame, isColumns) {
  if (isColumns) {
    const [x1, y1] = [from.right - frame.left, (from.top + from.bottom) / 2 - frame.top];
    const [x2, y2] = [to.left - frame.left, (to.top + to.bottom) / 2 - frame.top];
    const middle = (x1 + x2) / 2;
    return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
  }
  const [x1, y1] = [(from.left + from.right) / 2 - frame.left, from.bottom - frame.top];
  const [x2, y2] = [(to.left + to.right) / 2 - frame.left, to.top - frame.top];
  const middle = (y1 + y2) / 2;
  return `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
}
