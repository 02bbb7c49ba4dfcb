// A problem as YAML: a line for each key of the problem, and values in flow style, as people write exercises.
const PLAIN = /^[A-Za-z_][\w.-]*$/; // needs no quotes; words that YAML reads as something else do
const READ_OTHERWISE = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;

const scalar = (value) => (typeof value === "string" && !(PLAIN.test(value) && !READ_OTHERWISE.test(value)) ? JSON.stringify(value) : String(value));

function flow(value) {
  if (Array.isArray(value)) return `[${value.map(flow).join(", ")}]`;
  if (typeof value === "object" && value !== null) return `{${Object.entries(value).map(([key, item]) => `${scalar(key)}: ${flow(item)}`).join(", ")}}`;
  return scalar(value);
}

export function writeYaml(problem) {
  const lines = Object.entries(problem).flatMap(([key, value]) => {
    const isListOfMaps = Array.isArray(value) && value.some((item) => typeof item === "object" && item !== null && !Array.isArray(item));
    return isListOfMaps ? [`${scalar(key)}:`, ...value.map((item) => `  - ${flow(item)}`)] : [`${scalar(key)}: ${flow(value)}`];
  });
  return `${lines.join("\n")}\n`;
}
