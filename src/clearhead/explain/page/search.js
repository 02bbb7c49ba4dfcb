// The search as a tree, left to right: a column for each step, the best translation on top of its branches.
const NODE = { width: 104, height: 30, gap: 26 };
const FATES = { start: "", kept: "kept", ended: "ended", dropped: "dropped", hidden: "hidden by a rule" };
const SIGNS = { start: "", kept: "", ended: "■", dropped: "×", hidden: "⊘" };

function beamTree() {
  const { nodes, stopped, best } = DATA.search;
  const board = make("div", { class: "tree" });
  const scroller = make("div", { class: "box", tabindex: 0, role: "group", "aria-label": "The beam as a tree; arrow keys move between its tokens" }, board);
  const why = make("p", { class: "lead", "aria-live": "polite" }, "Select a token to see its log probability and why it was kept or dropped.");
  const show = (isAll) => {
    const wanted = isAll ? nodes : keptToTheEnd(nodes);
    paintTree(board, wanted, (node) => (why.textContent = nodeSentence(node)));
  };
  const isSmall = nodes.length <= 120;
  const tools = make("div", { class: "tools" }, switcher("Candidates", [["all", "With dropped candidates"], ["kept", "Only what was kept to the end"]], isSmall ? "all" : "kept", (value) => show(value === "all")));
  show(isSmall);
  const results = best.map((one) => make("li", {}, make("q", { dir: "auto" }, one.text), make("span", { class: "value" }, ` score ${write(one.score, 4)}, log P ${write(one.log_prob, 4)}`)));
  return [make("p", { class: "lead" }, `The search stopped ${stopped}. × dropped, ■ ended, ⊘ hidden by a rule; the thick line is the best translation.`), tools, scroller, why, make("ol", { class: "results" }, results)];
}

// The nodes of hypotheses that were never dropped: those that ended, or are the best, and what leads to them.
function keptToTheEnd(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const wanted = new Set();
  for (const end of nodes.filter((node) => node.is_best || node.fate === "ended"))
    for (let node = end; node; node = byId.get(node.parent)) wanted.add(node);
  return nodes.filter((node) => wanted.has(node));
}

function nodeSentence(node) {
  if (node.fate === "start") return "The start of every hypothesis.";
  const fate = node.dropped_at ? `kept, but dropped at step ${node.dropped_at}` : FATES[node.fate];
  const score = node.score === null || node.score === undefined ? "" : `, score ${write(node.score, 4)}`;
  return `Step ${node.step}: “${pieceText(node.piece)}” ${fate}. log P ${write(node.log_prob, 4)}, total ${write(node.total, 4)}${score}.${node.why ? ` Reason: ${node.why}.` : ""}`;
}

// Rows of the nodes. A chain of first children is one line; it takes the first row below its parent that is free in its steps.
function treeRows(nodes) {
  const children = new Map(nodes.map((node) => [node.id, []]));
  for (const node of nodes) children.get(node.parent)?.push(node);
  for (const list of children.values()) list.sort((a, b) => b.is_best - a.is_best || b.total - a.total);
  const rows = new Map();
  const taken = new Set(); // "row,step"
  const waiting = nodes.filter((node) => !children.has(node.parent)).map((node) => ({ node, above: -1 }));
  while (waiting.length) {
    const { node, above } = waiting.shift();
    const chain = [node];
    while (children.get(chain.at(-1).id)[0]) chain.push(children.get(chain.at(-1).id)[0]);
    let row = above + 1;
    while (chain.some((one) => taken.has(`${row},${one.step}`))) row++;
    for (const one of chain) {
      rows.set(one.id, row);
      taken.add(`${row},${one.step}`);
      for (const other of children.get(one.id).slice(1)) waiting.push({ node: other, above: row });
    }
    waiting.sort((a, b) => b.node.total - a.node.total);
  }
  return { rows, children, count: Math.max(...rows.values()) + 1 };
}

function paintTree(board, nodes, onFocus) {
  const { rows, children, count } = treeRows(nodes);
  const place = (node) => ({ x: node.step * (NODE.width + NODE.gap), y: rows.get(node.id) * (NODE.height + 4) });
  const steps = Math.max(...nodes.map((node) => node.step));
  const [width, height] = [(steps + 1) * (NODE.width + NODE.gap), count * (NODE.height + 4)];
  board.style.width = `${width}px`;
  board.style.height = `${height}px`;
  fitPaper(board, width);
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const links = nodes.filter((node) => byId.has(node.parent)).map((node) => {
    const [from, to] = [place(byId.get(node.parent)), place(node)];
    const [x1, y1, x2, y2] = [from.x + NODE.width, from.y + NODE.height / 2, to.x, to.y + NODE.height / 2];
    return draw("path", { class: `branch ${node.is_best ? "best" : node.fate}`, d: `M${x1} ${y1}C${x1 + NODE.gap / 2} ${y1} ${x2 - NODE.gap / 2} ${y2} ${x2} ${y2}` });
  });
  const buttons = new Map(nodes.map((node) => {
    const label = nodeSentence(node);
    const button = make("button", { type: "button", class: `node ${node.fate}${node.is_best ? " best" : ""}${node.dropped_at ? " lost" : ""}`, "aria-label": label, "data-say": "", tabindex: -1, onfocus: () => onFocus(node), onclick: () => onFocus(node) });
    button.append(make("span", { class: "text", dir: "auto" }, node.fate === "start" ? "start" : pieceText(node.piece)), make("span", { class: "value" }, node.fate === "start" ? "" : `${SIGNS[node.fate]}${node.dropped_at ? "×" : ""} ${write(node.total, 2)}`));
    const { x, y } = place(node);
    Object.assign(button.style, { left: `${x}px`, top: `${y}px`, width: `${NODE.width}px` });
    return [node.id, button];
  }));
  board.replaceChildren(draw("svg", { class: "branches", viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" }, links), ...buttons.values());
  buttons.get(nodes[0].id).tabIndex = 0;
  board.onkeydown = (event) => treeKey(event, { nodes, buttons, children, rows });
}

// Left: the parent. Right: its best continuation. Up and down: the neighbour in the same step.
function treeKey(event, { nodes, buttons, children, rows }) {
  const node = nodes.find((one) => buttons.get(one.id) === event.target);
  if (!node || !(event.key in ARROWS)) return;
  const step = nodes.filter((one) => one.step === node.step).sort((a, b) => rows.get(a.id) - rows.get(b.id));
  const at = step.indexOf(node);
  const target = { ArrowLeft: nodes.find((one) => one.id === node.parent), ArrowRight: children.get(node.id)[0], ArrowUp: step[at - 1], ArrowDown: step[at + 1] }[event.key];
  event.preventDefault();
  if (!target) return;
  for (const button of buttons.values()) button.tabIndex = -1;
  const button = buttons.get(target.id);
  button.tabIndex = 0;
  button.focus();
}
