// Why: a sentence is explained by the server, and its page is shown in a frame. The page asks back here, because only this
// page may call the server: to switch heads off, and to force a word.
import "./site.js";
import { get, onKey, post, postForPage, showError } from "./api.js";
import { keepDraft, readDraft } from "./drafts.js";
import { fillSelect, find, findAll, latestOnly, make, onAddress, readState, writeState } from "./elements.js";
import { showInFrame } from "./frames.js";
import { languageName, text, textsOf } from "./texts.js";

const boxes = { text: find("#text"), second: find("#second"), word: find("#word"), prefix: find("#prefix"), direction: find("#direction") };
const result = find("#result");
const run = latestOnly();
let isComparison = false;
let directions = [];
let forcedAt = null; // the token that was forced in the frame, whose next page selects it again

// ---- what is asked ----
function listDirections(models, start) {
  directions = models.filter((model) => model.can_explain).flatMap((model) => model.directions.map(({ source, target }) => ({ model: model.name, source, target })));
  const isSeveral = new Set(directions.map((one) => one.model)).size > 1;
  const name = (one) => `${languageName(one.source)} → ${languageName(one.target)}${isSeveral ? ` · ${one.model}` : ""}`;
  fillSelect(boxes.direction, directions.map((one, n) => [String(n), name(one)]), directionAt(start));
}
// The first direction with the languages and the model of a state.
function directionAt(values) {
  const at = directions.findIndex((one) => (!values.source || one.source === values.source) && (!values.target || one.target === values.target) && (!values.model || one.model === values.model));
  return String(Math.max(0, at));
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

const state = () => ({ ...direction(), text: boxes.text.value, second: isComparison && boxes.second.value, word: isComparison && boxes.word.value, prefix: !isComparison && boxes.prefix.value });

// Fill the fields with a state of the address, or with a draft.
function fill(values) {
  for (const name of ["text", "second", "word", "prefix"]) boxes[name].value = values[name] || "";
  setMode(Boolean(values.second));
}

// ---- asking ----
async function ask() {
  const body = direction();
  if (body.model === undefined) return showError(find("#error"), new Error(text("why.no_model")));
  writeState(state(), { isNewStep: true });
  keepDraft(state());
  showProgress(true);
  try {
    const isDone = await run((signal) => (isComparison ? compare(body, signal) : explain(body, signal)));
    if (isDone === undefined) return undefined;
    showError(find("#error"), null);
  } catch (error) {
    showProgress(false);
    showError(find("#error"), error, ask);
  }
  return undefined;
}

async function explain(body, signal) {
  const sentence = boxes.text.value;
  const question = { ...body, text: sentence, prefix: boxes.prefix.value || null };
  const page = await postForPage("/v1/explain/page", question, signal);
  const send = showInFrame(result, {
    kind: "explanation", label: text("why.explanation", { sentence }), content: { page, texts: textsOf("live.") },
    onMessage: (message, send) => onMessage(message, send, question),
  });
  const at = forcedAt;
  if (at !== null) result.addEventListener("shown", () => send({ kind: "select", at }), { once: true });
  forcedAt = null;
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
    forcedAt = Number(message.at);
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
  if (matchMedia("(max-width: 44rem)").matches) frame.scrollIntoView(); // nothing moves under a finger
});

// ---- controls ----
find("#ask").addEventListener("input", () => keepDraft(state()));
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
    fill({ text: button.dataset.first ?? button.textContent, second: button.dataset.second });
    ask();
  });

// ---- start ----
const start = readDraft() ?? readState();
async function begin() {
  try {
    listDirections((await get("/v1/models")).models, start);
    find("#examples").closest(".empty").classList.toggle("foreign", direction().source !== "en");
    showError(find("#error"), null);
    if (boxes.text.value && readState().text) ask();
  } catch (error) {
    showError(find("#error"), error, begin);
  }
  document.body.dataset.ready = "yes";
}
if (Object.keys(start).length) fill(start);
else setMode(false);
onAddress((values) => {
  fill(values);
  boxes.direction.value = directionAt(values);
  if (values.text) ask();
});
onKey(begin);
begin();
