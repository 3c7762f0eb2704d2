// Molecules drawn: a solution as nested boxes, a reaction, and why a molecule is there.
import { fill, make } from "./dom.js";

const SIGNS = { taken: "−", made: "+", changed: "~", kept: "·" };
const SAYS = { taken: "taken by this reaction", made: "made by this reaction", changed: "changed by this reaction", kept: "kept by this reaction", around: "where it happened" };
const WHAT = { call: "a call goes out", answer: "a call is answered", came: "came from outside", opened: "a sub-workflow is opened", reaction: "" };

/** Name a reaction: its rule, or where what came comes from. */
export function nameOf(reaction) {
  return reaction.rule || "from outside";
}

/** Write a time of day, with milliseconds. */
export function timeOf(at) {
  if (!at) return "";
  const when = new Date(at * 1000);
  return `${when.toLocaleTimeString("en-GB")}.${String(when.getMilliseconds()).padStart(3, "0")}`;
}

function pathText(path) {
  return path.map((step) => step.text).join(" / ");
}

// --- The solution.

/** Draw what is in a solution. */
export function drawSolution(root, solution, tools) {
  fill(root, make("div", { class: "replay-count soft" }, `${solution.count.toLocaleString("en")} molecules`), ...members(solution, tools));
}

function members(solution, tools) {
  const list = make("div", { class: "members" }, ...solution.members.map((one) => molecule(one, tools)));
  const found = [list];
  const further = make("div", { class: "further" });
  if (solution.left) further.append(more(solution, list, further, tools));
  if (solution.rules && !solution.has_rules) {
    further.append(make("button", { class: "chip quiet", type: "button", onclick: async (event) => {
      const all = await tools.inside(solution.id, { rules: 1 });
      event.target.remove();
      list.replaceChildren(...all.members.map((one) => molecule(one, tools)));
    } }, `${solution.rules} ${solution.rules === 1 ? "rule" : "rules"}`));
  }
  if (further.childElementCount) found.push(further);
  if (!solution.count && !solution.members.length) list.append(make("span", { class: "faint" }, "empty"));
  return found;
}

function more(solution, list, further, tools) {
  return make("button", { type: "button", onclick: async (event) => {
    const shown = list.querySelectorAll(":scope > [data-role='']").length;
    const next = await tools.inside(solution.id, { offset: shown });
    event.target.remove();
    list.append(...next.members.filter((one) => !one.role).map((one) => molecule(one, tools)));
    if (next.left) further.prepend(more({ ...solution, left: next.left }, list, further, tools));
  } }, `${solution.left.toLocaleString("en")} more`);
}

function molecule(one, tools) {
  return one.kind === "nested" ? nested(one, tools) : chip(one, tools);
}

function label(one) {
  const cut = one.length ? ` … (${one.length.toLocaleString("en")} characters)` : "";
  return one.text + cut;
}

function chip(one, tools) {
  const role = one.role ?? "";
  const says = [SAYS[role], "why is it there?"].filter(Boolean).join("; ");
  return make("button", { class: `chip ${one.kind}`, type: "button", data: { role, molecule: one.id }, title: says, onclick: () => tools.why(one.id) },
    SIGNS[role] ? make("span", { class: "sign", "aria-label": SAYS[role] }, SIGNS[role]) : null, make("span", {}, label(one)));
}

function nested(one, tools) {
  const role = one.role ?? "";
  const subs = new Map((one.subs ?? []).map((sub) => [sub.id, sub]));
  const pieces = one.parts ?? [one.text];
  const head = pieces.filter((piece) => typeof piece === "string").map((piece) => piece.replace(/^:|:$/g, "")).filter(Boolean).join(" : ");
  const count = [...subs.values()].reduce((sum, sub) => sum + sub.count, 0);
  const isOpen = [...subs.values()].some((sub) => sub.is_open);
  const box = make("div", { class: "nested", data: { role, molecule: one.id } });
  const inside = make("div", { class: "inside" });
  const draw = (sub) => make("div", { class: "sub" }, ...members(sub, tools));
  if (isOpen) inside.append(...[...subs.values()].map(draw));
  inside.hidden = !isOpen;
  const fold = make("button", { class: "fold", type: "button", "aria-expanded": String(isOpen), onclick: async () => {
    if (inside.hidden && !inside.childElementCount) {
      inside.append(...(await Promise.all([...subs.keys()].map((sub) => tools.inside(sub)))).map(draw));
    }
    inside.hidden = !inside.hidden;
    fold.setAttribute("aria-expanded", String(!inside.hidden));
  } }, make("span", { class: "name" }, head || "<>"), make("span", { class: "faint num" }, String(count)));
  box.append(make("div", { class: "head" },
    SIGNS[role] ? make("span", { class: "sign", title: SAYS[role], "aria-label": SAYS[role] }, SIGNS[role]) : null, fold,
    make("button", { class: "ask", type: "button", title: "Why is it there?", "aria-label": `Why is ${head} there?`, onclick: () => tools.why(one.id) }, "?")), inside);
  return box;
}

// --- Reactions.

function line(one, tools, { current = false } = {}) {
  const where = one.tasks.length ? one.tasks.join(", ") : pathText(one.path);
  return make("li", {}, make("button", { class: "event", type: "button", "aria-current": current ? "step" : null, onclick: () => tools.go(one.number) },
    make("span", { class: "faint num" }, String(one.number)), make("b", {}, nameOf(one)), make("span", { class: "soft" }, where),
    WHAT[one.what] ? make("span", { class: "faint" }, one.what) : null));
}

/** Tell of the reaction that led to a moment, and of those around it. */
export function drawReaction(root, moment, tools, run) {
  const { reaction } = moment;
  const parts = [];
  if (!reaction) parts.push(make("h2", {}, "The beginning"), make("p", { class: "soft" }, "No reaction has happened yet. Step on with → or the slider."));
  else {
    parts.push(make("h2", {}, make("span", { class: "faint num" }, `${reaction.number} `), nameOf(reaction)));
    const begun = run?.about?.created;
    const after = begun && reaction.at >= begun ? `${(reaction.at - begun).toFixed(2)} s` : "";
    parts.push(make("p", { class: "soft" }, [pathText(reaction.path) || "the whole solution", WHAT[reaction.what], after].filter(Boolean).join(" · ")));
    for (const role of ["taken", "changed", "made", "kept"]) {
      if (reaction[role].length) parts.push(make("h3", {}, { taken: "Takes", changed: "Changes", made: "Makes", kept: "Keeps" }[role]), sorted(reaction[role], role, tools));
    }
    if (reaction.text) parts.push(make("details", {}, make("summary", {}, "The rule"), make("pre", {}, reaction.text)));
  }
  fill(root, make("section", { class: "card", "aria-label": "Reaction" }, ...parts),
    make("section", { class: "card" }, make("h3", {}, "Around it"),
      make("ol", { class: "event-list" }, ...moment.near.map((one) => line(one, tools, { current: one.number === moment.number })))));
}

function sorted(list, role, tools) {
  return make("ul", { class: "parts" }, ...list.map((one) => make("li", {},
    one.path.length ? make("span", { class: "faint" }, `${pathText(one.path)} `) : null, chip({ ...one, role }, tools))));
}

/** Tell why a molecule is there: what made it, of what, and what became of it. */
export function drawWhy(root, why, tools) {
  const parts = [make("div", { class: "why-head" }, make("h2", {}, "Why it is there"), make("button", { type: "button", onclick: tools.back }, "Back")),
    make("pre", { class: "molecule-text" }, why.text + (why.length > why.text.length ? " …" : "")),
    make("p", { class: "soft" }, pathText(why.path) ? `in ${pathText(why.path)}` : "in the outermost solution")];
  const jump = (number) => make("button", { class: "link", type: "button", onclick: () => tools.go(number) }, `reaction ${number}`);
  if (why.made) {
    parts.push(make("p", {}, "Made by ", jump(why.made.number), ", rule ", make("b", {}, nameOf(why.made)), WHAT[why.made.what] ? ` (${WHAT[why.made.what]})` : "", "."));
    const from = [...why.made.taken, ...why.made.changed.filter((one) => one.id !== why.id), ...why.made.kept];
    if (from.length) parts.push(make("h3", {}, "Of"), sorted(from, "", tools));
  } else parts.push(make("p", {}, ...(why.came ? ["It came from outside before ", jump(why.came), "."] : ["It was there at the beginning."])));
  parts.push(make("p", {}, ...(why.died === null ? ["It is there to the end."] : ["It is gone with ", jump(why.died), "."])));
  if (why.uses.length) parts.push(make("h3", {}, "Reactions that it took part in"), make("ol", { class: "event-list" }, ...why.uses.map((one) => line(one, tools))));
  fill(root, make("section", { class: "card", "aria-label": "Why a molecule is there" }, ...parts));
}
