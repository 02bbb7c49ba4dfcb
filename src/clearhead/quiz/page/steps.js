/* Every step, once for all kinds of numbers: matrices are lists of rows, tokens are rows. NUMERIC names the inputs that
   are lines of the sheet; all others are passed as the problem gives them. */
const NUMERIC = {
  embed: ["table"], position: [], angle: [], rotate: ["x", "angles"], add: ["a", "b"], project: ["x", "w", "b"],
  transform: ["x", "w", "b"], split: ["x"], append: ["cached", "new"], score: ["q", "k"], kernel: [], scale: ["scores"],
  mask: ["scores"], shift: ["scores"], exponentiate: ["scores"], row_sum: ["x"], softmax: ["scores", "exponentials", "total"],
  divide: ["scores"], mix: ["weights", "v"], join: ["parts"], activate: ["x"], mean: ["x"], variance: ["x", "mean"],
  deviation: ["variance"], normalise: ["x", "mean", "variance", "gain", "shift", "deviation"], root_mean_square: ["x"],
  rms_normalise: ["x", "gain", "rms"], convolve: ["x", "taps", "b"], pick: ["x"], copy: ["x"], multiply: ["a", "b"],
  complement: ["x"], choose: ["probabilities"], loss: ["probabilities"], total: ["x"], gradient: ["probabilities"],
  one_hot: [], idf: [], length: ["x"], cosine: ["dots", "lengths"],
};
const MOVES = new Set(["embed", "split", "append", "mask", "join", "pick", "copy", "choose", "one_hot"]);
const DIVISORS = new Set(["mean", "variance", "length", "exponentiate", "row_sum", "deviation", "root_mean_square"]);

const grid = (height, width, cell) => Array.from({ length: height }, (_, i) => Array.from({ length: width }, (_, j) => cell(i, j)));
const spread = (matrix, i, j) => {
  const row = matrix[matrix.length > 1 ? i : 0];
  return row[row.length > 1 ? j : 0];
};

function stepsOf(A) {
  const sum = (numbers) => numbers.reduce((a, b) => A.add(a, b));
  const map = (matrix, change) => matrix.map((row) => row.map(change));
  const product = (x, w, height, width, inner) => grid(height, width, (i, j) => sum(inner.map((_, k) => A.mul(x(i, k), w(k, j)))));
  const withBias = (matrix, b) => (b === undefined ? matrix : matrix.map((row) => row.map((cell, j) => A.add(cell, b[j]))));
  const average = (numbers) => A.div(sum(numbers), A.known(numbers.length));
  const together = (x, over, counted, change) => { // one number for each token, for each feature, or for all
    const rows = x.map((_, i) => i).filter((i) => over === "features" || counted === undefined || counted[i]);
    if (over === "features") return x.map((row, i) => [average(row.map((cell, j) => change(cell, i, j)))]);
    const column = (j) => rows.map((i) => change(x[i][j], i, j));
    if (over === "tokens") return [x[0].map((_, j) => average(column(j)))];
    return [[average(x[0].flatMap((_, j) => column(j)))]];
  };
  const pairs = (width, pairing) => Array.from({ length: width / 2 }, (_, i) => (pairing === "neighbours" ? [2 * i, 2 * i + 1] : [i, i + width / 2]));
  const deviationOf = (variance, epsilon, outside) => A.add(A.sqrt(A.add(variance, A.known(epsilon || 0))), A.known(outside || 0));
  const steps = {
    embed: ({ ids, table }) => ids.map((id) => table[id].slice()),
    position: ({ positions, dimensions, width, formula, base }) => grid(positions.length, dimensions.length, (i, j) => {
      const at = positions[i], dimension = dimensions[j], isOdd = dimension % 2 === 1;
      if (formula === "one-hot") return A.known(at === dimension ? 1 : 0);
      if (formula === "count") return A.known(at);
      const turn = at / base ** ((isOdd && formula === "sinusoidal" ? dimension - 1 : dimension) / width);
      return A.known(isOdd ? Math.cos(turn) : Math.sin(turn));
    }),
    angle: ({ positions, width, base }) => grid(positions.length, Math.floor(width / 2), (i, j) => A.known(positions[i] / base ** ((2 * j) / width))),
    rotate: ({ x, angles, pairing }) => x.map((row, i) => {
      const turned = row.slice();
      pairs(row.length, pairing).forEach(([first, second], pair) => {
        const cos = A.cos(angles[i][pair]), sin = A.sin(angles[i][pair]);
        turned[first] = A.sub(A.mul(row[first], cos), A.mul(row[second], sin));
        turned[second] = A.add(A.mul(row[first], sin), A.mul(row[second], cos));
      });
      return turned;
    }),
    add: ({ a, b }) => grid(Math.max(a.length, b.length), Math.max(a[0].length, b[0].length), (i, j) => A.add(spread(a, i, j), spread(b, i, j))),
    multiply: ({ a, b }) => grid(Math.max(a.length, b.length), Math.max(a[0].length, b[0].length), (i, j) => A.mul(spread(a, i, j), spread(b, i, j))),
    complement: ({ x }) => map(x, (cell) => A.sub(A.known(1), cell)),
    project: ({ x, w, b }) => withBias(product((i, k) => x[i][k], (k, j) => w[k][j], x.length, w[0].length, w), b),
    transform: ({ x, w, b }) => withBias(product((i, k) => x[i][k], (k, j) => w[j][k], x.length, w.length, w[0]), b),
    score: ({ q, k }) => product((i, e) => q[i][e], (e, j) => k[j][e], q.length, k.length, q[0]),
    mix: ({ weights, v }) => product((i, k) => weights[i][k], (k, j) => v[k][j], weights.length, v[0].length, v),
    split: ({ x, head, num_heads }) => x.map((row) => row.slice(((head - 1) * row.length) / num_heads, (head * row.length) / num_heads)),
    append: (inputs) => [...inputs.cached, ...inputs.new].map((row) => row.slice()),
    kernel: ({ query_times, key_times, variance }) => grid(query_times.length, key_times.length, (i, j) => A.kernel(key_times[j] - query_times[i], variance)),
    scale: ({ scores, root_of, divisor }) => map(scores, (cell) => A.div(cell, root_of === undefined ? A.known(divisor) : A.root(root_of))),
    mask: ({ scores, allowed, fill }) => scores.map((row, i) => row.map((cell, j) => (allowed[i][j] ? cell : A.known(fill)))),
    shift: ({ scores }) => scores.map((row) => A.shift(row)),
    exponentiate: ({ scores, base }) => map(scores, (cell) => A.exp(cell, base)),
    row_sum: ({ x }) => x.map((row) => [sum(row)]),
    softmax: ({ scores, base, exponentials, total }) => exponentials === undefined
      ? scores.map((row) => A.softmax(row, base)) : exponentials.map((row, i) => row.map((cell) => A.share(cell, total[i][0]))),
    divide: ({ scores }) => scores.map((row) => A.divide(row)),
    join: ({ parts }) => {
      const height = Math.max(...parts.map((part) => part.length));
      return Array.from({ length: height }, (_, i) => parts.flatMap((part) => part[part.length > 1 ? i : 0]));
    },
    activate: (inputs) => map(inputs.x, (cell) => A.activate(cell, inputs.function)),
    mean: ({ x, over, counted }) => together(x, over, counted, (cell) => cell),
    variance: ({ x, mean, over, counted }) => together(x, over, counted, (cell, i, j) => A.square(A.sub(cell, spread(mean, i, j)))),
    deviation: ({ variance, epsilon, epsilon_outside }) => map(variance, (cell) => deviationOf(cell, epsilon, epsilon_outside)),
    normalise: ({ x, mean, variance, epsilon, epsilon_outside, gain, shift, deviation }) => {
      const centre = mean || together(x, "features", undefined, (cell) => cell);
      const squares = variance || together(x, "features", undefined, (cell, i, j) => A.square(A.sub(cell, spread(centre, i, j))));
      return x.map((row, i) => row.map((cell, j) => {
        const by = deviation ? spread(deviation, i, j) : A.inner(deviationOf(spread(squares, i, j), epsilon, epsilon_outside));
        let value = A.div(A.sub(cell, spread(centre, i, j)), by);
        if (gain) value = A.mul(gain[j], A.inner(value));
        return shift ? A.add(value, shift[j]) : value;
      }));
    },
    root_mean_square: ({ x, epsilon }) => x.map((row) => [A.sqrt(A.add(average(row.map(A.square)), A.known(epsilon || 0)))]),
    rms_normalise: ({ x, epsilon, gain, rms }) => {
      const by = rms || map(steps.root_mean_square({ x, epsilon }), A.inner);
      return x.map((row, i) => row.map((cell, j) => {
        const value = A.div(cell, by[i][0]);
        return gain ? A.mul(gain[j], A.inner(value)) : value;
      }));
    },
    convolve: ({ x, taps, first, count, b }) => withBias(grid(count, taps[0][0].length, (t, j) => {
      const terms = taps.flatMap((tap, k) => (x[t + first + k] || []).map((cell, d) => A.mul(cell, tap[d][j])));
      return terms.length ? sum(terms) : A.known(0);
    }), b),
    pick: ({ x, row }) => [x[row - 1].slice()],
    copy: ({ x, row }) => (row === undefined ? x.map((cells) => cells.slice()) : [x[row - 1].slice()]),
    choose: ({ probabilities, draw }) => probabilities.map((row) => [A.choose(row, draw)]),
    loss: ({ probabilities, targets }) => probabilities.map((row, i) => [A.sub(A.known(0), A.ln(row[targets[i]]))]),
    total: ({ x }) => [[sum(x.flat())]],
    gradient: ({ probabilities, targets }) => probabilities.map((row, i) => row.map((cell, j) => A.sub(cell, A.known(targets[i] === j ? 1 : 0)))),
    one_hot: ({ ids, words }) => grid(ids.length, words.length, (i, j) => A.known(ids[i] === j ? 1 : 0)),
    idf: ({ counts, rule }) => [counts[0].map((_, j) => {
      const having = counts.filter((row) => row[j] > 0).length;
      return A.known(rule === "N/df" ? Math.log(counts.length / having) : Math.log((1 + counts.length) / (1 + having)) + 1);
    })],
    length: ({ x }) => x.map((row) => [A.sqrt(sum(row.map(A.square)))]),
    cosine: ({ dots, lengths }) => dots.map((row, i) => row.map((cell, j) => A.div(cell, A.inner(A.mul(lengths[i][0], lengths[j][0]))))),
  };
  return steps;
}
