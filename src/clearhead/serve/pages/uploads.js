// Documents: a file is sent, and the translated file is offered.
import { upload } from "./api.js";
import { make } from "./elements.js";
import { text } from "./texts.js";

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
  const controller = new AbortController();
  const bar = make("progress", { "aria-label": text("upload.progress", { name: file.name }) });
  const state = make("span", { class: "hint" }, text("translate.working"));
  const cancel = make("button", { type: "button", class: "button", onclick: () => controller.abort() }, text("upload.cancel"));
  const row = make("li", { class: "card" }, make("span", { class: "name" }, file.name), state, bar, cancel);
  list.prepend(row);
  const form = new FormData();
  form.set("file", file);
  form.set("source", source);
  form.set("target", target);
  if (model) form.set("model", model);
  try {
    const answer = await upload("/translate_file", form, controller.signal);
    const href = new URL(answer.translatedFileUrl).pathname; // behind a proxy the server does not know its own name
    const onclick = () => setTimeout(() => (state.textContent = text("upload.saved")), 500);
    state.replaceChildren(make("a", { class: "button main", href, download: file.name, onclick }, text("upload.download")));
    row.append(...answer.notes.map((note) => make("p", { class: "hint", lang: "en" }, note)));
  } catch (error) {
    if (controller.signal.aborted) return row.remove();
    state.textContent = text("upload.failed");
    row.append(make("p", { class: "error" }, error.message));
  }
  bar.remove();
  cancel.remove();
  return undefined;
}
