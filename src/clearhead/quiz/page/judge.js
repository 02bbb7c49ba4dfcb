/* Mark a working: every typed cell against what the lines above it give, from their digits as typed and from what those
   digits stand for. Nothing here touches the page, so that tests can call `judge` with workings of their own. */
const SLACK = 1e-9, NOISE = 1e-12, EXACT = 1e-9, INNER_UNIT = 0.01, STATED_DECIMALS = 4, SURE = 3, MANY = 4, FAINT = -1000;
const WRONG = new Set(["wrong", "unreadable"]), PROVED = new Set(["correct", "rounded", "carried"]);
const ACCEPTED = new Set([...PROVED, "truncated", "rounding", "plausible", "from-right"]);
const PLAIN_STEPS = stepsOf(PLAIN_NUMBERS), MARK_STEPS = stepsOf(MARKS);
const NO_WORKING = 4; // an image wider than this, in units, below empty lines decides nothing

const lift = (value, known) => (Array.isArray(value) ? value.map((part) => lift(part, known)) : known(value));
const isExactRange = (value) => (typeof value[0] === "number" ? value[0] === value[1] : value.every(isExactRange));

/* Compute a record from `values` of the records above it, in the numbers of A. */
function compute(sheet, record, values, A, steps) {
  const inputs = {};
  for (const [name, source] of Object.entries(record.inputs)) {
    inputs[name] = NUMERIC[record.step].includes(name) ? fetchLine(sheet, source, values, A) : fetchPlain(sheet, source);
  }
  return steps[record.step](inputs);
}
function fetchLine(sheet, source, values, A) {
  if ("record" in source) return values[source.record];
  return "parts" in source ? source.parts.map((part) => fetchLine(sheet, part, values, A)) : lift(fetchPlain(sheet, source), A.known);
}
function fetchPlain(sheet, source) {
  const value = "given" in source ? sheet.givens[source.given] : source.value;
  return value === "-inf" ? -Infinity : value;
}
const parentsOf = (source) => ("record" in source ? [source.record] : "parts" in source ? source.parts.flatMap(parentsOf) : []);

/* How a typed number compares with a reference: within half a unit, cut at its unit, or within a unit. */
function fit(cell, reference) {
  const y = cell.value;
  if (!Number.isFinite(reference)) {
    return { half: y === reference || (y <= FAINT && reference < 0), cut: false, near: false };
  }
  const size = Math.abs(reference), noise = NOISE * Math.max(size, 1e-3), gap = Math.abs(y - reference);
  const unit = cell.isWhole && Math.abs(reference - Math.round(reference)) <= EXACT ? 0 : cell.unit;
  const room = SLACK * unit + noise + (unit === 0 ? EXACT * Math.max(1, Math.abs(y)) : 0);
  const near = gap < unit * (1 - SLACK) - noise;
  return { half: gap <= unit / 2 + room, near, cut: near && Math.abs(y) <= size + room && y * reference >= 0 };
}

/* The numbers that a typed one can stand for: ± half a unit, or a whole unit away from 0 where it may be cut. */
function standsFor(y, unit, mayCut) {
  if (!Number.isFinite(y)) return [y, y];
  return [y - (mayCut && y <= 0 ? unit : unit / 2), y + (mayCut && y >= 0 ? unit : unit / 2)];
}

/* `texts` has a grid of typed texts for every record, tokens as rows; "" where nothing is typed. */
function judge(sheet, texts) {
  const truths = [];
  for (const record of sheet.records) truths.push(compute(sheet, record, truths, PLAIN_NUMBERS, PLAIN_STEPS));
  const lines = sheet.records.map((record, index) => readLine(sheet, record, texts[index] || [], truths[index]));
  const first = judgeLines(sheet, lines, truths, false);
  if (!first.numWrong || (!first.numCut && first.numUp >= SURE)) return first;
  const second = judgeLines(sheet, lines, truths, true);
  return second.numWrong < first.numWrong ? second : first;
}

/* Read a line: the printed numbers, and the typed ones with the units of their line. */
function readLine(sheet, record, texts, truth) {
  const cells = record.shown.map((row, i) => row.map((shown, j) => {
    const text = shown === null ? (texts[i] || [])[j] || "" : shown;
    const cell = text === "" ? null : readNumber(text, sheet.hasComma);
    return cell && { ...cell, isShown: shown !== null };
  }));
  const style = lineStyle(cells.flat().map((cell) => (cell && !cell.problem ? cell : null)), truth.flat(), sheet.decimals);
  for (const cell of cells.flat()) {
    if (cell && cell.isWhole) cell.unit = Math.min(unitOf(style, cell.value), ownUnit(cell.value));
  }
  return { cells, style };
}

function judgeLines(sheet, lines, truths, mayCut) {
  const state = { x: [], hat: [], right: [], rightX: [], bad: [], open: [], ranges: [], digits: [], memory: [] };
  const result = { records: [], numWrong: 0, numTyped: 0, numCut: 0, numUp: 0, mayCut };
  const styles = lines.map((line) => line.style).filter((style) => style.isTelling);
  sheet.records.forEach((record, index) => {
    const plain = (values) => compute(sheet, record, values, PLAIN_NUMBERS, PLAIN_STEPS);
    const marks = (values) => compute(sheet, record, values, MARKS, MARK_STEPS);
    const line = lines[index];
    const references = {
      x: plain(state.x), hat: plain(state.hat), right: plain(state.right), rightX: plain(state.rightX),
      bad: marks(state.bad), open: marks(state.open), truth: truths[index],
    };
    const verdicts = grid(line.cells.length, line.cells[0].length, (i, j) => firstRules(line.cells[i][j], at(references, i, j)));
    const images = imagesOf(sheet, record, { state, line, verdicts, references });
    verdicts.forEach((row, i) => row.forEach((judged, j) => {
      const cell = line.cells[i][j];
      if (judged && judged.verdict === null) {
        const image = { wide: images.wide[i][j], strict: images.strict.map((strict) => strict[i][j]) };
        lastRules(judged, cell, at(references, i, j), image, mayCut);
      }
      if (!judged || cell.isShown) return;
      result.numTyped += 1;
      result.numWrong += WRONG.has(judged.verdict) ? 1 : 0;
      result.numCut += judged.verdict === "truncated" ? 1 : 0;
      result.numUp += judged.isUp ? 1 : 0;
    }));
    store(state, record, { line, verdicts, references, images, styles, sheet, mayCut });
    verdicts.forEach((row, i) => row.forEach((judged, j) => {
      if (judged && ACCEPTED.has(judged.verdict) && hasFewDecimals(sheet, line.cells[i][j], at(references, i, j))) judged.verdict = "few";
    }));
    result.records.push({ verdicts, expected: references.x });
  });
  const wrongIn = (record) => record.verdicts.some((row) => row.some((judged) => judged && WRONG.has(judged.verdict)));
  result.firstWrong = result.records.findIndex(wrongIn);
  return result;
}
const at = (references, i, j) => Object.fromEntries(Object.entries(references).map(([name, matrix]) => [name, matrix[i][j]]));

/* Whether a number has fewer decimals than the sheet asks for, and is not the same with them: 0.9 or 0.83 for 0.826. */
function hasFewDecimals(sheet, cell, reference) {
  const unit = 10 ** -sheet.decimals, gap = Math.min(Math.abs(cell.value - reference.hat), Math.abs(cell.value - reference.x));
  return cell.unit > 1.5 * unit && !(gap <= unit / 2 + SLACK);
}

/* Rules 1 to 4: the verdict is null where none of them fits. */
function firstRules(cell, reference) {
  if (!cell) return null;
  if (cell.isShown) return { verdict: "shown" };
  if (cell.problem) return { verdict: "unreadable", problem: cell.problem };
  const fromHat = fit(cell, reference.hat), fromX = fit(cell, reference.x);
  const largest = Math.max(Math.abs(reference.hat), Math.abs(reference.x));
  const isUp = fromHat.half && fromX.half && Math.abs(cell.value) > largest + 0.01 * cell.unit;
  const accepted = fromHat.half || !fromX.half ? reference.hat : reference.x;
  const judged = { verdict: null, accepted, isUp };
  if (fromHat.half) judged.verdict = reference.bad ? "carried" : "correct";
  else if (fromX.half) judged.verdict = reference.bad ? "carried" : "rounded";
  else if (fromHat.cut || fromX.cut) judged.verdict = "truncated";
  else if (fromHat.near || fromX.near) judged.verdict = "rounding";
  return judged;
}

/* Rules 5 to 7: a number that the roundings above allow, one that follows from the right number, or a wrong one. */
function lastRules(judged, cell, reference, { wide, strict }, mayCut) {
  const isExact = cell.isWhole && Math.abs(reference.hat - Math.round(reference.hat)) <= EXACT && wide[0] === wide[1];
  const unit = isExact ? 0 : cell.unit;
  const own = standsFor(cell.value, unit, mayCut);
  const slack = SLACK * unit + NOISE * Math.max(Math.abs(cell.value), 1e-3) + (unit === 0 ? EXACT : 0);
  const meets = (image) => Number.isFinite(cell.value) && own[1] >= image[0] - slack && own[0] <= image[1] + slack;
  const fits = (value) => {
    const comparison = fit(cell, value);
    return comparison.half || comparison.cut;
  };
  if (meets(wide)) {
    const decidesNothing = reference.open && !(wide[1] - wide[0] <= NO_WORKING * cell.unit);
    judged.verdict = decidesNothing ? "open" : strict.some(meets) ? "plausible" : "coarse";
  } else if (reference.bad && (fits(reference.right) || fits(reference.rightX))) judged.verdict = "from-right";
  else if (reference.bad && fit(cell, reference.truth).half) judged.verdict = "true";
  else judged.verdict = "wrong";
}

/* The possible values of every cell of a record. `wide`: every number above can be any one that rounds to what is typed,
   and numbers that are not typed have the digits that people keep at least. `strict`: every line above is used as it is
   typed or as the calculator has it, and numbers that are not typed have the digits that the sheet asks for. `memory`:
   what the calculator can have for this line. */
function imagesOf(sheet, record, { state, line, verdicts, references }) {
  const pairs = verdicts.flatMap((row, i) => row.map((judged, j) => ({ judged, cell: line.cells[i][j] })));
  const typed = pairs.filter(({ judged, cell }) => judged && !cell.isShown);
  const proved = typed.filter(({ judged, cell }) => PROVED.has(judged.verdict) && !cell.isWhole && cell.unit > 0);
  const remaining = typed.filter(({ judged }) => judged.verdict === null).length;
  const largest = Math.max(0, ...references.x.flat().map(Math.abs).filter(Number.isFinite));
  const lineUnit = line.cells.flat().some(Boolean) ? unitOf(line.style, largest) : 0;
  let innerUnit = Math.min(INNER_UNIT, 100 * lineUnit || INNER_UNIT);
  if (proved.length >= Math.max(SURE, 3 * remaining)) {
    innerUnit = Math.min(innerUnit, 10 * Math.max(...proved.map(({ cell }) => cell.unit)));
  }
  const wide = { innerUnit, rootDecimals: lineUnit > 0.01 ? 1 : 2, logs: SHORT_LOGS };
  const strict = { innerUnit: 10 ** -(Math.max(2, sheet.decimals) + 1), rootDecimals: STATED_DECIMALS, logs: STATED_LOGS };
  const parents = [...new Set(Object.values(record.inputs).flatMap(parentsOf))];
  const boxes = state.memory.map((matrix, index) => (parents.includes(index) ? hullOf(matrix, state.digits[index]) : matrix));
  return {
    wide: imageWith(sheet, record, state.ranges, rangeNumbers(wide)),
    memory: imageWith(sheet, record, boxes, rangeNumbers(wide)),
    strict: remaining ? usesOf(state, parents, boxes).map((values) => imageWith(sheet, record, values, rangeNumbers(strict))) : [],
  };
}
const hullOf = (one, other) => one.map((row, i) => row.map((range, j) => hull(...range, ...other[i][j])));

/* Every way of using the lines above: each one from memory or as it is typed; if there are many, all alike or any. */
function usesOf(state, parents, boxes) {
  if (parents.length > MANY) return [state.memory, state.digits, boxes];
  return Array.from({ length: 2 ** parents.length }, (_, choice) => {
    const values = state.memory.slice();
    parents.forEach((parent, place) => {
      if (choice & (1 << place)) values[parent] = state.digits[parent];
    });
    return values;
  });
}
function imageWith(sheet, record, values, numbers) {
  const image = compute(sheet, record, values, numbers, stepsOf(numbers));
  return image.map((row) => row.map(([low, high]) => [Number.isNaN(low) ? -Infinity : low, Number.isNaN(high) ? Infinity : high]));
}

/* Keep what later records use: the digits, what they stand for, the right numbers, and the ranges. */
function store(state, record, { line, verdicts, references, images, styles, sheet, mayCut }) {
  const inputsAreExact = Object.values(record.inputs).flatMap(parentsOf).every((parent) => isExactRange(state.ranges[parent]));
  const lineState = { x: [], hat: [], right: [], rightX: [], bad: [], open: [], ranges: [], digits: [], memory: [] };
  line.cells.forEach((row, i) => {
    for (const name of Object.keys(lineState)) lineState[name].push([]);
    row.forEach((cell, j) => {
      const put = (values) => Object.entries(values).forEach(([name, value]) => lineState[name][i].push(value));
      const reference = at(references, i, j), judged = verdicts[i][j], range = images.wide[i][j];
      if (!judged || cell.problem) {
        const size = Math.max(...range.map(Math.abs));
        const unit = MOVES.has(record.step) ? 0 : skippedUnit(record, styles, size, sheet, range);
        const wide = [range[0] === -Infinity ? range[0] : range[0] - unit, range[1] === Infinity ? range[1] : range[1] + unit];
        const { x, hat, right, rightX, bad } = reference;
        put({ x, hat, right, rightX, bad, open: !MOVES.has(record.step) || reference.open, ranges: wide, digits: wide, memory: wide });
        return;
      }
      const isWrong = judged.verdict === "wrong", y = cell.value;
      const exactValue = cell.isShown ? reference.truth : reference.x;
      const isExact = (inputsAreExact || cell.isShown) && Math.abs(y - exactValue) <= EXACT;
      const wasCut = mayCut || judged.verdict === "truncated" || judged.verdict === "rounding";
      let stands = standsFor(y, isExact ? 0 : cell.unit, wasCut);
      if (judged.verdict === "rounding") stands = [y - cell.unit, y + cell.unit];
      if (MOVES.has(record.step) && range[0] <= y && y <= range[1]) {
        stands = [Math.min(stands[0], range[0]), Math.max(stands[1], range[1])];
      }
      const truth = Math.abs(reference.truth - y) <= cell.unit ? reference.truth : y;
      const accepted = cell.isShown ? truth : judged.accepted;
      put({
        x: y, hat: isWrong ? y : accepted, right: accepted, rightX: isWrong ? reference.x : y,
        bad: cell.isShown ? false : isWrong || reference.bad, open: false, ranges: stands,
        digits: [y, y], memory: isWrong || cell.isShown ? stands : memoryOf(images.memory[i][j], stands, cell.unit),
      });
    });
  });
  for (const name of Object.keys(lineState)) state[name].push(lineState[name]);
}

/* What the calculator has for a typed number: a number that rounds to it, perhaps with one digit more than is typed. */
function memoryOf(image, stands, unit) {
  const range = [Math.max(stands[0], image[0] - unit / 10), Math.min(stands[1], image[1] + unit / 10)];
  return range[0] <= range[1] ? range : stands;
}

/* How coarsely a number that is not typed may have been kept: like the typed ones, some also to two decimals. */
function skippedUnit(record, styles, size, sheet, range) {
  if (!Number.isFinite(size)) return 0;
  const typed = styles.map((style) => unitOf(style, size));
  const unit = Math.max(...(typed.length ? typed : [10 ** -sheet.decimals]), DIVISORS.has(record.step) ? INNER_UNIT : 0);
  const count = range[0] / unit;
  return range[0] === range[1] && Math.abs(count - Math.round(count)) <= 1e-9 * Math.max(1, Math.abs(count)) ? 0 : unit;
}
