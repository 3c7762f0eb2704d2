// What stands beside the views of a run: its results and errors, one of its tasks, or several tasks that are one box.
import { ask } from "./request.js";
import { fill, make } from "./dom.js";
import { aboutTask } from "./task.js";
import { table } from "./table.js";
import { counted, seconds, tally } from "./words.js";

/** Fill the side of a run's page. */
export function panel(root, run) {
  let task = null;
  let many = null;
  let shownFor = "";
  let turn = 0;
  let list = null;

  /** Show a task, or how the run stands. */
  function show(chosen) {
    task = chosen;
    many = null;
    shownFor = "";
    draw();
  }

  function draw() {
    if (task) drawTask();
    else if (many) drawMany();
    else drawRun();
  }

  function leaveList() {
    list?.end();
    list = null;
  }

  async function drawTask() {
    const last = task.calls.at(-1);
    const now = [task.name, task.state, task.calls.length, last && run.calls[last].state, last && run.calls[last].tries.length].join("\n");
    if (now === shownFor) return;
    leaveList();
    const isOther = !shownFor.startsWith(`${task.name}\n`);
    shownFor = now;
    const mine = ++turn;
    const title = [heading(task.name, () => run.select(null)), make("p", {}, make("span", { class: "state", data: { state: task.state } }, task.state))];
    if (isOther) fill(root, ...title, make("p", { class: "faint" }, "Loading …"));
    try {
      const told = await ask(`${run.place}/tasks/${encodeURIComponent(task.name)}`);
      if (mine === turn && task) fill(root, ...title, ...aboutTask(run, task, told));
    } catch (error) {
      if (mine === turn) fill(root, ...title, make("div", { class: "notice bad" }, error.message));
    }
  }

  function drawMany() {
    const found = tally(many.tasks);
    const now = `${many.title}\n${[...found].join()}`;
    if (now === shownFor) return;
    const isOther = !shownFor.startsWith(`${many.title}\n`);
    shownFor = now;
    turn++;
    const counts = make("p", { class: "counts num" }, ...[...found].map(([state, count]) =>
      make("span", { class: "state", data: { state } }, `${count.toLocaleString("en")} ${state}`)));
    if (!isOther) {
      root.querySelector(".counts")?.replaceWith(counts);
      list?.refresh();
      return;
    }
    leaveList();
    const box = make("div", { class: "many" });
    fill(root, heading(many.title, () => { many = null; draw(); }), counts, box);
    list = table(box, run, { tasks: many.tasks, isSmall: true });
  }

  function drawRun() {
    const now = `\n${run.state}${run.adaptations.length}${run.calls.filter((one) => one.state === "failed" || one.state === "healed").length}${run.told.holder}${run.openings.length}`;
    if (now === shownFor) return;
    shownFor = now;
    turn++;
    leaveList();
    fill(root, ...overview(run));
  }

  const ending = run.on(draw);
  return {
    show,
    /** Show several tasks that are one box of the graph. */
    showMany(title, tasks) { task = null; many = { title, tasks }; shownFor = ""; draw(); },
    end() { ending(); leaveList(); turn++; },
  };
}

function heading(text, close) {
  return make("div", { class: "side-head" }, make("h2", {}, text),
    make("button", { type: "button", class: "icon quiet", "aria-label": "Close", title: "Close (Esc)", onclick: close }, "×"));
}

/** Say how a run stands: what it came to, what failed, what took the place of what. */
function overview(run) {
  const told = run.told;
  const parts = [make("div", { class: "side-head" }, make("h2", {}, run.about.workflow))];
  if (run.about.file) parts.push(make("p", { class: "faint mono" }, run.about.file));
  if (told.error) parts.push(make("div", { class: "notice bad flat" }, told.error));
  if (told.text) parts.push(make("div", { class: "notice flat" }, told.text));
  const results = Object.entries(told.results ?? {});
  if (results.length) parts.push(make("h3", {}, results.length === 1 ? "Result" : "Results"), ...results.map(([name, value]) =>
    make("div", { class: "value" }, make("a", { href: linkOf(run, name), class: "what" }, name), make("pre", { class: "result" }, value))));
  const failures = told.failures?.length ? told.failures : failedNow(run);
  if (failures.length) parts.push(make("h3", {}, "Errors"), ...failures.slice(0, 20).map((one) =>
    make("div", { class: "value error" }, make("a", { href: linkOf(run, one.task), class: "what" }, one.task), make("pre", {}, one.cause))));
  if (failures.length > 20) parts.push(make("p", { class: "faint" }, `and ${counted(failures.length - 20, "error")} more`));
  if (run.adaptations.length) parts.push(make("h3", {}, "Adaptations"), ...run.adaptations.map((one) => adaptation(run, one)));
  const healed = run.calls.filter((one) => one.state === "healed");
  if (healed.length) parts.push(make("h3", {}, "Items with another way"), ...healed.slice(0, 20).map((one) =>
    make("div", { class: "value adapted" }, make("a", { href: linkOf(run, run.tasks[one.task].name), class: "what" }, one.key), make("pre", {}, one.text))));
  if (healed.length > 20) parts.push(make("p", { class: "faint" }, `and ${counted(healed.length - 20, "item")} more`));
  if (run.waits.length) parts.push(make("h3", {}, "Waits for people"), ...run.waits.slice(0, 20).map(([task, signal]) =>
    make("p", { class: "soft" }, make("a", { href: linkOf(run, task) }, task), " waits for the signal ", make("code", {}, signal))));
  if (run.stuck.length) parts.push(make("h3", {}, "Tasks that can never run"), ...run.stuck.slice(0, 20).map((one) => make("p", { class: "soft" }, one)));
  if (!run.about.is_known) parts.push(make("p", { class: "notice flat" }, "The workflow is not in the record, so the links between its tasks are unknown."));
  if (told.holder && !run.isOver) parts.push(make("p", { class: "faint" }, `run by ${told.holder}`));
  if (["stopped", "interrupted"].includes(run.state)) {
    parts.push(told.hindrance ? make("p", { class: "notice flat" }, `This run cannot be resumed: ${told.hindrance}`)
      : make("p", { class: "soft" }, "To resume: ", make("code", {}, `solvent resume ${run.name}`)));
  }
  if (run.openings.length > 1) parts.push(make("h3", {}, "Had by"), ...run.openings.slice(-20).map((one) =>
    make("p", { class: "soft" }, `${one.who}${run.about.agents ? `, shard ${one.shard}` : ""} `, make("span", { class: "faint num" }, `from ${seconds(one.at)}`))));
  if (parts.length < 3 && !run.isOver) parts.push(make("p", { class: "faint" }, "Results and errors appear here. Choose a task to see its calls."));
  return parts;
}

function failedNow(run) {
  const found = new Map();
  for (const call of run.calls) {
    const task = run.tasks[call.task];
    if (call.state === "failed" && ["failed", "replaced"].includes(task.state)) found.set(task.name, { task: task.name, cause: call.text });
  }
  return [...found.values()];
}

function adaptation(run, one) {
  const names = (numbers) => numbers.map((number) => run.tasks[number].name).join(", ");
  const news = [...new Set(one.exits.map(([, now]) => now))];
  const why = run.tasks[one.because];
  return make("div", { class: "value adapted" }, make("span", { class: "what" }, `↻ ${one.name}`),
    make("p", {}, `${names(news)} instead of ${names(one.replaced)}`),
    make("p", { class: "faint num" }, `after ${seconds(one.at)}${why ? `, because of ${why.name}` : ""}`));
}

/** Give the address of a task. */
export function linkOf(run, name) {
  return `#/run/${encodeURIComponent(run.name)}/graph/${encodeURIComponent(name)}`;
}
