/* Three kinds of numbers that the same steps compute with: plain numbers, ranges [low, high], and marks that say
   whether a cell depends on a wrong one. Ranges are sound: they contain every result of numbers inside the inputs. */
const SHORT_LOGS = [Math.log(2.71), Math.log(2.72)]; // of e as people shorten it: rounded or cut at two or more decimals
const STATED_LOGS = [Math.log(2.7182), Math.log(2.7183)]; // as a sheet states it: with four decimals or more
const SHARE = 0.1; // the largest relative error of a number that was cut at two figures

const erf = (x) => { // by its series, or by a continued fraction far from 0
  const size = Math.abs(x);
  if (size > 6) return Math.sign(x);
  if (size < 2.5) {
    let term = size, total = size;
    for (let n = 1; n < 200 && Math.abs(term) > 1e-18; n += 1) {
      term *= (-size * size) / n;
      total += term / (2 * n + 1);
    }
    return (Math.sign(x) * 2 * total) / Math.sqrt(Math.PI);
  }
  let fraction = 0;
  for (let n = 80; n > 0; n -= 1) fraction = n / 2 / (size + fraction);
  return Math.sign(x) * (1 - Math.exp(-size * size) / Math.sqrt(Math.PI) / (size + fraction));
};
const sigmoid = (x) => (x >= 0 ? 1 / (1 + Math.exp(-x)) : Math.exp(x) / (1 + Math.exp(x)));
const ACTIVATIONS = {
  tanh: Math.tanh, relu: (x) => Math.max(x, 0), sigmoid, silu: (x) => x * sigmoid(x),
  gelu: (x) => x * 0.5 * (1 + erf(x / Math.SQRT2)),
};
const DIPS = { gelu: [-0.7517915, -0.1699713], silu: [-1.2784645, -0.2784646] }; // where each is least, and a number below that

const PLAIN_NUMBERS = {
  known: (x) => x,
  add: (a, b) => a + b, sub: (a, b) => a - b, mul: (a, b) => a * b, div: (a, b) => a / b,
  square: (a) => a * a, sqrt: (a) => Math.sqrt(a), ln: (a) => Math.log(a), sin: (a) => Math.sin(a), cos: (a) => Math.cos(a),
  exp: (a, base) => (a === -Infinity ? 0 : base === undefined ? Math.exp(a) : base ** a),
  root: (d) => Math.sqrt(d),
  inner: (a) => a,
  activate: (a, name) => ACTIVATIONS[name](a),
  shift: (row) => {
    const top = Math.max(...row);
    return row.map((a) => a - (Number.isFinite(top) ? top : 0));
  },
  softmax: (row, base) => {
    const exponents = row.map((a) => (a === -Infinity || base === undefined ? a : a * Math.log(base)));
    const top = Math.max(...exponents);
    const powers = exponents.map((a) => (a === -Infinity ? 0 : Math.exp(a - (Number.isFinite(top) ? top : 0))));
    const total = powers.reduce((a, b) => a + b, 0);
    return powers.map((a) => a / (total === 0 ? 1 : total));
  },
  share: (a, total) => a / (total === 0 ? 1 : total),
  divide: (row) => {
    const total = row.reduce((a, b) => a + b, 0);
    return row.map((a) => a / (total === 0 ? 1 : total));
  },
  choose: (row, draw) => {
    if (draw === undefined) return row.indexOf(Math.max(...row));
    const total = row.reduce((a, b) => a + b, 0);
    let running = 0;
    return Math.min(row.filter((a) => (running += a) <= draw * total).length, row.length - 1);
  },
  kernel: (gap, variance) => Math.exp(-(gap * gap) / (2 * variance)) / Math.sqrt(2 * Math.PI * variance),
};

const either = (...marks) => marks.some(Boolean);
const MARKS = {
  known: () => false,
  add: either, sub: either, mul: either, div: either,
  square: (a) => a, sqrt: (a) => a, ln: (a) => a, sin: (a) => a, cos: (a) => a, exp: (a) => a, inner: (a) => a, activate: (a) => a,
  root: () => false,
  shift: (row) => row.map(() => either(...row)), softmax: (row) => row.map(() => either(...row)), share: either,
  divide: (row) => row.map(() => either(...row)), choose: (row) => either(...row), kernel: () => false,
};

const hull = (...numbers) => {
  const usable = numbers.filter((x) => !Number.isNaN(x));
  return usable.length < numbers.length ? [-Infinity, Infinity] : [Math.min(...usable), Math.max(...usable)];
};
const times = (a, b) => (a === 0 || b === 0 ? 0 : a * b);
const biggest = (a) => Math.max(Math.abs(a[0]), Math.abs(a[1]));
const smallest = (a) => (a[0] <= 0 && a[1] >= 0 ? 0 : Math.min(Math.abs(a[0]), Math.abs(a[1])));

/* Constants as people use them: in full, or to some decimals or more, rounded or cut. */
function shortened(number, decimals) {
  const values = [number];
  for (let digits = decimals; digits < 6; digits += 1) {
    const scale = 10 ** digits;
    values.push(Math.round(number * scale) / scale, Math.floor(number * scale + 1e-9) / scale);
  }
  return values.filter((value) => value > 0);
}

/* `innerUnit`: how coarsely a number that is not written may have been kept; `rootDecimals`: the fewest decimals of √d;
   `logs`: the least and the greatest logarithm of e as it was used. */
function rangeNumbers({ innerUnit, rootDecimals, logs }) {
  const error = (size) => Math.min(innerUnit, SHARE * size);
  const widened = (a, by) => [a[0] - by, a[1] + by];
  const numbers = {
    known: (x) => [x, x],
    add: (a, b) => [a[0] + b[0], a[1] + b[1]],
    sub: (a, b) => [a[0] - b[1], a[1] - b[0]],
    mul: (a, b) => hull(times(a[0], b[0]), times(a[0], b[1]), times(a[1], b[0]), times(a[1], b[1])),
    div: (a, b) => (b[0] <= 0 && b[1] >= 0 ? [-Infinity, Infinity] : hull(a[0] / b[0], a[0] / b[1], a[1] / b[0], a[1] / b[1])),
    square: (a) => [smallest(a) ** 2, biggest(a) ** 2],
    sqrt: (a) => [Math.sqrt(Math.max(a[0], 0)), Math.sqrt(Math.max(a[1], 0))],
    ln: (a) => [Math.log(Math.max(a[0], 0)), Math.log(Math.max(a[1], 0))],
    sin: (a) => waves(a, Math.sin, Math.PI / 2),
    cos: (a) => waves(a, Math.cos, 0),
    exp: (a, base) => {
      const factors = base === undefined ? logs : [Math.log(base)];
      const exponents = hull(...a.flatMap((end) => factors.map((log) => (end === -Infinity ? -Infinity : end * log))));
      return exponents.map((end) => (end === -Infinity ? 0 : Math.exp(end)));
    },
    root: (d) => (Number.isInteger(Math.sqrt(d)) ? [Math.sqrt(d), Math.sqrt(d)] : hull(...shortened(Math.sqrt(d), rootDecimals))),
    inner: (a) => widened(a, error(biggest(a))),
    share: (a, total) => (total[0] === 0 && total[1] === 0 ? [0, 0] : numbers.div(a, total)),
    shift: (row) => row.map((own, place) => {
      if (own[1] === -Infinity) return own;
      const others = row.filter((_, other) => other !== place);
      const top = (end) => Math.max(...others.map((other) => other[end]), -Infinity);
      return [own[0] - Math.max(own[0], top(1)), own[1] - Math.max(own[1], top(0))];
    }),
    softmax: (row, base) => softmaxRange(row, base, innerUnit, logs),
    divide: (row) => {
      const total = row.reduce(numbers.add, [0, 0]);
      const least = Math.max(Math.min(Math.abs(total[0]), Math.abs(total[1])), 1e-300);
      const room = Math.min(innerUnit / least, SHARE);
      return row.map((own, place) => {
        const rest = row.reduce((sum, other, at) => (at === place ? sum : numbers.add(sum, other)), [0, 0]);
        let image = numbers.share(own, total);
        if (own[0] >= 0 && rest[0] >= 0 && total[1] > 0) {
          image = [own[0] / (own[0] + rest[1] || 1), own[1] / (own[1] + rest[0] || 1)];
        }
        return widened(image, biggest(image) * room);
      });
    },
    choose: (row, draw) => {
      if (draw !== undefined) return [0, row.length - 1];
      const most = Math.max(...row.map((a) => a[0]));
      const possible = row.flatMap((a, place) => (a[1] >= most ? [place] : []));
      return [possible[0], possible[possible.length - 1]];
    },
    activate: (a, name) => activateRange(a, name, innerUnit, logs),
    kernel: (gap, variance) => {
      const value = PLAIN_NUMBERS.kernel(gap, variance), exponent = (gap * gap) / (2 * variance);
      const root = Math.sqrt(2 * Math.PI * variance);
      return widened([value, value], value * (Math.expm1(exponent * Math.max(1 - logs[0], logs[1] - 1)) + 0.0064) + (error(Math.exp(-exponent)) + value * error(root)) / root * 1.1);
    },
  };
  return numbers;
}

function waves(a, wave, top) { // the range of a sine or cosine: the ends, and ±1 where a crest or trough lies between
  const crest = (at) => Math.floor((a[1] - at) / (2 * Math.PI)) >= Math.ceil((a[0] - at) / (2 * Math.PI));
  const ends = hull(wave(a[0]), wave(a[1]));
  return [crest(top + Math.PI) ? -1 : ends[0], crest(top) ? 1 : ends[1]];
}

/* A weight is least where its own score is least and the others are greatest. e may have been shortened, and so may the
   exponentials (of the scores, or of the scores less the greatest one) and their sum. */
function softmaxRange(row, base, unit, logs) {
  const factor = base === undefined ? 1 : Math.log(base);
  const exponents = row.map((a) => (a[1] === -Infinity ? a : hull(a[0] * factor, a[1] * factor)));
  const top = Math.max(...exponents.map((a) => a[1]));
  if (top === -Infinity) return row.map(() => [0, 0]);
  if (!Number.isFinite(top)) return row.map((a) => [0, a[1] === -Infinity ? 0 : 1]);
  if (row.every((a) => a[0] === a[1])) return softmaxHabits(row.map((a) => a[0]), base, unit, logs);
  const distance = (end, log) => (end === -Infinity ? -Infinity : base === undefined ? (end - top) * log : end - top);
  const low = exponents.map((a) => Math.exp(distance(a[0], logs[1]))), high = exponents.map((a) => Math.exp(distance(a[1], logs[0])));
  const ranges = row.map((_, place) => [shareOf(low, high, place, 0), shareOf(high, low, place, 0)]);
  const middle = Math.max(...exponents.map((a) => (a[0] + a[1]) / 2));
  for (const shift of [Number.isFinite(middle) ? middle : 0, 0]) {
    const least = exponents.map((a) => Math.exp(a[0] - shift)), most = exponents.map((a) => Math.exp(a[1] - shift));
    if (!most.every(Number.isFinite)) continue;
    const isPlain = least.reduce((a, b) => a + b, 0) > 5 * unit;
    const error = (power) => Math.min(unit, isPlain ? power : SHARE * power);
    const below = least.map((power) => power - error(power)), above = most.map((power) => power + error(power));
    ranges.forEach((range, place) => {
      range[0] = Math.min(range[0], shareOf(below, above, place, unit));
      range[1] = Math.max(range[1], shareOf(above, below, place, -unit));
    });
  }
  return ranges;
}

function shareOf(own, others, place, unit) {
  const sum = others.reduce((total, power, at) => (at === place ? total : total + power), own[place]);
  const total = sum + Math.sign(unit) * Math.min(Math.abs(unit), SHARE * sum);
  return own[place] === 0 ? 0 : own[place] / total;
}

/* Numbers as people keep them: in full, or to `decimals` and at least `figures` significant figures, rounded or cut. */
function keptTo(number, decimals, figures, isCut) {
  if (!(number > 0) || !Number.isFinite(number)) return number;
  const places = figures ? Math.max(decimals, figures - 1 - Math.floor(Math.log10(number))) : decimals;
  const scale = 10 ** places;
  return Math.floor(number * scale * (1 + 1e-12) + (isCut ? 1e-7 : 0.5)) / scale;
}
function* waysOfKeeping(unit) { // for exponentials: small ones may have the decimals of the others, if they are rounded
  for (let decimals = Math.round(-Math.log10(unit)); decimals < 6; decimals += 1) {
    for (const isCut of [false, true]) yield (number, figures = 2) => keptTo(number, decimals, figures, isCut);
    yield (number, figures = 0) => keptTo(number, decimals, figures, false);
  }
}
const eulersOf = (logs) => [1, ...logs, ...(logs === SHORT_LOGS ? [Math.log(2.718), Math.log(2.719), ...STATED_LOGS] : [])];

/* The weights of exactly known scores, from exponentials and sums in every way of keeping them. */
function softmaxHabits(row, base, unit, logs) {
  const ranges = row.map(() => [Infinity, -Infinity]);
  const add = (weights) => weights.forEach((weight, place) => {
    ranges[place] = [Math.min(ranges[place][0], weight), Math.max(ranges[place][1], weight)];
  });
  const sumOf = (powers) => powers.reduce((a, b) => a + b, 0);
  const share = (powers, total) => (total > 0 ? add(powers.map((power) => power / total)) : undefined);
  for (const log of base === undefined ? eulersOf(logs) : [Math.log(base)]) {
    const exponents = row.map((score) => (score === -Infinity ? score : score * log)), top = Math.max(...exponents);
    share(exponents.map((exponent) => Math.exp(exponent - top)), sumOf(exponents.map((exponent) => Math.exp(exponent - top))));
    for (const shift of Math.abs(top) > 30 ? [top] : [top, 0]) {
      const powers = exponents.map((exponent) => Math.exp(exponent - shift)), total = sumOf(powers);
      for (const keep of waysOfKeeping(unit)) {
        const short = powers.map((power) => keep(power));
        if (sumOf(short) >= 5 * unit) {
          share(short, sumOf(short));
          share(short, keep(sumOf(short), 2));
        }
        share(powers, keep(total, 3));
      }
    }
  }
  return ranges;
}

/* tanh and sigmoid of an exactly known number, from exponentials in every way of keeping them. */
function activateHabits(x, name, unit, logs) {
  const values = [ACTIVATIONS[name](x)];
  for (const log of eulersOf(logs)) {
    const exponent = x * log;
    values.push(name === "tanh" ? Math.tanh(exponent) : sigmoid(exponent));
    for (const keep of waysOfKeeping(unit)) {
      const up = keep(Math.exp(exponent)), down = keep(Math.exp(-exponent)), square = keep(Math.exp(2 * exponent));
      values.push(...(name === "tanh" ? [(up - down) / (up + down), (square - 1) / (square + 1)] : [1 / (1 + down), up / (1 + up)]));
    }
  }
  return hull(...values.filter(Number.isFinite));
}

function activateRange(a, name, unit, logs) {
  const bend = ACTIVATIONS[name];
  if (a[0] === a[1] && (name === "tanh" || name === "sigmoid") && Math.abs(a[0]) < 30) return activateHabits(a[0], name, unit, logs);
  if (name === "relu") return [bend(a[0]), bend(a[1])];
  let range = hull(bend(a[0]), bend(a[1]));
  if (DIPS[name] && a[0] <= DIPS[name][0] && a[1] >= DIPS[name][0]) range[0] = Math.min(range[0], DIPS[name][1]);
  if (name === "gelu") return range;
  const short = Math.max(1 - logs[0], logs[1] - 1); // the relative error of every exponent if e was shortened
  if (name === "silu") {
    const room = biggest(a) * biggest(a) * short * 0.26;
    range = [range[0] - room, range[1] + room];
  } else {
    range = [bend(a[0] - Math.abs(a[0]) * short), bend(a[1] + Math.abs(a[1]) * short)];
  }
  const effects = [a[0], a[1], Math.min(Math.max(0, a[0]), a[1])].flatMap((x) => {
    const up = Math.exp(Math.min(Math.max(x, -300), 300)), down = 1 / up;
    if (name === "tanh") return [(2 * unit * (up + down)) / (up + down) ** 2, (2 * unit) / (1 + up * up) ** 2];
    return [up, down].map((power) => (unit / (1 + power) ** 2) * (name === "silu" ? Math.abs(x) : 1));
  });
  const room = 1.1 * Math.max(...effects);
  return [range[0] - room, range[1] + room];
}
