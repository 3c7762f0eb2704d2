// The solution of a run as molecules: stepping back and forth through its record.
//
// The server replays the run once (POST /api/runs/NAME/replay) and then answers what is in the solution at any moment; only
// what is seen is sent. A moment is a number of reactions: #/run/NAME/molecules/12, or /12/PLACE of a run of agents.
import { ask } from "./request.js";
import { address, fill, make, sheet } from "./dom.js";
import { tabKeys } from "./keys.js";
import { drawSolution, drawReaction, drawWhy, nameOf, timeOf } from "./solution.js";
import { counted } from "./words.js";

const LOOK_MS = 250;
const PLAY_MS = 700;
const GROWN_MS = 2500;

export function show(root, run, page, words) {
  sheet("molecules.css");
  const base = `/api/runs/${encodeURIComponent(run.name)}/replay`;
  const first = words[0] === undefined ? Infinity : Number(words[0]) || 0;
  const view = { number: first, of: 0, shard: words[1] ?? null, task: "", playing: 0, over: false, isMade: false };
  let wanted = null;
  let busy = false;
  let timer = 0;

  const slider = make("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "Reaction", oninput: () => go(Number(slider.value)) });
  const count = make("input", { type: "text", inputmode: "numeric", class: "count num", "aria-label": "Number of the reaction", onchange: () => go(Number(count.value) || 0) });
  const total = make("span", { class: "soft num" });
  const button = (sign, says, act) => make("button", { class: "icon", type: "button", "aria-label": says, title: says, onclick: act }, sign);
  const play = button("▶", "Play (space)", () => setPlaying(!view.playing));
  const shards = make("span", {});
  const search = make("input", { type: "search", placeholder: "Find molecules  /", "aria-label": "Find molecules", oninput: () => { clearTimeout(timer); timer = setTimeout(find, LOOK_MS); } });
  const names = make("datalist", { id: "replay-tasks" }, ...run.tasks.slice(0, 2000).map((task) => make("option", { value: task.name })));
  const task = make("input", { type: "search", placeholder: "Events of a task", list: "replay-tasks", "aria-label": "Task whose events to go to", onchange: () => { setTask(task.value); task.blur(); } });
  const events = make("span", { class: "events" });
  const notice = make("div", {});
  const aside = make("div", { class: "replay-aside" });
  const solution = make("div", { class: "replay-solution", tabindex: "-1" });
  const bar = make("div", { class: "replay-bar" }, shards,
    button("«", "The beginning (Home)", () => go(0)), button("‹", "One reaction back (←)", () => go(view.number - 1)), play,
    button("›", "One reaction on (→)", () => go(view.number + 1)), button("»", "The end (End)", () => go(view.of)),
    slider, count, total, task, names, events, search);
  const body = make("div", { class: "replay-body" }, aside, solution);
  root.append(make("div", { class: "replay" }, bar, notice, body));
  waiting("Replaying the run …");

  function query(more = {}) {
    const given = new URLSearchParams({ ...(view.shard === null ? {} : { shard: view.shard }), ...more });
    return given.size ? `?${given}` : "";
  }

  function waiting(text) {
    body.hidden = true;
    bar.hidden = true;
    fill(notice, make("div", { class: "empty", role: "status" }, text));
  }

  /** Have the run replayed, and wait for it. */
  async function load() {
    view.isMade = false;
    try {
      let replay = await ask(base + query(), { method: "POST" });
      while (replay.state === "making") {
        if (!view.of) waiting(`Replaying the run: ${counted(replay.reactions, "reaction")} so far …`);
        await new Promise((done) => setTimeout(done, LOOK_MS));
        if (view.over) return;
        replay = await ask(base + query());
      }
      if (view.over) return;
      if (replay.state !== "made") throw new Error([replay.error, replay.hint].filter(Boolean).join(" · "));
      loaded(replay);
    } catch (error) {
      if (!view.over) fill(notice, make("div", { class: "notice bad", role: "alert" }, error.message));
    }
  }

  function loaded(replay) {
    const wasAtEnd = view.of > 0 && view.number >= view.of;
    view.isMade = true;
    view.of = replay.reactions;
    view.shard = replay.shards ? String(replay.shard) : null;
    slider.max = replay.reactions;
    total.textContent = `of ${replay.reactions.toLocaleString("en")}`;
    fill(shards, ...(replay.shards > 1 ? [shardChoice(replay)] : []));
    fill(notice, ...(replay.note ? [make("div", { class: "notice" }, replay.note)] : []));
    body.hidden = bar.hidden = false;
    go(wasAtEnd ? replay.reactions : view.number);
    if (run.state === "running" || replay.note) setTimeout(look, GROWN_MS);
  }

  function shardChoice(replay) {
    const options = Array.from({ length: replay.shards }, (_, at) => make("option", { value: at, selected: at === replay.shard }, `shard ${at}`));
    return make("select", { "aria-label": "Shard of the run", onchange: (event) => { view.shard = event.target.value; view.number = Infinity; view.of = 0; load(); } }, ...options);
  }

  /** See whether more has happened; who looks at the end sees it at once. */
  async function look() {
    if (view.over) return;
    const replay = await ask(base + query()).catch(() => ({}));
    if (view.over) return;
    if (replay.has_grown && view.number >= view.of) load();
    else if (replay.has_grown) {
      fill(notice, make("div", { class: "notice" }, "More has happened since. ", make("button", { type: "button", onclick: load }, "Show it")));
    } else if (run.state === "running") setTimeout(look, GROWN_MS);
  }

  /** Go to a moment; while one is asked for, only the last one wanted is asked for next. */
  async function go(number) {
    if (!view.isMade) return;
    wanted = Math.max(0, Math.min(number, view.of));
    if (busy) return;
    busy = true;
    while (wanted !== null && !view.over) {
      const now = wanted;
      wanted = null;
      try {
        draw(await ask(`${base}/at${query({ n: now })}`));
      } catch (error) {
        fill(notice, make("div", { class: "notice bad", role: "alert" }, error.message));
        break;
      }
    }
    busy = false;
  }

  const tools = {
    go,
    why: async (molecule) => drawWhy(aside, await ask(`${base}/why${query({ molecule })}`), tools),
    inside: (solution, more) => ask(`${base}/inside${query({ n: view.number, solution, ...more })}`),
    back: () => drawReaction(aside, view.moment, tools, run),
    show: (steps) => { search.value = ""; fill(notice); openAt(steps); },
  };

  function draw(moment) {
    view.moment = moment;
    view.number = moment.number;
    slider.value = moment.number;
    count.value = moment.number;
    slider.setAttribute("aria-valuetext", moment.reaction ? `${moment.number}: ${nameOf(moment.reaction)}` : "the beginning");
    total.title = moment.reaction ? timeOf(moment.reaction.at) : "";
    drawReaction(aside, moment, tools, run);
    const top = solution.scrollTop;
    drawSolution(solution, moment.solution, tools);
    solution.scrollTop = top;
    const shard = view.shard === null ? [] : [view.shard];
    history.replaceState(null, "", address(["run", run.name, "molecules", String(moment.number), ...shard]));
    if (search.value) find();
    if (view.task) setTask(view.task, { stays: true });
    if (view.playing && moment.number >= view.of) setPlaying(false);
  }

  async function find() {
    const text = search.value.trim();
    if (!text) return void fill(notice);
    const found = await ask(`${base}/search${query({ n: view.number, text })}`);
    if (view.over || search.value.trim() !== text) return;
    const lines = found.members.map((one) => make("li", {},
      make("span", { class: "soft" }, one.path.map((step) => step.text).join(" / ") || "solution", " "),
      make("button", { class: "chip", type: "button", onclick: () => { openAt(one.path); tools.why(one.id); } }, one.text)));
    const said = found.members.length ? `${found.members.length}${found.more ? " of more" : ""} found` : "Nothing found at this step.";
    fill(notice, make("div", { class: "notice found", role: "status" }, make("b", {}, said), make("ul", {}, ...lines)));
  }

  /** Open the boxes on the way to a molecule, as far as they are shown. */
  function openAt(steps) {
    for (const step of steps) {
      const box = solution.querySelector(`[data-molecule="${step.id}"]`);
      if (!box) return;
      box.querySelector(":scope > .head > .fold[aria-expanded=false]")?.click();
      box.scrollIntoView({ block: "nearest" });
    }
  }

  async function setTask(name, { stays = false } = {}) {
    view.task = name;
    if (!name) return void fill(events);
    const found = await ask(`${base}/events${query({ task: name, n: view.number })}`);
    if (view.over || view.task !== name) return;
    const jump = (sign, to, says) => make("button", { class: "icon", type: "button", title: says, "aria-label": says, disabled: to === null, onclick: () => go(to) }, sign);
    fill(events, jump("◂", found.before, "Its event before ([)"), make("span", { class: "soft num" }, found.count ? counted(found.count, "event") : "no events here"), jump("▸", found.after, "Its next event (])"));
    view.before = found.before;
    view.after = found.after;
    if (!stays && found.first !== null) go(found.first);
  }

  function setPlaying(on) {
    clearInterval(view.playing);
    if (on && view.number >= view.of) go(0);
    view.playing = on ? setInterval(() => { if (!busy) go(view.number + 1); }, PLAY_MS) : 0;
    play.textContent = on ? "❚❚" : "▶";
  }

  const far = () => Math.max(10, Math.round(view.of / 20));
  tabKeys([
    { keys: ["ArrowLeft", "ArrowRight"], says: "one reaction back, on", act: (event) => go(view.number + (event.key === "ArrowLeft" ? -1 : 1)) },
    { keys: ["PageUp", "PageDown"], says: "many reactions back, on", act: (event) => go(view.number + (event.key === "PageUp" ? -far() : far())) },
    { keys: ["Home", "End"], says: "the beginning, the end", act: (event) => go(event.key === "Home" ? 0 : view.of) },
    { keys: [" "], says: "play, or stop", act: () => setPlaying(!view.playing) },
    { keys: ["[", "]"], says: "the task's event before, after", act: (event) => { const to = event.key === "[" ? view.before : view.after; if (to != null) go(to); } },
    { keys: ["/"], says: "find molecules", act: () => search.focus() },
    { keys: ["Escape"], says: "back from a molecule to the reaction", act: () => { search.value = ""; fill(notice); if (view.moment) tools.back(); } },
  ]);
  load();
  return {
    end() { view.over = true; clearInterval(view.playing); clearTimeout(timer); },
    move([number, shard]) {
      if (number === undefined || (shard ?? null) !== view.shard) return false;
      if (view.isMade) go(Number(number) || 0);
      else view.number = Number(number) || 0;
      return true;
    },
  };
}
