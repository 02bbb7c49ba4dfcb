// Documents: a file is sent, its progress is shown as the server reports it, and the translated file is offered.
import { remove, upload } from "./api.js";
import { make } from "./elements.js";
import { text, writeNumber } from "./texts.js";

export function acceptFiles({ input, area, list, request }) {
  input.addEventListener("change", () => {
    for (const file of input.files) start(file, list, request());
    input.value = "";
  });
  area.addEventListener("dragover", (event) => {
    if (![...event.dataTransfer.items].some((item) => item.kind === "file")) return;
    event.preventDefault();
    area.classList.add("dropping");
  });
  for (const kind of ["dragleave", "drop"]) area.addEventListener(kind, () => area.classList.remove("dropping"));
  area.addEventListener("drop", (event) => {
    if (!event.dataTransfer.files.length) return;
    event.preventDefault();
    for (const file of event.dataTransfer.files) start(file, list, request());
  });
}

async function start(file, list, { source, target, model }) {
  const bar = make("progress", { "aria-label": text("upload.progress", { name: file.name }) });
  const state = make("span", { class: "hint" }, text("upload.sending"));
  const fault = make("p", { class: "error" });
  const row = make("li", { class: "card" }, make("span", { class: "name" }, file.name), state, bar, fault);
  list.prepend(row);
  const form = new FormData();
  form.set("file", file);
  form.set("source", source);
  form.set("target", target);
  if (model) form.set("model", model);
  try {
    const answer = await upload("/v1/files", form);
    follow(answer, { row, bar, state, fault, name: file.name });
  } catch (error) {
    fail(error.message, { bar, state, fault });
  }
}

function fail(sentence, { bar, state, fault }) {
  bar.remove();
  state.textContent = text("upload.failed");
  fault.textContent = sentence;
}

function follow({ id, events, download }, shown) {
  const { row, bar, state, name } = shown;
  const stream = new EventSource(events);
  const cancel = make("button", { type: "button", class: "button", onclick: () => {
    stream.close();
    remove(`/v1/files/${encodeURIComponent(id)}`).catch(() => {}); // it may be gone already
    row.remove();
  } }, text("upload.cancel"));
  row.append(cancel);
  stream.addEventListener("progress", (event) => {
    const { done, total } = JSON.parse(event.data);
    bar.max = Math.max(1, total);
    bar.value = done;
    state.textContent = text("upload.sentences", { done: writeNumber(done), total: writeNumber(total) });
  });
  stream.addEventListener("done", () => {
    stream.close();
    cancel.remove();
    bar.remove();
    state.replaceChildren(make("a", { class: "button main", href: download, download: name, onclick: () => setTimeout(() => (state.textContent = text("upload.saved")), 500) }, text("upload.download")));
  });
  stream.addEventListener("error", (event) => {
    stream.close(); // a broken connection would be opened again, but the server says everything only once
    cancel.remove();
    fail(event.data ? JSON.parse(event.data).error : text("error.network"), shown);
  });
}
