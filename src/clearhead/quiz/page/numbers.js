/* Read a typed number: its value, and the unit of its last digit (0 for an exact expression such as 2/3 or √3). */
const DASHES = /[−–—‐‑‒―﹣－]/g;
const SUPERSCRIPTS = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹";
const PLAIN = /^[-+]?(?:(\d+)(?:\.(\d*))?|\.(\d+))$/;
const SCIENTIFIC = /^([-+]?(?:\d+\.?\d*|\.\d+))\s*(?:[eE]|(?:\*|[xX])\s*10\s*\^\s*)[{(]?\s*([-+]?\d{1,3})\s*[})]?$/;
const BLANK_CELL = /^(?:\?+|_+|…+|\.{2,}|□+|-+)?$/;
const FRACTIONS = { "½": "(1/2)", "⅓": "(1/3)", "⅔": "(2/3)", "¼": "(1/4)", "¾": "(3/4)" };

function readNumber(text, hasComma) {
  const refused = (problem) => ({ text, value: NaN, unit: 0, isWhole: false, figures: null, problem });
  if (text.length > 200) return refused("it is longer than 200 characters");
  let tidy = text.replace(/[\u200b\u200e\u200f\u2060\ufeff]/g, "").trim().replace(DASHES, "-");
  if (BLANK_CELL.test(tidy)) return null;
  tidy = tidy.replace(/[×✕✖∗·⋅∙•]/g, "*").replace(/[÷⁄∕]/g, "/").replace(/\\(?:times|cdot)\s*/g, "*").replace(/^[≈=~≃≅∼]\s*/, "")
    .replace(/[½⅓⅔¼¾]/g, (sign) => FRACTIONS[sign])
    .replace(/[⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+/g, (power) => `^(${[...power].map((sign) => "-0123456789"[SUPERSCRIPTS.indexOf(sign)]).join("")})`)
    .replace(/^([-+])\s+/, "$1");
  if (tidy.includes(",")) {
    if (!hasComma) return refused("it has a comma: write a decimal point");
    if (tidy.includes(".")) return refused("it has a point and a comma: write only the comma, as in 1234,5");
    tidy = tidy.replace(/,/g, ".");
  }
  const infinite = /^([-+]?)(?:∞|inf|infinity)$/i.exec(tidy);
  if (infinite) return { text, value: infinite[1] === "-" ? -Infinity : Infinity, unit: 0, isWhole: false, figures: null };
  const share = tidy.endsWith("%") ? 100 : 1;
  if (share === 100) tidy = tidy.slice(0, -1).trim();
  const plain = readPlain(text, tidy);
  if (plain) return share === 1 ? plain : { ...plain, value: plain.value / 100, unit: plain.unit / 100, isWhole: false };
  const power = share === 1 && SCIENTIFIC.exec(tidy);
  if (power) {
    const mantissa = readPlain(text, power[1]);
    const value = Number(`${power[1]}e${power[2]}`);
    if (!mantissa || !Number.isFinite(value)) return refused("it is too large");
    return { ...mantissa, value, unit: Number(`${mantissa.unit}e${power[2]}`) || 5e-324, isWhole: false };
  }
  const value = share === 1 ? readExpression(tidy) : NaN;
  return Number.isFinite(value) ? { text, value, unit: 0, isWhole: false, figures: null } : refused("it is not a number");
}

function readPlain(text, tidy) {
  const match = PLAIN.exec(tidy);
  if (!match) return null;
  const decimals = match[2] || match[3] || "";
  const figures = ((match[1] || "") + decimals).replace(/^0+/, "").length || 1;
  return { text, value: Number(tidy), unit: Number(`1e-${decimals.length}`), isWhole: !decimals, figures };
}

/* Sums, products, quotients, powers, roots, e, π, exp and ln: read by descent, nothing is executed. */
function readExpression(text) {
  const tokens = text.replace(/\\?sqrt/g, "√").match(/\d+\.?\d*|\.\d+|exp|ln|pi|[eπ√+\-*/^()]|\S/g) || [];
  let place = 0;
  const take = (sign) => (tokens[place] === sign ? ((place += 1), true) : false);
  const sum = () => {
    let value = product();
    while (tokens[place] === "+" || tokens[place] === "-") value = take("+") ? value + product() : (take("-"), value - product());
    return value;
  };
  const product = () => {
    let value = signed();
    while (tokens[place] === "*" || tokens[place] === "/") value = take("*") ? value * signed() : (take("/"), value / signed());
    return value;
  };
  const signed = () => (take("-") ? -signed() : take("+") ? signed() : power());
  const power = () => {
    const base = atom();
    return take("^") ? base ** signed() : base;
  };
  const atom = () => {
    if (take("(")) {
      const value = sum();
      return take(")") ? value : NaN;
    }
    if (take("√")) return Math.sqrt(atom());
    if (take("exp")) return Math.exp(atom());
    if (take("ln")) return Math.log(atom());
    if (take("e")) return Math.E;
    if (take("π") || take("pi")) return Math.PI;
    const number = tokens[place];
    place += 1;
    return number !== undefined && /^[\d.]+$/.test(number) ? Number(number) : NaN;
  };
  const value = sum();
  return place === tokens.length ? value : NaN;
}

/* The units of the cells of a line. An integer does not show its unit: "0" beside 0.99 means 0.00, and "12" beside 3.4
   and 0.56 is 12 to two figures. `truths` tell which cells are exact, because those show no precision. */
function lineStyle(cells, truths, sheetDecimals) {
  const shown = cells.map((cell, place) => [cell, truths[place]]).filter(([cell]) => cell && cell.unit > 0 && !cell.isWhole);
  const telling = shown.filter(([cell, truth]) => !(Math.abs(cell.value - truth) <= 1e-9 * Math.max(1, Math.abs(truth))));
  const counted = (telling.length ? telling : shown).map(([cell]) => cell).filter((cell) => cell.figures !== null);
  const decimals = tally(counted.map((cell) => Math.round(-Math.log10(cell.unit))));
  const figures = tally(counted.filter((cell) => cell.value !== 0).map((cell) => cell.figures));
  const style = { decimals: null, figures: null, isTelling: telling.length > 0 };
  if (counted.length) {
    if (figures.apart - decimals.apart < 2) style.figures = figures.commonest;
    if (decimals.apart - figures.apart < 2 || style.figures === null) style.decimals = decimals.commonest;
    return style;
  }
  const wholes = cells.filter((cell) => cell && cell.isWhole);
  if (wholes.every((cell) => Math.abs(cell.value) <= 1)) return { ...style, decimals: Math.min(2, Math.max(1, sheetDecimals)), figures: 1 };
  const inexact = cells.filter((cell, place) => cell && cell.isWhole && !(Math.abs(cell.value - truths[place]) <= 1e-9 * Math.max(1, Math.abs(truths[place]))));
  return { ...style, decimals: 0, figures: tally(inexact.map((cell) => String(Math.abs(cell.value)).replace(/0+$/, "").length)).commonest };
}

/* How often each count occurs: the commonest (of several, the coarsest), and how many differ from it. */
function tally(counts) {
  const times = new Map();
  for (const count of counts) times.set(count, (times.get(count) || 0) + 1);
  let commonest = null;
  for (const [count, number] of times) {
    if (commonest === null || number > times.get(commonest) || (number === times.get(commonest) && count < commonest)) commonest = count;
  }
  return { commonest, apart: commonest === null ? 0 : counts.length - times.get(commonest) };
}

/* The unit of a number of this size in a style; the coarser one if decimals and figures are both possible. */
function unitOf(style, size) {
  const byDecimals = style.decimals === null ? 0 : 10 ** -style.decimals;
  if (style.figures === null) return byDecimals;
  const magnitude = Math.abs(size);
  const usable = magnitude > 0 && Number.isFinite(magnitude);
  return Math.max(byDecimals, usable ? 10 ** (Math.floor(Math.log10(magnitude)) + 1 - style.figures) : 10 ** -(style.decimals === null ? 2 : style.decimals));
}

/* The place value of the last nonzero digit of an integer: 1 for 45, 100 for 1200. */
function ownUnit(value) {
  let unit = 1;
  while (value !== 0 && unit < 1e15 && value % (unit * 10) === 0) unit *= 10;
  return unit;
}
