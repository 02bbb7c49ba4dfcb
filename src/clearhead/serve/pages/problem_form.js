// A form for a kind of exercise: a control for each of its fields, by the field's type and by the value it has.
import { make } from "./elements.js";
import { cellValue, makeGrid } from "./matrix.js";
import { text } from "./texts.js";

const isList = Array.isArray;
const isScalar = (value) => ["string", "number"].includes(typeof value);
const isVector = (value) => isList(value) && value.length > 0 && value.every(isScalar) && value.some((cell) => typeof cell === "number");
const isMatrix = (value) => isList(value) && value.length > 0 && value.every((row) => isList(row) && row.length > 0 && row.every(isScalar));
const isMap = (value) => typeof value === "object" && value !== null && !isList(value);
const isVectors = (value) => isMap(value) && Object.keys(value).length > 0 && Object.values(value).every((row) => isList(row) && row.every(isScalar));
const isWords = (value) => isList(value) && value.every((word) => isScalar(word) && !/\s/.test(String(word)));

// The first value of a field that was added.
const FIRST = {
  matrix: [[0, 0], [0, 0]], matrices: [[[0, 0], [0, 0]]], vector: [0, 0], vectors: { word: [0, 0] }, words: [], number: "", integer: "", text: "",
  truth: true, group: {}, groups: [{}], yaml: "",
};
const firstValue = (field) => (field.choices.length ? String(field.default ?? field.choices[0]) : structuredClone(FIRST[field.type] ?? ""));

// What a value is edited with. A value that does not fit the type of its field is edited by its own shape.
function controlOf(field, value) {
  if (field.choices.length && (value === "" || field.choices.includes(String(value)))) return field.type === "choice" ? "choice" : "suggestion";
  if (field.choices.length) return "suggestion";
  if (typeof value === "boolean") return "truth";
  if (isMatrix(value)) return "matrix";
  if (field.type === "matrices" && isList(value) && value.every(isMatrix)) return "matrices";
  if (field.type === "words" && isWords(value)) return "words";
  if (isVector(value)) return "vector";
  if (field.type === "vectors" && isVectors(value)) return "vectors";
  if (isMap(value)) return "group";
  if (isList(value) && value.length && value.every(isMap)) return "groups";
  if (isList(value) && value.every((line) => typeof line === "string")) return "lines";
  if (typeof value === "number" || ["number", "integer"].includes(field.type)) return "number";
  return typeof value === "string" ? "text" : "json";
}

// Show the form of a problem. `fieldsOf` returns the fields of a kind. Returns a function that reads the problem.
export function makeForm(box, { problem, fieldsOf, onChange }) {
  const form = makeGroup({ values: problem, fields: fieldsOf(problem), label: "", fieldsOf, onChange, isTop: true });
  box.replaceChildren(...form.elements);
  return form.read;
}

// The fields of a problem, or of a group in it: those with a value have a control, the others can be added.
function makeGroup({ values, fields, label, fieldsOf, onChange, isTop = false }) {
  const hidden = isTop || "kind" in values ? ["kind"] : [];
  const known = new Map(fields.map((field) => [field.name, field]));
  const entries = new Map();
  const list = make("div", { class: "group-fields" });
  const adder = make("select", { "aria-label": text("form.add_to", { label: label || text("form.problem") }) });

  function fieldOf(name, value) {
    return known.get(name) ?? { name, type: isList(value) || isMap(value) ? "yaml" : "text", choices: [], description: "", fields: [], is_required: false };
  }
  function add(name, value) {
    const field = fieldOf(name, value);
    const entry = makeEntry({ field, value, label: label ? `${label}.${name}` : name, fieldsOf, onChange, onRemove: () => {
      entries.delete(name);
      entry.element.remove();
      listOthers();
      adder.focus();
      onChange();
    } });
    entries.set(name, entry);
    list.append(entry.element);
    return entry;
  }
  function listOthers() {
    const others = fields.filter((field) => !entries.has(field.name) && !hidden.includes(field.name));
    adder.replaceChildren(make("option", { value: "" }, text("form.add")), ...others.map((field) => make("option", { value: field.name, lang: "en" }, `${field.name}: ${field.description}`)));
    adder.hidden = !others.length;
  }
  adder.addEventListener("change", () => {
    if (!adder.value) return;
    const entry = add(adder.value, firstValue(known.get(adder.value)));
    listOthers();
    entry.element.querySelector("input, select, textarea")?.focus();
    onChange();
  });
  const required = fields.filter((field) => field.is_required && !(field.name in values));
  for (const [name, value] of Object.entries(values)) if (!hidden.includes(name)) add(name, value);
  for (const field of required) add(field.name, firstValue(field));
  listOthers();
  const fixed = Object.fromEntries(hidden.filter((name) => name in values).map((name) => [name, values[name]]));
  return {
    elements: [list, make("div", { class: "add" }, adder)],
    read: () => ({ ...fixed, ...Object.fromEntries([...entries].map(([name, entry]) => [name, entry.read()])) }),
  };
}

function makeEntry({ field, value, label, fieldsOf, onChange, onRemove }) {
  const kind = controlOf(field, value);
  const control = CONTROLS[kind]({ field, value, label, fieldsOf, onChange });
  const remove = field.is_required ? null : make("button", { type: "button", class: "button quiet small remove", onclick: onRemove, "aria-label": text("form.remove_field", { label }) }, text("form.remove"));
  const head = make("div", { class: "entry-head" }, make("b", {}, field.name), make("span", { class: "hint", lang: "en" }, field.description ?? ""), remove);
  const element = make(kind === "group" || kind === "groups" ? "fieldset" : "div", { class: "entry", "aria-label": kind === "group" || kind === "groups" ? label : null }, head, control.elements);
  return { element, read: control.read };
}

const grid = (kind, rows) => ({ label, onChange }) => {
  const made = makeGrid({ label, kind, rows, onChange });
  return { elements: [made.element], read: made.read };
};
const typed = (attributes, write, read) => ({ value, label, onChange }) => {
  const input = make(attributes.rows ? "textarea" : "input", { autocomplete: "off", spellcheck: "false", ...attributes, "aria-label": label, oninput: onChange });
  input.value = write(value);
  return { elements: [input], read: () => read(input.value) };
};
const readJson = (content) => {
  try {
    return JSON.parse(content);
  } catch {
    return cellValue(content);
  }
};

const CONTROLS = {
  matrix: (one) => grid("matrix", one.value)(one),
  vector: (one) => grid("vector", [one.value])(one),
  vectors: (one) => grid("vectors", Object.entries(one.value).map(([name, row]) => [name, ...row]))(one),
  words: typed({}, (value) => value.join(" "), (content) => content.split(/\s+/).filter(Boolean)),
  lines: typed({ rows: 3 }, (value) => value.join("\n"), (content) => content.split("\n").filter(Boolean)),
  number: typed({ inputmode: "decimal" }, String, cellValue),
  text: (one) => typed({}, String, one.field.type === "yaml" ? readJson : (content) => content)(one),
  json: typed({ rows: 3 }, JSON.stringify, readJson),
  truth({ value, label, onChange }) {
    const input = make("input", { type: "checkbox", "aria-label": label, onchange: onChange });
    input.checked = value;
    return { elements: [input], read: () => input.checked };
  },
  choice({ field, value, label, onChange }) {
    const select = make("select", { "aria-label": label, onchange: onChange }, field.choices.map((choice) => make("option", { value: choice }, choice)));
    select.value = String(value || field.default || field.choices[0]);
    return { elements: [select], read: () => select.value };
  },
  suggestion({ field, value, label, onChange }) {
    const id = `choices-${label.replace(/\W/g, "-")}`;
    const input = make("input", { "aria-label": label, list: id, autocomplete: "off", oninput: onChange });
    input.value = String(value);
    return { elements: [input, make("datalist", { id }, field.choices.map((choice) => make("option", { value: choice })))], read: () => cellValue(input.value) };
  },
  group({ field, value, label, fieldsOf, onChange }) {
    return makeGroup({ values: value, fields: field.fields?.length ? field.fields : fieldsOf(value), label, fieldsOf, onChange });
  },
  groups: (one) => makeList(one, (value, label) => CONTROLS.group({ ...one, value, label }), {}),
  matrices: (one) => makeList(one, (value, label) => CONTROLS.matrix({ ...one, value, label }), FIRST.matrix),
};

// Several groups or matrices, one below the other.
function makeList({ value, label, onChange }, makeItem, first) {
  const list = make("div", { class: "group-fields" });
  const items = new Map();
  let count = 0;
  function add(content) {
    count += 1;
    const name = `${label} ${count}`;
    const item = makeItem(structuredClone(content), name);
    const remove = make("button", { type: "button", class: "button quiet small remove", "aria-label": text("form.remove_field", { label: name }), onclick: () => {
      items.delete(element);
      element.remove();
      onChange();
    } }, text("form.remove"));
    const element = make("fieldset", { class: "entry", "aria-label": name }, make("div", { class: "entry-head" }, make("b", {}, name), remove), item.elements);
    items.set(element, item);
    list.append(element);
  }
  value.forEach(add);
  const more = make("button", { type: "button", class: "button small", onclick: () => {
    add(first);
    onChange();
  } }, text("form.another", { label }));
  return { elements: [list, make("div", { class: "matrix-tools" }, more)], read: () => [...items.values()].map((item) => item.read()) };
}
