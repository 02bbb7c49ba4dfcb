// The texts of the page's language, which are part of the page.
const texts = JSON.parse(document.getElementById("texts").textContent);
export const language = document.documentElement.lang;

// The text of a key; {name} in it is replaced by the value of that name.
export function text(key, values = {}) {
  if (!(key in texts)) throw new Error(`no text has the key ${key}`);
  return texts[key].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));
}

// All texts whose keys start with a word, for a page in a frame.
export const textsOf = (start) => Object.fromEntries(Object.entries(texts).filter(([key]) => key.startsWith(start)));

const languageNames = new Intl.DisplayNames([language, "en"], { type: "language", fallback: "none" });
const NAMES = { en: { bn: "Bengali" } }; // as the server and the models name it, where browsers have another name
// The name of a language as its readers here write it; else the name that the server gives.
export function languageName(code, name = code) {
  try {
    const known = NAMES[language]?.[code] ?? languageNames.of(code);
    return known ? known[0].toLocaleUpperCase(language) + known.slice(1) : name;
  } catch {
    return name; // not a code of any standard
  }
}

const number = new Intl.NumberFormat(language, { maximumFractionDigits: 2 });
const share = new Intl.NumberFormat(language, { style: "percent", maximumFractionDigits: 1 });
const score = new Intl.NumberFormat(language, { minimumFractionDigits: 1, maximumFractionDigits: 1 });
export const writeScore = (value) => score.format(value);
export const writeNumber = (value) => number.format(value);
const LEAST = 0.001; // a smaller share would be rounded to zero
export const writePercent = (value) => (value > 0 && value < LEAST ? `< ${share.format(LEAST)}` : share.format(value));
