// The page of an explanation, live: a head can be switched off, and a word can be forced. The page asks the site around its
// frame, which calls the server. The functions that build a head and a list of alternatives are given these controls here.
{
  const liveText = (key, values = {}) => LIVE.texts[`live.${key}`].replace(/\{(\w+)\}/g, (_, name) => String(values[name]));

  // ---- heads ----
  const offHeads = new Map(); // names of the heads that are off, with their titles
  let lastHeads = new Map(); // those of the last answer
  let isOpened = false; // whether the sums of a head were loaded
  let change = null; // the answer to the last question: data, an error, or null while the server works
  const panel = make("div", { class: "live-head", role: "group" });

  const plainHeadView = headView;
  headView = (state, onShift) => {
    const [heading, facts, ...rest] = plainHeadView(state, onShift);
    const { name } = state.stack.layers[state.layer][state.head];
    heading.append(make("small", {}, ` (${liveText("from_zero")})`)); // its name in commands
    showPanel(name, headTitle(state.stack, state.layer, state.head));
    return [heading, facts, panel, ...rest];
  };

  function showPanel(name, title) {
    const isOff = offHeads.has(name);
    const toggle = () => {
      if (isOff) offHeads.delete(name);
      else offHeads.set(name, title);
      askWithout(name, title);
    };
    const button = make("button", { type: "button", class: "plain-button", "aria-pressed": String(isOff), onclick: toggle }, liveText(isOff ? "switch_on" : "switch_off"));
    const all = offHeads.size > 1 ? make("button", { type: "button", class: "plain-button", onclick: () => (offHeads.clear(), askWithout(name, title)) }, liveText("all_on")) : null;
    const list = offHeads.size ? make("p", { class: "hint" }, liveText("off", { heads: [...offHeads.values()].join("; ") })) : make("p", { class: "hint" }, liveText("hint"));
    const sums = DATA.sums?.[name] ? null : make("button", { type: "button", class: "plain-button", onclick: (event) => {
      event.currentTarget.disabled = true;
      event.currentTarget.textContent = liveText("loading");
      LIVE.send({ kind: "sums", head: name });
    } }, liveText("sums"));
    panel.setAttribute("aria-label", liveText("heads"));
    const hadFocus = panel.contains(document.activeElement);
    const opened = isOpened && !sums ? make("p", { class: "hint", role: "status" }, liveText("sums_loaded")) : "";
    panel.replaceChildren(make("div", { class: "tools" }, button, all ?? "", sums ?? ""), list, opened, ...(offHeads.size || change?.error ? changeView() : []));
    if (hadFocus) button.focus();
    panel.redraw = () => showPanel(name, title);
  }

  function askWithout(name, title) {
    change = null;
    markThumbnails();
    showPanel(name, title);
    if (offHeads.size) LIVE.send({ kind: "what-if", without: [...offHeads.keys()] });
    else lastHeads = new Map();
  }
  function markThumbnails() {
    for (const thumbnail of document.querySelectorAll(".thumbnail")) thumbnail.classList.toggle("off", [...offHeads.values()].some((off) => thumbnail.getAttribute("aria-label").startsWith(`${off}:`)));
  }
  // Nothing is called off that the server has not switched off.
  function setBack() {
    offHeads.clear();
    for (const [name, title] of lastHeads) offHeads.set(name, title);
    markThumbnails();
  }

  addEventListener("live", ({ detail }) => {
    if (detail?.kind === "sums") {
      if (detail.sums) Object.assign((DATA.sums ??= {}), detail.sums);
      isOpened = Boolean(detail.sums);
      document.querySelector("#atlas .thumbnail[aria-pressed='true']")?.click(); // draws the open head again, with its sums
      if (detail.error) panel.append(make("p", { role: "alert" }, detail.error));
    }
    if (detail?.kind === "select") selectWord(detail.at);
    if (detail?.kind !== "what-if") return;
    change = detail;
    if (detail.error) setBack();
    else lastHeads = new Map(offHeads);
    panel.redraw?.();
  });

  // The translation before and after, and the tokens whose probability changes most.
  const MOST_TOKENS = 5;
  function changeView() {
    if (!change) return [make("p", { class: "hint", role: "status" }, liveText("working"))];
    if (change.error) return [make("p", { role: "alert" }, change.error)];
    const { before, after, is_same: isSame, total, tokens } = change.data;
    const line = (key, content) => [make("dt", {}, liveText(key)), make("dd", { dir: "auto" }, content)];
    const texts = make("div", { role: "status" }, make("dl", {}, line("before", before), line("after", isSame ? liveText("same") : changedWords(before, after))));
    const moved = [...tokens].sort((a, b) => Math.abs(b.difference) - Math.abs(a.difference)).slice(0, MOST_TOKENS);
    const head = make("tr", {}, [liveText("token"), liveText("log_before"), liveText("log_after")].map((name) => make("th", { scope: "col" }, name)));
    const rows = moved.map((one) => make("tr", {}, make("th", { scope: "row", dir: "auto" }, pieceText(one.piece)), make("td", {}, write(one.before, 3)), make("td", { class: one.difference < 0 ? "worse" : "better" }, write(one.after, 3))));
    return [texts, make("p", { class: "hint" }, liveText("total", { before: write(total.before, 3), after: write(total.after, 3) })),
      make("div", { class: "box" }, make("table", {}, make("thead", {}, head), make("tbody", {}, rows)))];
  }

  // The words of the new translation; those that the old one does not have are marked.
  function changedWords(before, after) {
    const old = new Set(before.split(/\s+/));
    return after.split(/(\s+)/).map((word) => (!word.trim() || old.has(word) ? word : make("mark", {}, word)));
  }

  // ---- words ----
  const plainAlternativesCard = alternativesCard;
  alternativesCard = (token, at) => {
    const card = plainAlternativesCard(token, at);
    const rows = [...card.querySelectorAll("li")];
    card.querySelector(".bars").classList.add("with-force");
    token.alternatives.forEach((other, n) => {
      if (other.token === token.token || /^(<.*>|▁*)$/.test(other.piece)) return; // not a word by itself
      const prefix = prefixText([...TARGET.pieces.slice(0, at), other.piece]);
      rows[n].append(make("button", { type: "button", class: "force", "aria-label": liveText("force_word", { word: pieceText(other.piece) }), onclick: () => LIVE.send({ kind: "force", prefix, at }) }, liveText("force")));
    });
    return card;
  };

  // Select the word that was forced, and give it the focus.
  function selectWord(at) {
    const word = [...document.querySelectorAll(".word")].find((button) => button.getAttribute("aria-label").startsWith(`word ${at + 1}:`));
    word?.click();
    word?.focus();
  }

  // The text of the first pieces of a translation.
  const prefixText = (pieces) => pieces.join(pieces.some((piece) => piece.startsWith("▁")) ? "" : " ").replaceAll("▁", " ").replaceAll("@@ ", "").trim();
}
