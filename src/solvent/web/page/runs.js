// The list of runs: live, the newest first, found by name, workflow or state.
import { address, fill, make, sheet } from "./dom.js";
import { viewKeys } from "./keys.js";
import { listen } from "./event-stream.js";
import { counted, seconds, when } from "./words.js";

const MAX_SHOWN = 200;
const STATES = ["running", "waiting", "queued", "done", "failed", "cancelled", "stopped", "interrupted"];

export function show(root, words, page) {
  sheet("runs.css");
  const rows = new Map();
  let leftOut = 0;
  let isKnown = false;
  let chosen = -1;
  let state = "";
  const find = make("input", { type: "search", placeholder: "Find runs ( / )", "aria-label": "Find runs by name, workflow or file", oninput: draw });
  const states = make("div", { class: "filters", role: "group", "aria-label": "States" });
  const list = make("div", { class: "rows card", role: "list", "aria-label": "Runs" });
  const note = make("p", { class: "faint note", role: "status" });
  root.append(make("div", { class: "page" }, make("div", { class: "page-head" }, make("h1", {}, "Runs"), states, find), list, note));

  function fits(row) {
    const text = find.value.trim().toLowerCase();
    return (!state || row.state === state)
      && (!text || [row.run, row.workflow, row.file, row.state].some((one) => one.toLowerCase().includes(text)));
  }

  function found() {
    return [...rows.values()].filter(fits).sort((one, other) => other.created - one.created || (one.run < other.run ? 1 : -1));
  }

  function draw() {
    const all = found();
    chosen = Math.min(chosen, all.length - 1);
    showStates();
    const lines = all.slice(0, MAX_SHOWN).map((row, at) => line(row, at === chosen));
    fill(list, ...(lines.length ? lines : [nothing()]));
    const more = all.length - MAX_SHOWN + (leftOut > 0 ? leftOut : 0);
    note.textContent = more > 0 && all.length ? `${counted(Math.max(0, all.length - MAX_SHOWN) + leftOut, "older run")} not shown` : "";
  }

  function showStates() {
    const counts = new Map();
    for (const row of rows.values()) counts.set(row.state, (counts.get(row.state) ?? 0) + 1);
    const known = [...STATES, "damaged"].filter((one) => counts.has(one) || one === state);
    if (known.length < 2 && !state) return fill(states);
    fill(states, ...known.map((one) => make("button", {
      type: "button", "aria-pressed": String(one === state), class: "filter",
      onclick: () => { state = state === one ? "" : one; draw(); },
    }, make("span", { class: "state", data: { state: one } }, one), make("span", { class: "num faint" }, String(counts.get(one) ?? 0)))));
  }

  function nothing() {
    if (!isKnown) return make("div", { class: "empty" }, "Loading …");
    if (rows.size) return make("div", { class: "empty" }, "No run matches.");
    return make("div", { class: "empty" }, make("p", {}, "There are no runs yet."),
      make("p", { class: "soft" }, "Runs appear here as they happen: ", make("code", {}, "solvent run WORKFLOW")));
  }

  const stop = listen("/api/events", {
    all(all) {
      isKnown = true;
      rows.clear();
      for (const row of all.rows) rows.set(row.run, row);
      leftOut = all.left_out;
      draw();
    },
    news(messages) {
      for (const message of messages) {
        if (message.e === "row") rows.set(message.run, message);
        else rows.delete(message.run);
      }
      draw();
    },
    problem(problem) { fill(list, make("div", { class: "notice bad" }, problem.error)); },
  });
  const clock = setInterval(() => { if ([...rows.values()].some((row) => row.state === "running")) draw(); }, 1000);

  function choose(by) {
    const all = found();
    chosen = Math.max(0, Math.min(Math.min(all.length, MAX_SHOWN) - 1, chosen + by));
    draw();
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
    list.children[chosen]?.focus({ preventScroll: true });
  }

  viewKeys([
    { keys: ["/"], says: "find runs", act: () => find.focus() },
    { keys: ["j", "ArrowDown"], says: "next run", act: () => choose(1) },
    { keys: ["k", "ArrowUp"], says: "previous run", act: () => choose(-1) },
    { keys: ["Enter"], says: "open the run", act: () => { const row = found()[chosen]; if (row) page.go("run", row.run); } },
  ]);
  draw();
  return () => { stop(); clearInterval(clock); };
}

function line(row, isChosen) {
  const lasts = (row.ended || Date.now() / 1000) - row.created;
  const hasEnded = Boolean(row.ended);
  return make("a", { class: "row", role: "listitem", href: address(["run", row.run]), data: { run: row.run, state: row.state, chosen: String(isChosen) } },
    make("span", { class: "names" }, make("span", { class: "name" }, row.run),
      make("span", { class: "faint file" }, row.text ?? [row.workflow, row.file].filter(Boolean).join(" · "))),
    make("span", { class: "state", data: { state: row.state } }, row.state),
    progress(row),
    make("span", { class: "faint kind" }, row.agents ? "by agents" : ""),
    make("span", { class: "num soft lasts" }, hasEnded || row.state === "running" ? seconds(Math.max(0, lasts)) : ""),
    make("span", { class: "num faint began" }, row.created ? when(row.created) : ""));
}

function progress(row) {
  const total = row.total ?? row.tasks ?? 0;
  const done = row.done ?? 0;
  const said = `${done.toLocaleString("en")} of ${counted(total, "task")} done${row.failed ? `, ${row.failed} failed` : ""}`;
  const bar = make("span", { class: "bar", role: "img", "aria-label": said, title: said });
  for (const [state, count] of [["done", done], ["failed", row.failed ?? 0]]) {
    if (!count) continue;
    const part = make("span", { data: { state } });
    part.style.width = `${Math.min(100, (100 * count) / Math.max(1, total))}%`;
    bar.append(part);
  }
  return make("span", { class: "progress" }, bar, make("span", { class: "num faint" }, `${done.toLocaleString("en")}/${total.toLocaleString("en")}`));
}
