// What a person has typed, kept in this tab: it survives a reload, another language of the pages, and the way back.
const KEY = "clearhead-draft";
const hash = () => (location.hash.includes("=") ? location.hash : ""); // others, such as #main, are places on the page

export function keepDraft(content) {
  try {
    sessionStorage.setItem(KEY + location.pathname, JSON.stringify({ hash: hash(), content }));
  } catch {
    // no room, or no storage: the draft is lost when the page is left
  }
}

// A reload may use an address that was replaced a moment ago: the draft is newer.
const isReload = () => performance.getEntriesByType("navigation")[0]?.type === "reload";

// The draft of this page; none if the address states something else than when the draft was kept, as a link does.
export function readDraft() {
  try {
    const draft = JSON.parse(sessionStorage.getItem(KEY + location.pathname) ?? "null");
    return draft && (!hash() || draft.hash === hash() || isReload()) ? draft.content : null;
  } catch {
    return null;
  }
}
