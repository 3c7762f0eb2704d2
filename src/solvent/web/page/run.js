// One run: how it stands, and its tabs (see tabs.js).
import { address, fill, make } from "./dom.js";
import { tabKeys, viewKeys } from "./keys.js";
import { follow } from "./live.js";
import { TABS } from "./tabs.js";

export function show(root, [name, ...words], page) {
  const run = follow(name);
  const head = make("div", { class: "run-head" });
  const tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "Views of the run" });
  const body = make("div", { class: "run-body", role: "tabpanel", id: "tab" });
  root.append(make("div", { class: "run" }, head, tabs, body));
  page.title(name);
  let tab = null;
  let turn = 0;

  function mine() {
    return TABS.filter((one) => !one.is || one.is(run.about));
  }

  async function open([wanted, ...rest]) {
    const chosen = mine().find((one) => one.name === wanted) ?? TABS[0];
    if (tab?.name === chosen.name && tab.move?.(rest)) return;
    const at = ++turn;
    const module = await import(chosen.module);
    if (at !== turn) return;
    close();
    fill(tabs, ...mine().map((one) => make("button", {
      role: "tab", "aria-selected": String(one === chosen), "aria-controls": "tab",
      onclick: () => page.go("run", name, one.name),
    }, one.title)));
    const given = module.show(body, run, page, rest);
    tab = { name: chosen.name, ...(typeof given === "function" ? { end: given } : given) };
  }

  function close() {
    tab?.end?.();
    tab = null;
    tabKeys([]);
    body.replaceChildren();
  }

  function showHead() {
    fill(head, make("h1", {}, name), make("span", { class: "state", data: { state: run.state } }, run.state));
  }

  viewKeys(TABS.map((one, at) => ({
    keys: [String(at + 1)], says: one.title.toLowerCase(), act: () => page.go("run", name, one.name),
  })));
  const ending = run.on(showHead);
  run.ready.then(() => { showHead(); return open(words); }).catch((error) => {
    fill(body, make("div", { class: "notice bad" }, error.message, " ", make("a", { href: address([]) }, "All runs")));
  });
  return {
    end() { turn++; close(); ending(); run.close(); },
    move([other, ...rest]) {
      if (other !== name) return false;
      run.ready.then(() => open(rest));
      return true;
    },
  };
}
