// One run: how it stands, its tabs (see tabs.js), and beside them its results and errors, or one of its tasks.
import { ask } from "./request.js";
import { address, dialog, fill, make, sheet } from "./dom.js";
import { tabKeys, viewKeys } from "./keys.js";
import { follow } from "./live.js";
import { panel } from "./panel.js";
import { TABS } from "./tabs.js";
import { counted, seconds, tally, when } from "./words.js";

const OVER = new Set(["done", "failed", "cancelled"]);

export function show(root, [name, ...words], page) {
  sheet("runs.css");
  sheet("run.css");
  const run = follow(name);
  run.renew = page.again;
  const state = make("span", { class: "state", hidden: true });
  const counts = make("span", { class: "counts num" });
  const times = make("span", { class: "soft num" });
  const bar = make("div", { class: "bar wide", role: "img" });
  const cancel = make("button", { type: "button", class: "danger", hidden: true, onclick: () => askToCancel(run) }, "Cancel run");
  const beside = make("button", { type: "button", hidden: true, onclick: toggle, "aria-pressed": "true", title: "Show or hide the details (b)" }, "Details");
  const tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "Views of the run" });
  const body = make("div", { class: "run-body", role: "tabpanel", id: "tab" });
  const side = make("aside", { class: "side", "aria-label": "Details" });
  const send = make("button", { type: "button", class: "primary", hidden: true, onclick: () => askToSend(run) }, "Send signal");
  const head = make("div", { class: "run-head" }, make("h1", {}, name), state, counts, make("span", { class: "grow" }), times, send, cancel, beside);
  root.append(make("div", { class: "run" }, head, bar, tabs, make("div", { class: "run-main" }, body, side)));
  page.title(name);
  const beside_ = panel(side, run);
  let tab = null;
  let turn = 0;

  const mine = () => TABS.filter((one) => !one.is || one.is(run.about));

  /** Show a task, or nothing, beside; the address says which. */
  run.select = (task) => {
    const chosen = TABS.find((one) => one.name === tab?.name && one.takesTask) ?? TABS[0];
    const next = address(["run", name, chosen.name, ...(task ? [task] : [])]);
    if (location.hash === next) open([chosen.name, ...(task ? [task] : [])]);
    else location.replace(next);
  };
  run.showMany = (title, tasks) => { setSide(true); beside_.showMany(title, tasks); };

  async function open([wanted, ...rest]) {
    const chosen = mine().find((one) => one.name === wanted) ?? TABS[0];
    run.selected = chosen.takesTask ? run.byName.get(rest[0]) ?? null : null;
    if (run.selected) setSide(true);
    beside_.show(run.selected);
    if (tab?.name === chosen.name && tab.move?.(rest)) return;
    const at = ++turn;
    const module = await import(chosen.module);
    if (at !== turn) return;
    close();
    fill(tabs, ...mine().map((one) => make("button", {
      type: "button", role: "tab", "aria-selected": String(one === chosen), "aria-controls": "tab", data: { tab: one.name },
      onclick: () => go(one),
    }, one.title)));
    const given = module.show(body, run, page, rest);
    tab = { name: chosen.name, ...(typeof given === "function" ? { end: given } : given) };
  }

  function go(one) {
    page.go("run", name, one.name, ...(one.takesTask && run.selected ? [run.selected.name] : []));
  }

  function close() {
    tab?.end?.();
    tab = null;
    tabKeys([]);
    body.replaceChildren();
  }

  function setSide(isShown) {
    side.hidden = !isShown;
    beside.setAttribute("aria-pressed", String(isShown));
  }

  function toggle() {
    setSide(side.hidden);
  }

  function showHead() {
    // Of a run that there is not, nothing is said but that.
    if (run.about.created === undefined) return;
    state.hidden = beside.hidden = false;
    state.textContent = run.state;
    state.dataset.state = run.state;
    const own = run.tasks.filter((task) => !task.isInner);
    const found = tally(own);
    fill(counts, ...[...found].map(([one, count]) => make("span", { class: "state", data: { state: one }, title: `${count} ${one}` }, `${count.toLocaleString("en")} ${one}`)));
    times.textContent = `${when(run.about.created)} · ${seconds(run.seconds())}`;
    cancel.hidden = !page.about.control || OVER.has(run.state);
    send.hidden = cancel.hidden || !run.waits.length;
    const wanted = own.length - (found.get("asleep") ?? 0) - (found.get("unused") ?? 0) - (found.get("replaced") ?? 0);
    bar.setAttribute("aria-label", `${found.get("done") ?? 0} of ${counted(wanted, "task")} done`);
    fill(bar, ...["done", "failed", "running"].filter((one) => found.has(one)).map((one) => {
      const part = make("span", { data: { state: one } });
      part.style.width = `${(100 * found.get(one)) / Math.max(1, wanted)}%`;
      return part;
    }));
  }

  viewKeys([
    ...TABS.map((one, at) => ({ keys: [String(at + 1)], says: one.title.toLowerCase(), act: () => { if (mine().includes(one)) go(one); } })),
    { keys: ["b"], says: "show or hide the details", act: toggle },
    { keys: ["Escape"], says: "choose no task", act: () => run.select(null) },
  ]);
  const roomy = matchMedia("(min-width: 900px)");
  const fitSide = () => setSide(roomy.matches);
  roomy.addEventListener("change", fitSide);
  fitSide();
  const ending = run.on(showHead);
  const clock = setInterval(() => { if (!run.isOver) showHead(); }, 500);
  run.ready.then(() => { showHead(); return open(words); }).catch((error) => {
    setSide(!beside.hidden && roomy.matches);
    fill(body, make("div", { class: "notice bad" }, error.message, " ", make("a", { href: address([]) }, "All runs")));
  });
  return {
    end() { turn++; close(); roomy.removeEventListener("change", fitSide); clearInterval(clock); ending(); beside_.end(); run.close(); },
    move([other, ...rest]) {
      if (other !== name) return false;
      run.ready.then(() => open(rest));
      return true;
    },
  };
}

function askToSend(run) {
  const names = [...new Set(run.waits.map(([, signal]) => signal))];
  const name = make("select", {}, ...names.map((one) => make("option", {}, one)));
  const value = make("input", { autocomplete: "off", placeholder: "null" });
  const secret = make("input", { type: "password", autocomplete: "off" });
  const said = make("p", { class: "soft", role: "alert" });
  // Sent again after an error, it is heard once.
  const id = `page-${Date.now()}-${Math.random().toString(36).slice(2)}`;
  const form = make("form", { onsubmit: send }, make("label", { class: "field" }, "The signal", name),
    make("label", { class: "field" }, "What comes with it, as JSON", value), make("label", { class: "field" }, "The secret", secret), said,
    make("div", { class: "buttons" }, make("button", { type: "button", onclick: () => close() }, "Close"), make("button", { class: "primary" }, "Send signal")));
  const close = dialog(`Send a signal to ${run.name}`, form);
  value.focus();
  async function send(event) {
    event.preventDefault();
    try {
      const body = JSON.stringify({ name: name.value, id, value: value.value.trim() ? JSON.parse(value.value) : null });
      await ask(`${run.place}/signal`, { method: "POST", headers: { authorization: `Bearer ${secret.value}` }, body });
      close();
    } catch (error) {
      said.textContent = error instanceof SyntaxError ? 'The value is no JSON: a text has quotes, "so".' : error.message;
    }
  }
}

function askToCancel(run) {
  const secret = make("input", { type: "password", autocomplete: "off" });
  const said = make("p", { class: "soft", role: "alert" });
  const form = make("form", { onsubmit: send }, make("p", { class: "soft" }, "Its calls are ended, and no agent resumes it."),
    make("label", { class: "field" }, "The secret", secret), said, make("div", { class: "buttons" },
      make("button", { type: "button", onclick: () => close() }, "Keep it running"), make("button", { class: "danger" }, "Cancel run")));
  const close = dialog(`Cancel ${run.name}?`, form);
  secret.focus();
  async function send(event) {
    event.preventDefault();
    try {
      await ask(`${run.place}/cancel`, { method: "POST", headers: { authorization: `Bearer ${secret.value}` } });
      close();
    } catch (error) {
      said.textContent = error.message;
    }
  }
}
