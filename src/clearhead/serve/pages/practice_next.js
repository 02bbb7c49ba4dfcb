// Which sheet comes next: chosen from what went wrong, in this page only. Nothing of it is sent to the server but the
// kind, the difficulty and the name of the rule that the next sheet should show.
const KEY = "clearhead-practice";
const HARDEST = 3;
const AGAIN_AFTER = 2; // sheets after which something that went wrong comes back
const MOST = 30;

// What went wrong: { kind, difficulty, rule, due }. It stays in the browser only if the visitor asks for it.
export function readMistakes() {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "null");
    return Array.isArray(stored) ? stored.filter((one) => typeof one?.kind === "string" && [1, 2, 3].includes(one.difficulty)).slice(0, MOST) : null;
  } catch {
    return null;
  }
}
export function storeMistakes(mistakes) {
  try {
    if (mistakes) localStorage.setItem(KEY, JSON.stringify(mistakes));
    else localStorage.removeItem(KEY);
  } catch {
    // no room, or no storage: it is forgotten when the page is left
  }
}

// Add what went wrong on a sheet; the same rule of the same kind is there once.
export function withMistake(mistakes, { kind, difficulty, rule }) {
  const others = mistakes.filter((one) => one.kind !== kind || one.rule !== rule);
  return [...others, { kind, difficulty, rule, due: AGAIN_AFTER }].slice(-MOST);
}

// Return the next request, why it was chosen, and the mistakes that are left.
export function chooseNext({ kind, difficulty, rule, hasError, isComplete }, mistakes, kinds) {
  const waiting = mistakes.map((one) => ({ ...one, due: one.due - 1 }));
  if (hasError) return { request: { kind, difficulty, tells_apart: rule || null }, reason: rule ? "practice.again_rule" : "practice.again", rule, mistakes: waiting };
  if (!isComplete) return { request: { kind, difficulty }, reason: "", mistakes: waiting };
  const done = waiting.filter((one) => one.kind !== kind || one.due > 0);
  const back = done.find((one) => one.due <= 0);
  if (back) return { request: { kind: back.kind, difficulty: back.difficulty, tells_apart: back.rule || null }, reason: "practice.back", rule: back.rule, mistakes: done.filter((one) => one !== back) };
  if (difficulty < HARDEST) return { request: { kind, difficulty: difficulty + 1 }, reason: "practice.harder", mistakes: done };
  const following = kinds[(kinds.indexOf(kind) + 1) % kinds.length];
  return { request: { kind: following, difficulty: 1 }, reason: "practice.other_kind", mistakes: done };
}
