// Elements of the pages. Texts of the server are only ever text nodes: markup in them is shown as it is written.
export const find = (selector, scope = document) => scope.querySelector(selector);
export const findAll = (selector, scope = document) => [...scope.querySelectorAll(selector)];

// Create an element; null attributes and children are skipped, and an attribute that starts with "on" is a listener.
export function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// Fill a select with [value, text] pairs, and keep its value if it is still there.
export function fillSelect(select, options, value = select.value) {
  select.replaceChildren(...options.map(([key, name]) => make("option", { value: key }, name)));
  select.value = options.some(([key]) => key === value) ? value : (options[0]?.[0] ?? "");
}

// Call a function when nothing has been called for a while; `now` calls it at once.
export function afterPause(milliseconds, action) {
  let timer = 0;
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(action, milliseconds);
  };
  later.now = () => {
    clearTimeout(timer);
    action();
  };
  return later;
}

// One request at a time: a new one aborts the one before it. The function gets the signal and returns a promise.
export function latestOnly() {
  let controller = new AbortController();
  const run = async (action) => {
    controller.abort();
    const own = (controller = new AbortController());
    try {
      return await action(own.signal);
    } catch (error) {
      if (own.signal.aborted) return undefined;
      throw error;
    }
  };
  run.stop = () => controller.abort();
  return run;
}

// Arrow keys, Home and End move between the elements of a list, of which one is a Tab stop.
export function arrowKeys(list, selector) {
  const stops = () => findAll(selector, list);
  list.addEventListener("keydown", (event) => {
    const all = stops();
    const at = all.indexOf(event.target.closest(selector));
    const next = { ArrowRight: at + 1, ArrowDown: at + 1, ArrowLeft: at - 1, ArrowUp: at - 1, Home: 0, End: all.length - 1 }[event.key];
    if (at < 0 || next === undefined || !all[next]) return;
    event.preventDefault();
    makeTabStop(all, all[next]);
    all[next].focus();
  });
}
export function makeTabStop(all, stop) {
  for (const one of all) one.tabIndex = one === stop ? 0 : -1;
}

// The part of the address after #, which browsers do not send to the server: what a page shows.
export const readState = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const LONGEST_STATE = 4000;
let known = location.hash; // the last state that this page has written or has been told about
// Write the state into the address. A new step can be undone with Back; otherwise the address replaces the one before it.
export function writeState(state, { isNewStep = false } = {}) {
  const parts = new URLSearchParams(Object.entries(state).filter(([, value]) => value));
  const hash = String(parts);
  const address = hash.length > LONGEST_STATE || !hash ? location.pathname : `#${hash}`;
  if (isNewStep && location.hash.includes("=") && address !== location.hash) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  known = location.hash;
}
// Call a function with the state when the address changes without this page: by Back, or by hand.
export function onAddress(action) {
  addEventListener("hashchange", () => {
    if (!location.hash.includes("=") || location.hash === known) return;
    known = location.hash;
    action(readState());
  });
}
export const addressOf = (page, state) => `${page}#${new URLSearchParams(Object.entries(state).filter(([, value]) => value))}`;

// A button that reports in its own text what it has done, for two seconds.
export function flash(button, done) {
  const label = button.querySelector(".label") ?? button;
  const before = (label.dataset.before ??= label.textContent);
  label.textContent = done;
  clearTimeout(button.timer);
  button.timer = setTimeout(() => (label.textContent = before), 2000);
}
