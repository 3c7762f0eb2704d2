// The agents of a run, whether they are alive, and the shards of the run with their leases.
import { fill, make } from "./dom.js";
import { counted, tally } from "./words.js";

export function show(root, run) {
  const box = make("div", { class: "pad" });
  root.append(box);

  function draw() {
    const told = run.agents ?? { agents: [], shards: [], missing: [] };
    // A shard that has ended has no lease any more: the record says which agent had it last.
    const had = new Map(run.openings.map((one) => [one.shard, one.who]));
    const known = new Map(told.agents.map((one) => [one.name, one]));
    fill(box,
      run.isOver ? make("p", { class: "notice flat" }, "The run is over. These agents had its shards.") : null,
      told.missing.length && !run.isOver ? make("div", { class: "notice bad flat" }, `No agent offers: ${told.missing.join(", ")}`) : null,
      run.isOver ? null : [make("h2", {}, counted(told.agents.length, "agent")),
        make("div", { class: "cards" }, ...told.agents.map((one) => agent(one, told.shards)))],
      make("h2", {}, counted(told.shards.length, "shard")),
      make("p", { class: "soft" }, run.isOver ? "Each shard had some of the tasks." : "Each shard has some of the tasks; the agent that holds its lease runs them."),
      make("div", { class: "cards" }, ...told.shards.map((one) => shard(one, run, known, had.get(one.shard)))));
  }

  draw();
  return run.on(draw);
}

const LIFE = { alive: "done", silent: "failed", unknown: "waiting" };

function agent(one, shards) {
  const has = shards.filter((shard) => shard.agent === one.name).map((shard) => shard.shard);
  const offers = one.trusts_all ? "everything" : one.services.join(", ") || "nothing";
  return make("div", { class: "card small-card", data: { agent: one.name } },
    make("div", { class: "card-head" }, make("strong", { class: "cut" }, one.name), make("span", { class: "state", data: { state: LIFE[one.state] } }, one.state === "unknown" ? "looking …" : one.state)),
    make("p", { class: "faint" }, `${one.host}, process ${one.process}; lease of ${one.ttl} s`),
    make("p", { class: "soft" }, has.length ? `has ${has.length === 1 ? "shard" : "shards"} ${has.join(", ")}` : "has no shard"),
    make("p", { class: "faint" }, `offers ${offers}`));
}

function shard(one, run, known, last) {
  const tasks = run.tasks.filter((task) => task.shard === one.shard);
  const holder = known.get(one.agent);
  const found = tally(tasks);
  const bar = make("div", { class: "bar" });
  for (const [state, count] of found) {
    if (["waiting", "asleep", "unused"].includes(state)) continue;
    const part = make("span", { data: { state } });
    part.style.width = `${(100 * count) / Math.max(1, tasks.length)}%`;
    bar.append(part);
  }
  const who = run.isOver ? one.agent || last || "no agent"
    : one.agent ? `${one.agent}${holder ? (holder.state === "silent" ? " (silent)" : "") : " (gone)"}` : "no agent";
  return make("div", { class: "card small-card", data: { shard: String(one.shard) } },
    make("div", { class: "card-head" }, make("strong", {}, `shard ${one.shard}`), make("span", { class: "faint num" }, `epoch ${one.epoch}`)),
    make("p", { class: holder?.state === "silent" && !run.isOver ? "bad" : "soft" }, who),
    bar, make("p", { class: "faint num" }, [...found].map(([state, count]) => `${count} ${state}`).join(" · ") || counted(tasks.length, "task")));
}
