// Why: a sentence is explained by the server, and its page is shown in a frame. The page asks back here, because only this
// page may call the server: to switch heads off, and to force a word.
import "./site.js";
import { get, onKey, post, postForPage, showError } from "./api.js";
import { fillSelect, find, findAll, latestOnly, make, readState, writeState } from "./elements.js";
import { showInFrame } from "./frames.js";
import { languageName, text, textsOf } from "./texts.js";

const boxes = { text: find("#text"), second: find("#second"), word: find("#word"), prefix: find("#prefix"), direction: find("#direction") };
const result = find("#result");
const run = latestOnly();
let isComparison = false;
let directions = [];

// ---- what is asked ----
function listDirections(models, start) {
  directions = models.filter((model) => model.can_explain).flatMap((model) => model.directions.map(({ source, target }) => ({ model: model.name, source, target })));
  const isSeveral = new Set(directions.map((one) => one.model)).size > 1;
  const name = (one) => `${languageName(one.source)} → ${languageName(one.target)}${isSeveral ? ` · ${one.model}` : ""}`;
  const at = directions.findIndex((one) => (!start.source || one.source === start.source) && (!start.target || one.target === start.target) && (!start.model || one.model === start.model));
  fillSelect(boxes.direction, directions.map((one, n) => [String(n), name(one)]), String(Math.max(0, at)));
}
const direction = () => directions[Number(boxes.direction.value)] ?? {};

function setMode(isTwo) {
  isComparison = isTwo;
  find("#mode-explain").setAttribute("aria-pressed", String(!isTwo));
  find("#mode-compare").setAttribute("aria-pressed", String(isTwo));
  for (const field of findAll("[data-mode]")) field.hidden = field.dataset.mode !== (isTwo ? "compare" : "explain");
  boxes.second.required = isTwo;
  find("#ask [type=submit] span").textContent = text(isTwo ? "why.compare" : "why.explain");
}

// ---- asking ----
async function ask() {
  const body = direction();
  if (body.model === undefined) return showError(find("#error"), new Error(text("why.no_model")));
  writeState({ ...body, text: boxes.text.value, second: isComparison && boxes.second.value, word: isComparison && boxes.word.value, prefix: !isComparison && boxes.prefix.value });
  showProgress(true);
  try {
    const isDone = await run((signal) => (isComparison ? compare(body, signal) : explain(body, signal)));
    if (isDone === undefined) return undefined;
    showError(find("#error"), null);
  } catch (error) {
    showProgress(false);
    showError(find("#error"), error);
  }
  return undefined;
}

async function explain(body, signal) {
  const sentence = boxes.text.value;
  const question = { ...body, text: sentence, prefix: boxes.prefix.value || null };
  const page = await postForPage("/v1/explain/page", question, signal);
  showInFrame(result, {
    kind: "explanation", label: text("why.explanation", { sentence }), content: { page, texts: textsOf("live.") },
    onMessage: (message, send) => onMessage(message, send, question),
  });
  return true;
}

async function compare(body, signal) {
  const data = await post("/v1/compare", { ...body, texts: [boxes.text.value, boxes.second.value], word: boxes.word.value || null }, signal);
  const title = text("why.comparison", { word: data.word });
  showInFrame(result, { kind: "explanation", label: title, content: { data, title, note: data.model.name } });
  return true;
}

// ---- what the page in the frame asks for ----
const change = latestOnly();
const opening = latestOnly();
function onMessage(message, send, body) {
  if (message.kind === "force") {
    boxes.prefix.value = String(message.prefix);
    ask();
  }
  const { model, source, target, text: sentence } = body;
  const question = { model, source, target, text: sentence };
  if (message.kind === "what-if" && Array.isArray(message.without))
    reply("what-if", change, (signal) => post("/v1/what-if", { ...question, without: message.without.map(String) }, signal).then((data) => ({ data })));
  if (message.kind === "sums")
    reply("sums", opening, (signal) => post("/v1/explain", { ...body, parts: ["sums"], sums: [String(message.head)] }, signal).then(({ sums }) => ({ sums })));

  async function reply(kind, only, ask) {
    try {
      const answer = await only(ask);
      if (answer) send({ kind, ...answer });
    } catch (error) {
      send({ kind, error: error.message });
    }
  }
}

function showProgress(isBusy) {
  find(".progress", result)?.remove();
  result.classList.toggle("old", isBusy);
  if (isBusy) result.append(make("div", { class: "progress" }, make("p", {}, make("span", { class: "busy" }), make("span", {}, text("why.working")))));
}
result.addEventListener("shown", () => {
  showProgress(false);
  const frame = find("iframe", result);
  find("#live").textContent = text("why.ready");
  if (matchMedia("(max-width: 44rem)").matches) frame.scrollIntoView({ block: "start", behavior: "smooth" });
});

// ---- controls ----
find("#ask").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
boxes.text.addEventListener("input", () => (boxes.prefix.value = "")); // a forced start belongs to its sentence
boxes.direction.addEventListener("change", () => {
  boxes.prefix.value = "";
  if (boxes.text.value) find("#ask").requestSubmit();
});
find("#mode-explain").addEventListener("click", () => setMode(false));
find("#mode-compare").addEventListener("click", () => setMode(true));
for (const button of findAll("#examples button"))
  button.addEventListener("click", () => {
    boxes.text.value = button.textContent;
    boxes.prefix.value = "";
    boxes.word.value = "";
    boxes.second.value = button.dataset.second ?? "";
    setMode(Boolean(button.dataset.second));
    ask();
  });

// ---- start ----
const start = readState();
async function begin() {
  try {
    listDirections((await get("/v1/models")).models, start);
    find("#examples").closest(".empty").classList.toggle("foreign", direction().source !== "en");
    showError(find("#error"), null);
    if (boxes.text.value) ask();
  } catch (error) {
    showError(find("#error"), error);
  }
  document.body.dataset.ready = "yes";
}
for (const name of ["text", "second", "word", "prefix"]) if (start[name]) boxes[name].value = start[name];
setMode(Boolean(start.second));
onKey(begin);
begin();
