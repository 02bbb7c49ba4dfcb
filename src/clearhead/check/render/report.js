// Highlights the cells that an error affects when it is pointed at, and opens the details of a clicked cell.
// All sentences are in the page already; nothing is computed here.
(() => {
  const status = document.getElementById("status");
  const numbersOf = (cell, name) => (cell.dataset[name] ?? "").split(" ").filter(Boolean);

  for (const table of document.querySelectorAll("figure.matrix table")) {
    table.setAttribute("role", "grid");
    cellsOf(table).forEach((cell, position) => {
      cell.setAttribute("aria-label", cell.title);
      cell.removeAttribute("title"); // the status bar shows the same text immediately, so that a tooltip would repeat it
      cell.tabIndex = position ? -1 : 0;
    });
  }

  // ---- highlighting: the element under the pointer, else the focused one, else the cell with open details ----
  let pointed = null;
  let focused = null;
  let pinned = null;

  function findingsOf(target) {
    if (target.matches(".finding")) return [target.dataset.finding];
    const roots = numbersOf(target, "root");
    return roots.length ? roots : numbersOf(target, "below");
  }

  function look() {
    for (const element of document.querySelectorAll(".lit, .source, .current")) element.classList.remove("lit", "source", "current");
    const target = pointed ?? focused ?? pinned;
    const isCell = target?.matches("td") ?? false;
    status.hidden = !isCell || target === pinned; // open details are shown below the matrix
    if (!target) return;
    const report = target.closest(".report");
    const numbers = findingsOf(target);
    const isStart = !isCell || numbersOf(target, "root").length > 0; // an affected cell highlights only where its error starts
    for (const cell of cellsOf(report)) {
      const isBelow = numbersOf(cell, "below").some((number) => numbers.includes(number));
      cell.classList.toggle("lit", isStart && isBelow);
      cell.classList.toggle("source", numbersOf(cell, "root").some((number) => numbers.includes(number)));
    }
    for (const number of numbers) report.querySelector(`.finding[data-finding="${number}"]`).classList.add("source");
    if (!isCell) return;
    target.classList.add("current");
    status.textContent = target.getAttribute("aria-label");
  }

  // ---- details of a cell ----
  function close() {
    pinned?.closest("figure").querySelector(".story").replaceChildren();
    pinned = null;
  }

  function link(report, number, before) {
    const finding = report.querySelector(`.finding[data-finding="${number}"]`);
    const line = document.createElement("p");
    const anchor = document.createElement("a");
    anchor.href = `#${finding.id}`;
    anchor.textContent = finding.querySelector("summary").textContent;
    line.append(before, anchor);
    return line;
  }

  function tell(cell) {
    close();
    pinned = cell;
    const report = cell.closest(".report");
    const sentence = document.createElement("p");
    sentence.textContent = cell.getAttribute("aria-label");
    const roots = numbersOf(cell, "root").map((number) => link(report, number, "Starts here: "));
    const below = numbersOf(cell, "below").map((number) => link(report, number, "Affected by: "));
    cell.closest("figure").querySelector(".story").replaceChildren(sentence, ...roots, ...below);
    look();
  }

  function open(finding) {
    finding.open = true;
    finding.scrollIntoView({ block: "nearest" });
    finding.querySelector("summary").focus();
  }

  // ---- keys and pointer ----
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.metaKey) return;
    if (event.key === "Escape" && pinned) {
      const cell = pinned;
      close();
      if (document.activeElement?.closest(".story") || document.activeElement === document.body) cell.focus();
      look();
      return;
    }
    const cell = event.target.closest?.("td[data-at]");
    if (!cell) return;
    const target = cellByKey(cell, event);
    if (target) target.focus();
    else if (event.key === "Enter" || event.key === " ") tell(cell);
    else return;
    event.preventDefault();
  });
  document.addEventListener("focusin", (event) => {
    focused = event.target.closest("td[data-at], .finding");
    if (focused?.matches("td")) {
      makeTabStop(focused);
      focused.scrollIntoView({ block: "nearest", inline: "nearest" });
    }
    look();
  });
  document.addEventListener("focusout", () => {
    focused = null;
    look();
  });
  document.addEventListener("pointerover", (event) => {
    const target = event.target.closest("td[data-at], .finding");
    if (target === pointed) return;
    pointed = target;
    look();
  });
  document.addEventListener("click", (event) => {
    const anchor = event.target.closest('a[href^="#r"]');
    const finding = anchor && document.querySelector(`.finding${anchor.getAttribute("href")}`);
    const cell = event.target.closest("td[data-at]");
    if (finding) {
      event.preventDefault();
      open(finding);
    } else if (cell) tell(cell);
  });

  document.querySelector(".help").hidden = false;
  const linked = /^#r\d+f\d+$/.test(location.hash) && document.querySelector(location.hash);
  if (linked) open(linked);
})();
