// A table of tasks of which only the lines in sight are made, so that it does not matter how many there are.
import { fill, make } from "./dom.js";
import { isAmid, ofItems, seconds, STATES, tally } from "./words.js";

const HEIGHT = 28;
const MARGIN = 8;
const ORDER = Object.keys(STATES);
const COLUMNS = {
  name: { title: "Task", of: (run, task) => task.name },
  state: { title: "State", of: (run, task) => ORDER.indexOf(task.state) },
  service: { title: "Service", of: (run, task) => task.service },
  calls: { title: "Calls", of: (run, task) => task.calls.length, isNumber: true },
  attempts: { title: "Attempts", of: (run, task) => task.calls.reduce((sum, at) => sum + run.calls[at].attempts, 0), isNumber: true },
  began: { title: "Began", of: (run, task) => (task.calls.length ? run.calls[task.calls[0]].began : Infinity), isNumber: true },
  lasted: { title: "Took", of: (run, task) => took(run, task), isNumber: true },
  text: { title: "Error", of: (run, task) => run.calls[task.calls.at(-1)]?.text ?? "" },
};

function took(run, task) {
  return task.calls.reduce((sum, at) => sum + ((run.calls[at].ended ?? run.seconds()) - run.calls[at].began), 0);
}

/** Make a table: `{tasks, isSmall}`; gives `refresh`, `end`, `focusFilter` and `move(by)`. */
export function table(root, run, { tasks, isSmall = false }) {
  const columns = isSmall ? ["name", "state"] : Object.keys(COLUMNS);
  let by = isSmall ? "state" : "number";
  let isDown = false;
  let state = "";
  let lines = [];
  const find = make("input", { type: "search", placeholder: "Find tasks ( / )", "aria-label": "Find tasks by name or service", oninput: refresh });
  const filters = make("div", { class: "filters", role: "group", "aria-label": "States" });
  const heads = make("div", { class: `line heads${isSmall ? " small" : ""}`, role: "row" });
  const store = make("div", { class: "store-of-lines" });
  const shown = make("div", { class: "lines", role: "rowgroup" });
  const scroller = make("div", { class: "scroller", tabindex: "0", "aria-label": "Tasks" }, store, shown);
  const grid = make("div", { class: "table", role: "table", "aria-label": "Tasks", "aria-rowcount": "0" }, heads, scroller);
  root.append(make("div", { class: "table-tools" }, find, filters), grid);
  scroller.addEventListener("scroll", draw, { passive: true });
  const watcher = new ResizeObserver(draw);
  watcher.observe(scroller);

  function refresh() {
    const text = find.value.trim().toLowerCase();
    lines = tasks.filter((task) => (!state || task.state === state)
      && (!text || task.name.toLowerCase().includes(text) || task.service.toLowerCase().includes(text)));
    if (by !== "number") {
      const of = COLUMNS[by].of;
      const keys = new Map(lines.map((task) => [task, of(run, task)]));
      const sign = isDown ? -1 : 1;
      lines.sort((one, other) => {
        const a = keys.get(one);
        const b = keys.get(other);
        return (a < b ? -1 : a > b ? 1 : one.number - other.number) * sign;
      });
    }
    store.style.height = `${lines.length * HEIGHT}px`;
    grid.setAttribute("aria-rowcount", String(lines.length));
    showFilters();
    showHeads();
    draw();
  }

  function showFilters() {
    const found = tally(tasks);
    if (state && !found.has(state)) found.set(state, 0);
    fill(filters, ...(found.size > 1 || state ? [...found] : []).map(([one, count]) => make("button", {
      type: "button", class: "filter", "aria-pressed": String(one === state), onclick: () => { state = state === one ? "" : one; refresh(); },
    }, make("span", { class: "state", data: { state: one } }, one), make("span", { class: "num faint" }, count.toLocaleString("en")))));
  }

  function showHeads() {
    fill(heads, ...columns.map((name) => make("span", { role: "columnheader", class: COLUMNS[name].isNumber ? "num right" : "", "aria-sort": by === name ? (isDown ? "descending" : "ascending") : "none" },
      make("button", { type: "button", class: "quiet", onclick: () => sortBy(name) }, `${COLUMNS[name].title}${by === name ? (isDown ? " ↓" : " ↑") : ""}`))));
  }

  function sortBy(name) {
    if (by === name && isDown) [by, isDown] = [isSmall ? "state" : "number", false];
    else [isDown, by] = [by === name, name];
    refresh();
  }

  function draw() {
    const first = Math.max(0, Math.floor(scroller.scrollTop / HEIGHT) - MARGIN);
    const last = Math.min(lines.length, Math.ceil((scroller.scrollTop + scroller.clientHeight) / HEIGHT) + MARGIN);
    shown.style.transform = `translateY(${first * HEIGHT}px)`;
    fill(shown, ...lines.slice(first, last).map((task, at) => line(task, first + at)));
  }

  function line(task, at) {
    const call = run.calls[task.calls.at(-1)];
    const cells = {
      name: () => make("span", { class: "mono cut", title: task.name }, task.name),
      state: () => make("span", { class: "state", data: { state: task.state } }, task.state),
      service: () => make("span", { class: "soft cut" }, task.service),
      calls: () => make("span", { class: "num right soft" }, isAmid(task) ? ofItems(task) : task.calls.length || ""),
      attempts: () => make("span", { class: "num right soft" }, COLUMNS.attempts.of(run, task) || ""),
      began: () => make("span", { class: "num right soft" }, task.calls.length ? seconds(run.calls[task.calls[0]].began) : ""),
      lasted: () => make("span", { class: "num right soft" }, task.calls.length ? seconds(took(run, task)) : ""),
      text: () => make("span", { class: "bad cut", title: call?.text ?? "" }, call?.text ?? ""),
    };
    const element = make("a", {
      class: `line${isSmall ? " small" : ""}`, role: "row", "aria-rowindex": String(at + 1), data: { task: task.name, chosen: String(run.selected === task) },
      href: `#/run/${encodeURIComponent(run.name)}/${isSmall ? "graph" : "tasks"}/${encodeURIComponent(task.name)}`,
      onclick(event) { event.preventDefault(); run.select(task.name); },
    }, ...columns.map((name) => { const cell = cells[name](); cell.setAttribute("role", "cell"); return cell; }));
    return element;
  }

  /** Choose the next task, or the one before. */
  function move(step) {
    const at = lines.indexOf(run.selected);
    const next = lines[Math.max(0, Math.min(lines.length - 1, at < 0 ? 0 : at + step))];
    if (!next) return;
    const top = lines.indexOf(next) * HEIGHT;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + HEIGHT > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + HEIGHT - scroller.clientHeight;
    run.select(next.name);
  }

  refresh();
  return { refresh, draw, move, focusFilter: () => find.focus(), end: () => watcher.disconnect() };
}
