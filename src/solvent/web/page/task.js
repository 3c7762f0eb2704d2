// One task, in words: its service, arguments, calls and attempts, logs, errors, molecules.
import { make } from "./dom.js";
import { counted, MEANS, seconds } from "./words.js";

/** Give the parts of a task's panel: `told` is what the server says of it. */
export function aboutTask(run, task, told) {
  const link = (name) => make("a", { href: `#/run/${encodeURIComponent(run.name)}/graph/${encodeURIComponent(name)}` }, name);
  const parts = [];
  if (MEANS[task.state]) parts.push(make("p", { class: "faint" }, MEANS[task.state]));
  const failure = told.failure;
  if (failure) parts.push(make("div", { class: "value error" }, make("span", { class: "what" }, `${failure.kind}, ${counted(failure.attempts, "attempt")}`), make("pre", {}, failure.cause)));
  if (told.service) parts.push(...service(told.service));
  if (told.arguments?.length) parts.push(make("h3", {}, "Arguments"), ...told.arguments.map((one) => argument(one, link)));
  parts.push(make("h3", {}, told.calls.length > 1 ? `Calls (${(told.calls.length + told.left_out).toLocaleString("en")})` : "Call"));
  if (!told.calls.length) parts.push(make("p", { class: "faint" }, "No calls yet."));
  if (told.left_out) parts.push(make("p", { class: "faint" }, `${counted(told.left_out, "earlier call")} not shown`));
  parts.push(...told.calls.map((one) => call(one, run)));
  if (told.after?.length || told.goes_to?.length) {
    parts.push(make("h3", {}, "Links"));
    if (told.after.length) parts.push(make("p", { class: "soft" }, "after ", ...joined(told.after.slice(0, 20).map(link))));
    if (told.goes_to.length) parts.push(make("p", { class: "soft" }, "its result goes to ", ...joined(told.goes_to.slice(0, 20).map(link)),
      told.goes_to.length > 20 ? ` and ${told.goes_to.length - 20} more` : ""));
  }
  for (const one of told.alternatives ?? []) {
    const way = Object.entries(one.exits).flatMap(([old, now], at) => [at ? ", " : "", link(now), " instead of ", link(old)]);
    parts.push(make("p", { class: "soft" }, `alternative ${one.name}: `, ...way, `, on ${one.on.join(" or ")}`));
  }
  const molecules = failure?.molecules ? [failure.molecules] : told.molecules ?? [];
  if (molecules.length) {
    parts.push(make("details", { open: molecules.length < 16 }, make("summary", {}, failure?.molecules ? "Molecules at the end" : "Molecules at the start"),
      make("pre", { class: "molecules" }, molecules.join("\n"))));
  }
  return parts;
}

function joined(nodes) {
  return nodes.flatMap((node, at) => (at ? [", ", node] : [node]));
}

function service(one) {
  const policy = Object.entries(one.policy ?? {}).map(([name, value]) => `${name.replace("_", " ")} ${value}`).join(", ");
  return [make("h3", {}, "Service"), make("div", { class: "value" }, make("span", { class: "what" }, one.name),
    one.kind ? make("span", { class: "faint" }, ` ${one.kind}`) : null,
    one.target ? make("pre", {}, one.target) : null, policy ? make("p", { class: "faint" }, policy) : null)];
}

function argument(one, link) {
  const from = {
    value: () => [], input: () => ["input ", one.what], result: () => ["result of ", link(one.what), one.item ? `, item ${one.item}` : ""],
    resource: () => ["resource ", one.what, `, ${one.value}`], arrived: () => ["what arrives"], signalled: () => ["what the signal brings"],
  }[one.from]();
  const isShown = "value" in one && one.from !== "resource";
  return make("div", { class: "value" }, make("span", { class: "what" }, one.name), make("span", { class: "faint" }, " ", ...from),
    isShown ? make("pre", {}, one.value) : null);
}

function call(one, run) {
  const lasts = one.ended === undefined ? Math.max(0, run.seconds() - one.began) : one.ended - one.began;
  const attempts = Math.max(one.attempts ?? 1, one.tries.length + 1);
  const times = `from ${seconds(one.began)}, ${one.ended === undefined ? "since" : "for"} ${seconds(lasts)}`;
  const tries = one.tries.length ? make("p", { class: "faint num" }, `further attempts at ${one.tries.map(seconds).join(", ")}`) : null;
  return make("div", { class: "value call" },
    make("div", { class: "call-head" }, make("span", { class: "state", data: { state: one.state } }, one.state),
      make("span", { class: "faint num" }, times), run.about.agents ? make("span", { class: "faint" }, `shard ${one.shard}`) : null,
      attempts > 1 ? make("span", { class: "attempts num" }, counted(attempts, "attempt")) : null),
    tries,
    one.text ? make("pre", { class: "bad" }, one.text) : null,
    one.output ? make("details", { open: true }, make("summary", {}, "Output"), make("pre", { class: "log" }, one.output)) : null,
    "result" in one ? make("pre", { class: "result" }, one.result) : null,
    one.note ? make("p", { class: "faint" }, one.note) : null);
}
