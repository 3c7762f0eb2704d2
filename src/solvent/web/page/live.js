// A run as it is followed: a snapshot first, and then the messages of what has changed (see run_source.py).
import { ask } from "./request.js";
import { listen } from "./event-stream.js";

/** Follow a run. `ready` is kept when it is known; `on` tells, once a frame at most, that something has changed. */
export function follow(name) {
  const place = `/api/runs/${encodeURIComponent(name)}`;
  const listeners = new Set();
  const heard = new Set();
  let stop = () => {};
  let isDue = false;

  const run = {
    name,
    place,
    /** What does not change. */
    about: { tasks: [] },
    /**
     * Each with `name`, `service`, `number`, `state`, `calls` (numbers of calls); `isInner` inside a sub-workflow; if it is called for each
     * item, `items`: how many are over, and of how many.
     */
    tasks: [],
    byName: new Map(),
    /** Each with `task`, `key`, `began`, `ended`, `state`, `tries`, `attempts`, `text`, `shard`, `agent` (if another one has the shard); seconds. */
    calls: [],
    adaptations: [],
    openings: [],
    signals: [],
    stuck: [],
    waits: [],
    /** Its status: `state`, `ended`, `seconds`, `results`, `failures`, `error`, `holder`. */
    told: {},
    agents: null,
    state: "",
    /** Grows with every change; `touched` has the numbers of tasks that changed since listeners were told. */
    version: 0,
    touched: new Set(),
    /** Called when another version of the run counts, which may have other tasks. */
    renew() {},
    on(listener) { listeners.add(listener); return () => listeners.delete(listener); },
    /** Be told of each message by itself, as it comes; what was before is not told. */
    hear(listener) { heard.add(listener); return () => heard.delete(listener); },
    /** How many seconds the run has lasted. */
    seconds() {
      if (run.told.seconds !== undefined) return run.told.seconds;
      if (["running", "waiting", "queued"].includes(run.state)) return Math.max(0, Date.now() / 1000 - run.about.created);
      return run.calls.reduce((last, call) => Math.max(last, call.ended ?? call.began), 0);
    },
    get isOver() { return "ended" in run.told; },
    close() { stop(); listeners.clear(); heard.clear(); },
  };

  function changed() {
    run.version++;
    if (isDue) return;
    isDue = true;
    // A hidden page has no frames.
    (document.hidden ? (act) => setTimeout(act, 200) : requestAnimationFrame)(() => {
      isDue = false;
      for (const listener of [...listeners]) listener(run);
      run.touched.clear();
    });
  }

  function takeCall(message) {
    const isNew = message.n >= run.calls.length;
    const call = isNew ? { number: message.n, task: message.t } : run.calls[message.n];
    call.key = message.k ?? "";
    call.began = message.b;
    call.ended = message.x ?? null;
    call.state = message.s;
    call.tries = message.r ?? [];
    call.attempts = message.a ?? 1;
    call.text = message.m ?? "";
    call.shard = message.p ?? 0;
    call.agent = message.w ?? "";
    if (message.i) run.tasks[message.t].items = message.i;
    if (isNew) {
      run.calls[message.n] = call;
      run.tasks[message.t].calls.push(message.n);
    }
    run.touched.add(message.t);
  }

  function addTask(name, state) {
    const number = run.tasks.length;
    const task = { name, service: "", number, state, calls: [], isInner: true };
    run.tasks.push(task);
    run.byName.set(name, task);
    run.touched.add(number);
  }

  const takes = {
    inner(message) { message.tasks.forEach((name, at) => addTask(name, message.states[at])); },
    task(message) { run.tasks[message.t].state = message.s; run.touched.add(message.t); },
    call: takeCall,
    adapt(message) { run.adaptations.push(message); },
    open(message) { run.openings.push(message); },
    signal(message) { run.signals.push(message); },
    stuck(message) { run.stuck = message.lines; },
    waits(message) { run.waits = message.waits; },
    agents(message) { run.agents = message; },
    run(message) { run.told = message; run.state = message.state; },
    version() { run.renew(); },
  };

  function takeAll(all) {
    run.tasks.length = run.about.tasks.length;
    for (const name of all.inner) addTask(name, "waiting");
    all.states.forEach((state, number) => { run.tasks[number].state = state; run.tasks[number].calls = []; run.touched.add(number); });
    run.calls = [];
    all.calls.forEach(takeCall);
    for (const [task, items] of all.items) run.tasks[task].items = items;
    for (const what of ["adaptations", "openings", "signals", "stuck", "waits"]) run[what] = all[what];
    run.agents = all.agents ?? null;
    takes.run(all.run);
  }

  run.ready = ask(place).then((about) => {
    run.about = about;
    run.tasks = about.tasks.map((task, number) => ({ ...task, number, state: "waiting", calls: [] }));
    run.byName = new Map(run.tasks.map((task) => [task.name, task]));
    return new Promise((resolve, reject) => {
      stop = listen(`${place}/events`, {
        all(all) {
          if (all.version !== run.about.version) { run.renew(); return; }
          takeAll(all);
          resolve(run);
          changed();
        },
        news(messages) {
          for (const message of messages) {
            takes[message.e]?.(message);
            for (const listener of heard) listener(message);
          }
          changed();
        },
        problem(problem) { reject(new Error(problem.error)); run.told = { state: "damaged", error: problem.error }; changed(); },
      });
    });
  });
  return run;
}
