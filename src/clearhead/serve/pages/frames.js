// Pages in sandboxed frames: the frame asks for its content, shows it, and replaces the frame before it when it is drawn.
import { make } from "./elements.js";

// Show content of a kind (explanation, worksheet, marks, quiz, card) in a box. `onMessage` gets what the page in the frame sends
// later. Returns a function that sends a message to the page.
export function showInFrame(box, { kind, label, content, onMessage = () => {}, hasOwnHeight = false, hasDialogs = false }) {
  for (const waiting of box.querySelectorAll("iframe.waiting")) waiting.remove();
  const frame = make("iframe", { src: `/frame/${kind}`, title: label, sandbox: `allow-scripts allow-downloads${hasDialogs ? " allow-modals" : ""}`, class: "waiting" });
  const send = (message) => frame.contentWindow?.postMessage(message, "*"); // the frame has no origin that could be named
  const listen = (event) => {
    if (!frame.isConnected) return window.removeEventListener("message", listen);
    if (event.source !== frame.contentWindow) return undefined;
    const message = event.data ?? {};
    if (message.kind === "waiting") send({ ...content, kind: "show" });
    else if (message.kind === "shown") takePlace(box, frame);
    else if (message.kind === "height") hasOwnHeight && (frame.style.height = `${Math.ceil(Number(message.height))}px`);
    else onMessage(message, send);
    return undefined;
  };
  window.addEventListener("message", listen);
  box.append(frame);
  return send;
}

function takePlace(box, frame) {
  const hadFocus = box.contains(document.activeElement);
  for (const other of [...box.children]) if (other !== frame) other.remove();
  frame.classList.remove("waiting");
  if (hadFocus) frame.focus();
  box.dataset.shown = String(1 + Number(box.dataset.shown ?? 0));
  box.dispatchEvent(new CustomEvent("shown"));
}
