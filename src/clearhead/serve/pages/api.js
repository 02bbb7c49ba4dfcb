// Calls of the server's API. An error has one sentence, which the server wrote; the key is kept for this tab only.
import { find, make } from "./elements.js";
import { language, text } from "./texts.js";

const KEY = "clearhead-key";
const MOST_TRIES = 3;
const LONGEST_WAIT = 5; // seconds that a busy server may ask for

export class ApiError extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.status = status;
  }
}

const headers = () => (sessionStorage.getItem(KEY) ? { Authorization: `Bearer ${sessionStorage.getItem(KEY)}` } : {});

const pause = (seconds, signal) =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, 1000 * seconds);
    signal?.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });

// Send a request and return its answer. A busy server is asked again after the time that it states.
async function send(address, options) {
  for (let tries = 1; ; tries++) {
    let answer;
    try {
      answer = await fetch(address, { ...options, headers: { ...options.headers, ...headers() } });
    } catch (error) {
      if (options.signal?.aborted) throw error;
      throw new ApiError(0, text("error.network"));
    }
    if (answer.ok) return answer;
    const wait = Number(answer.headers.get("Retry-After") ?? Infinity);
    if (answer.status === 503 && wait <= LONGEST_WAIT && tries < MOST_TRIES) {
      await pause(wait, options.signal);
      continue;
    }
    if (answer.status === 401 || answer.status === 403) find("#key-form").hidden = false;
    throw new ApiError(answer.status, answer.status === 401 ? text("error.key") : await sentenceOf(answer));
  }
}

async function sentenceOf(answer) {
  try {
    return (await answer.json()).error ?? text("error.status", { status: answer.status });
  } catch {
    return text("error.status", { status: answer.status });
  }
}

export const get = async (address, signal) => (await send(address, { signal })).json();
export const post = async (address, body, signal) => (await postJson(address, body, signal)).json();
export const postForPage = async (address, body, signal) => (await postJson(address, body, signal)).text();
export const upload = async (address, form, signal) => (await send(address, { method: "POST", body: form, signal })).json();

const postJson = (address, body, signal) => send(address, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal });

// ---- the key ----
export function onKey(action) {
  find("#key-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, find("#key").value);
    find("#key").value = "";
    find("#key-form").hidden = true;
    action();
  });
}

// Show the sentence of an error in an element, or clear it. What the server could not do can be tried again.
export function showError(element, error, retry = null) {
  element.textContent = error ? error.message : "";
  const isServer = error instanceof ApiError && (error.status === 0 || error.status >= 500);
  if (retry && isServer) element.append(" ", make("button", { type: "button", class: "button again", lang: language, onclick: () => retry() }, text("error.again")));
  if (error && !(error instanceof ApiError)) throw error; // a fault of the page: it belongs into the console
}
