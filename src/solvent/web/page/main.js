// The frame: which view is shown, and what all views share.
//
// A view is a module with `show(root, words, page)`, which fills `root` and gives what ends it: a function, or
// `{end, move}`; `move(words)` hears of another address of the same view, and gives true where it has gone there.
// `words` are the parts of the address behind the view's name: `#/run/pipeline-7k3q/timeline` shows the view `run` with
// ["pipeline-7k3q", "timeline"]. `page` has `about` (what the server says of itself), `title(text)`, `go(...words)`
// and `again()`, which shows the view anew.
// Keys of a view are set by `viewKeys` of keys.js, its sheet by `sheet` of dom.js.
// What is about one run is a tab of its page: see tabs.js.
import { address, fill, make } from "./dom.js";
import { pageKeys, showKeys, tabKeys, viewKeys } from "./keys.js";
import { toggleTheme } from "./theme.js";

const VIEWS = {
  "": { module: "./runs.js", title: "Runs" },
  run: { module: "./run.js" },
  nodes: { module: "./nodes.js", title: "Nodes" },
  locks: { module: "./locks.js", title: "Locks" },
  playground: { module: "./playground.js", title: "Playground" },
};

const main = document.getElementById("main");
let shown = null;
let turn = 0;

const page = {
  about: {},
  title(text) {
    document.title = text ? `${text} · Solvent` : "Solvent";
  },
  go(...words) {
    location.hash = address(words);
  },
  again() {
    leave();
    show();
  },
};

function wordsOf(hash) {
  try {
    return hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
  } catch {
    return [""];
  }
}

async function show() {
  const mine = ++turn;
  const [name, ...words] = wordsOf(location.hash);
  const view = VIEWS[name];
  showNav(name);
  if (!view) {
    leave();
    fill(main, make("div", { class: "empty" }, "There is nothing here. ", make("a", { href: "#/" }, "All runs")));
    return;
  }
  if (shown?.name === name && shown.move?.(words)) return;
  const module = await import(view.module);
  if (mine !== turn) return;
  leave();
  page.title(view.title);
  const given = module.show(main, words, page);
  shown = { name, ...(typeof given === "function" ? { end: given } : given) };
}

function leave() {
  shown?.end?.();
  shown = null;
  tabKeys([]);
  viewKeys([]);
  main.replaceChildren();
}

function showNav(name) {
  const parts = Object.entries(VIEWS).filter(([, view]) => view.title);
  fill(document.getElementById("nav"), ...parts.map(([part, view]) =>
    make("a", { href: address(part ? [part] : []), "aria-current": part === name ? "page" : null }, view.title)));
}

pageKeys([
  { keys: ["?"], says: "show this list", act: showKeys },
  { keys: ["d"], says: "light or dark", act: toggleTheme },
  { keys: ["r"], says: "all runs", act: () => page.go() },
]);
document.getElementById("help").addEventListener("click", showKeys);
document.getElementById("theme").addEventListener("click", toggleTheme);
window.addEventListener("hashchange", show);

page.about = await fetch("/api/about").then((answer) => answer.json()).catch(() => ({}));
document.getElementById("store").textContent = page.about.store ?? "";
await show();
