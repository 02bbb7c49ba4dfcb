// A practice sheet in a sandboxed frame, which has no storage: the site around it keeps what is typed, and has it marked.
{
  const { send, texts, work } = LIVE;
  const setItem = (name, value) => value && send({ kind: "work", work: value }); // the sheet also stores "", as a test
  // undefined: the site has no storage either, and the sheet finds that out by itself
  if (work !== undefined) Object.defineProperty(globalThis, "localStorage", { value: { getItem: () => work, setItem, removeItem() {} } });

  // The lines with cells to fill in, as the server takes them: "" for a cell that is printed or empty
  const linesOf = () => {
    const lines = {};
    typedTexts().forEach((rows, index) => {
      const { where, symbol, shown } = sheet.records[index];
      if (shown.flat().includes(null)) lines[where ? `${where}:${symbol}` : symbol] = turned(rows);
    });
    return lines;
  };
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = texts["practice.mark"];
  button.addEventListener("click", () => send({ kind: "mark", lines: linesOf() }));
  document.querySelector(".buttons").append(button);
}
