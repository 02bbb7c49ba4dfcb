// Tools of the page of an explanation: elements, numbers, names of tokens, and the sentence at the bottom of the window.
const SVG_SPACE = "http://www.w3.org/2000/svg";
const CALM = matchMedia("(prefers-reduced-motion: reduce)");

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

// Create an element; null attributes and children are skipped. Text is always a text node, so pieces need no escaping.
const make = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
const draw = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG_SPACE, name), attributes, children);

const TIE = 1e-12; // 0.015 is stored as 0.01499…, and is to be rounded up

// Write a number with a fixed count of decimals; a number that would round to zero gets an exponent instead.
function write(value, decimals = 2) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  const size = Math.round((Math.abs(value) + TIE) * 10 ** decimals) / 10 ** decimals;
  const text = (value < 0 ? -size : size).toFixed(decimals);
  if (value !== 0 && !/[1-9]/.test(text)) return decimals >= 3 ? minus(value.toExponential(1)) : minus(text.replace(/^-/, ""));
  return minus(text);
}
const minus = (text) => text.replace("-", "−");
const percent = (value) => (value === 0 ? "0 %" : value < 0.001 ? "< 0.1 %" : `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %`);

// A piece as people read it: "▁" starts a word, which is shown by the missing hyphen of the piece.
function pieceText(piece) {
  if (piece === "▁") return "␣";
  return piece.startsWith("▁") ? piece.slice(1) : piece;
}

// Strength of a weight as one of eleven levels, which have tested colours in sheet.css.
const level = (share) => `h${Math.max(0, Math.min(10, Math.round(10 * share)))}`;

// ---- the sentence at the bottom: what the pointer or the focus is on ----
const statusLine = document.getElementById("status");
function say(sentence) {
  statusLine.textContent = sentence ?? "";
  statusLine.hidden = !sentence;
}
for (const name of ["pointerover", "focusin"])
  document.addEventListener(name, (event) => say(event.target.closest?.("[data-say]")?.getAttribute("aria-label")));
document.addEventListener("focusout", () => say(""));

// A labelled choice. `options` are [value, text] pairs.
function choice(label, options, value, onChange) {
  const select = make("select", { "aria-label": label, onchange: () => onChange(select.value) });
  for (const [key, text] of options) select.append(make("option", { value: key }, text));
  select.value = value;
  return make("label", { class: "choice" }, make("span", {}, label), select);
}

// A group of buttons of which one is pressed.
function switcher(label, options, value, onChange) {
  const group = make("div", { class: "switch", role: "group", "aria-label": label });
  for (const [key, text] of options) {
    const button = make("button", { type: "button", "aria-pressed": String(key === value) }, text);
    button.addEventListener("click", () => {
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === button));
      onChange(key);
    });
    group.append(button);
  }
  return group;
}

// Move the focus with the arrow keys within a list of buttons; only one of them is a Tab stop.
function arrowKeys(list, selector = "button") {
  const stops = () => [...list.querySelectorAll(selector)].filter((stop) => !stop.hidden);
  const start = stops().find((stop) => stop.getAttribute("aria-pressed") === "true") ?? stops()[0];
  for (const stop of stops()) stop.tabIndex = stop === start ? 0 : -1;
  if (list.dataset.keys) return;
  list.dataset.keys = "on";
  list.addEventListener("keydown", (event) => {
    const all = stops();
    const at = all.indexOf(event.target.closest(selector));
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || next === undefined || !all[next]) return;
    event.preventDefault();
    for (const stop of all) stop.tabIndex = -1;
    all[next].tabIndex = 0;
    all[next].focus();
  });
}

// Arrow keys between the thumbnails of a sheet: left and right within a layer, up and down between layers.
function gridKeys(sheet) {
  const lines = [...sheet.querySelectorAll(".heads")].map((line) => [...line.children]);
  lines.flat().forEach((button, n) => (button.tabIndex = n ? -1 : 0));
  sheet.addEventListener("keydown", (event) => {
    if (!(event.key in ARROWS)) return;
    const row = lines.findIndex((line) => line.includes(event.target));
    const [down, right] = ARROWS[event.key];
    const target = lines[row + down]?.[lines[row]?.indexOf(event.target) + right];
    if (!target) return;
    event.preventDefault();
    for (const button of lines.flat()) button.tabIndex = -1;
    target.tabIndex = 0;
    target.focus();
  });
}

// Make a wide picture fit on A4 paper between its margins.
const PAPER_WIDTH = 690;
const fitPaper = (element, width) => element.style.setProperty("--print-zoom", Math.min(1, PAPER_WIDTH / width));

// Save text as a file; the file is made here and nothing is sent anywhere.
function download(name, type, text) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = make("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
