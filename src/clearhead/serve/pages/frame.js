// Inside a sandboxed frame: waits for a page (HTML text) or for data, shows it, and then loads the scripts of that page
// as files. The frame has an origin of its own, so nothing in the page can reach the site around it.
"use strict";
{
  const scripts = document.currentScript.dataset.scripts.split(" ").filter(Boolean);
  const send = (message) => window.parent.postMessage(message, "*");

  // The skeleton of an explanation page whose data came without a page: a heading, and the data.
  const skeleton = ({ title, note, data }) => {
    const page = document.implementation.createHTMLDocument("");
    page.body.className = "clearhead explanation";
    const add = (parent, name, attributes = {}, text = "") => {
      const element = page.createElement(name);
      for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
      element.textContent = text;
      return parent.appendChild(element);
    };
    const header = add(page.body, "header");
    add(header, "h1", {}, title);
    add(header, "p", { class: "model" }, note);
    add(add(page.body, "nav", { hidden: "", "aria-label": title }), "ul");
    add(add(page.body, "main"), "div", { id: "fallback" });
    add(page.body, "script", { type: "application/json", id: "explanation" }, JSON.stringify(data));
    add(page.body, "div", { id: "status", "aria-hidden": "true", hidden: "" });
    return page;
  };

  // The styles are files here, and the policy of the frame would report those in the page. Cells of a table in a model
  // card state their alignment as a style.
  const withoutStyles = (text) => text.replace(/<style>.*?<\/style>/s, "").replace(/ style="text-align:(left|center|right)"/g, ' class="$1"');
  const parsed = (text) => new DOMParser().parseFromString(withoutStyles(text), "text/html");

  const show = (message) => {
    const page = message.page === undefined ? skeleton(message) : parsed(message.page);
    for (const script of page.querySelectorAll("script:not([type='application/json'])")) script.remove();
    for (const { name, value } of page.body.attributes) if (name === "class" || name.startsWith("data-")) document.body.setAttribute(name, value);
    if (page.title) document.title = page.title;
    document.body.replaceChildren(...page.body.childNodes);
    globalThis.LIVE = { texts: message.texts ?? {}, work: message.work, send };
    const loaded = scripts.map((name) => {
      const script = document.createElement("script");
      script.src = `/static/${name}`;
      script.async = false; // they run in this order
      document.body.append(script);
      return new Promise((resolve) => script.addEventListener("load", resolve));
    });
    Promise.all(loaded).then(() => {
      send({ kind: "shown" });
      new ResizeObserver(() => send({ kind: "height", height: document.documentElement.scrollHeight })).observe(document.body);
    });
  };

  window.addEventListener("message", (event) => {
    if (event.source !== window.parent) return;
    if (event.data?.kind === "show") show(event.data);
    else window.dispatchEvent(new CustomEvent("live", { detail: event.data }));
  });
  send({ kind: "waiting" });
}
