// A text as sentences, and the words of a sentence with their places in its text.
// Sentences are translated one by one, so that those that did not change need not be translated again.
export function splitSentences(whole, language) {
  const parts = [];
  for (const line of whole.split(/(\n+)/)) {
    if (!line.trim()) {
      if (line) parts.push({ text: "", after: line });
      continue;
    }
    for (const { segment } of segmenter(language).segment(line)) {
      const text = segment.trim();
      const start = segment.indexOf(text);
      if (start && parts.length) parts.at(-1).after += segment.slice(0, start);
      parts.push({ before: parts.length ? "" : segment.slice(0, start), text, after: segment.slice(start + text.length) });
    }
  }
  return place(parts);
}

// Add to each sentence where it starts in the whole text.
function place(parts) {
  let at = 0;
  for (const part of parts) {
    part.before ??= "";
    part.start = at + part.before.length;
    at = part.start + part.text.length + part.after.length;
  }
  return parts;
}

const segmenters = new Map();
function segmenter(language) {
  if (!segmenters.has(language)) {
    // "ss-standard": no end of a sentence after abbreviations such as "Mr."
    const locale = `${/^[a-z]{2,3}$/.test(language) ? language : "en"}-u-ss-standard`;
    segmenters.set(language, new Intl.Segmenter(locale, { granularity: "sentence" }));
  }
  return segmenters.get(language);
}

// The places [start, end) of words in a text, in order; a word that is not found (a changed spelling) has none.
export function placesOf(words, text) {
  let from = 0;
  return words.map((word) => {
    const start = text.indexOf(word, from);
    if (start < 0 || !word) return null;
    from = start + word.length;
    return [start, from];
  });
}

// The links of an alignment such as "0-0 1-2" as pairs of a source word and a target word.
export const linksOf = (alignment) => (alignment ?? "").split(" ").filter(Boolean).map((pair) => pair.split("-").map(Number));

// Places where no alignment gave words: what stands between spaces.
export const wordsOf = (text) => text.split(/\s+/).filter(Boolean);
