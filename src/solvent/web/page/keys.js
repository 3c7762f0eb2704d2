// Keys: those of the page, of the view that is shown, and of its tab; `?` lists them.
import { dialog, make } from "./dom.js";

const page = [];
let view = [];
let tab = [];

/** Add keys of the whole page: `[{keys: ["d"], says: "light or dark", act}]`. */
export function pageKeys(list) {
  page.push(...list);
}

/** Set the keys of the view that is shown. */
export function viewKeys(list) {
  view = list;
}

/** Set the keys of the tab that is shown. */
export function tabKeys(list) {
  tab = list;
}

/** Show which keys there are. */
export function showKeys() {
  const part = (title, list) => (list.length ? [make("h3", {}, title), ...list.flatMap(line)] : []);
  dialog("Keyboard", make("dl", { class: "keys" }, ...part("Here", [...tab, ...view]), ...part("Everywhere", page)),
    make("form", { method: "dialog", class: "buttons" }, make("button", { class: "primary", autofocus: true }, "Close")));
}

function line(one) {
  const shown = one.shown ?? one.keys.map(nameOf);
  return [make("dt", {}, ...shown.flatMap((key, at) => (at ? [" ", make("kbd", {}, key)] : [make("kbd", {}, key)]))),
    make("dd", {}, one.says)];
}

function nameOf(key) {
  return { ArrowLeft: "←", ArrowRight: "→", ArrowUp: "↑", ArrowDown: "↓", " ": "space", Escape: "Esc" }[key] ?? key;
}

function isTyping(target) {
  return target instanceof HTMLElement && (target.isContentEditable || (/^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName) && target.type !== "range"));
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.getElementById("dialog").open) return;
  if (isTyping(event.target)) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  // A focused button or link answers Enter and space by itself.
  if ((event.key === " " || event.key === "Enter") && event.target.closest?.("button, a, [role=tab]")) return;
  const found = [...tab, ...view, ...page].find((one) => one.keys.includes(event.key));
  if (found) {
    event.preventDefault();
    found.act(event);
  }
});
