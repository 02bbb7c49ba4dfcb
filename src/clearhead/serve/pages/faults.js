// Mark the controls of a form that an error of the server names: `X: row 1, column 2: 'a' is not a number.`
import { find, findAll } from "./elements.js";
import { text } from "./texts.js";

const NAMED = /^(?:part (\d+): )?([\w, ]+?)(?:: the vector of '(.*)')?(?:: row (\d+), column (\d+))?: /;

// Remove the marks of the last error, and mark what this one names. `description` is the id of the error's element.
export function markFaults(form, message, description) {
  for (const input of findAll("[aria-invalid]", form)) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
  const inputs = message.split("\n").map((line) => inputOf(form, line)).filter(Boolean);
  for (const input of inputs) {
    input.setAttribute("aria-invalid", "true");
    input.setAttribute("aria-describedby", description);
  }
}

function inputOf(form, line) {
  const [, part, path, word, row, column] = NAMED.exec(line) ?? [];
  if (!path) return null;
  // the server writes `encoder, item 1, self_attention`, the form `encoder 1.self_attention`
  const own = path.replace(/, item (\d+)/g, " $1").replaceAll(", ", ".");
  const label = part ? `parts ${part}.${own}` : own;
  const labelled = (name) => findAll("[aria-label]", form).find((element) => element.getAttribute("aria-label") === name);
  if (word !== undefined) {
    const rows = findAll("tr", labelled(label) ?? form);
    const own = rows.find((one) => find("input.name", one)?.value === word);
    return own ? findAll("input", own)[Number(column)] : null;
  }
  const element = labelled(row ? text("matrix.cell", { label, row, column }) : label);
  return element?.matches("input, select, textarea") ? element : null;
}
