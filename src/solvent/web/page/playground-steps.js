// A run, moment by moment: what is in the solution, what was just made, and what the next reaction takes.
import { fill, make } from "./dom.js";

/** Give what draws a moment: `draw(members, roles)`; `asked(molecule)` hears which molecule was chosen. */
export function drawing(recorded, { written, asked }) {
  const molecules = new Map(recorded.molecules.map((one) => [one.id, one]));

  function draw(members, roles = new Map()) {
    const found = [document.createTextNode("<")];
    members.forEach((member, number) => {
      // A comma stays with the molecule before it.
      const isLast = number === members.length - 1;
      found.push(make("span", { class: Array.isArray(member) ? null : "pg-one" }, one(member, roles), isLast ? "" : ","));
      if (!isLast) found.push(document.createTextNode(" "));
    });
    found.push(document.createTextNode(">"));
    return found;
  }

  function one(member, roles) {
    const [id, ...parts] = Array.isArray(member) ? member : [member];
    const molecule = molecules.get(id);
    const name = `pg-molecule ${roles.get(id) ?? ""}`;
    const title = molecule.rule ? "Why does it not react?" : "Why is it there?";
    if (!parts.length) {
      return make("button", { type: "button", class: `plain ${name}`, title, onclick: () => asked(molecule) }, written(molecule.text));
    }
    return make("span", { class: name }, parts.map((part) => (Array.isArray(part) ? draw(part, roles) : written(part))));
  }

  return draw;
}

/** Make the view of the steps of a run: `asked(molecule)` hears which molecule was chosen, `point` which rule acts. */
export function steps(recorded, { written, asked, point }) {
  const last = recorded.states.length - 1;
  const draw = drawing(recorded, { written, asked });
  const range = make("input", { type: "range", min: 0, max: last, value: 0, "aria-label": "Reaction", oninput: () => show(Number(range.value)) });
  const back = make("button", { type: "button", "aria-label": "Back", title: "Back (←)", onclick: () => go(-1) }, "‹");
  const on = make("button", { type: "button", "aria-label": "Forward", title: "Forward (→)", onclick: () => go(1) }, "›");
  const count = make("span", { class: "num soft" });
  const said = make("p", { class: "pg-said", role: "status" });
  const solution = make("div", { class: "pg-solution mono" });
  const list = make("ol", { class: "pg-reactions mono", "aria-label": "Reactions" }, ...recorded.reactions.map((one, at) =>
    make("li", {}, make("button", { type: "button", class: "plain", onclick: () => show(at + 1) },
      make("span", { class: "num faint" }, `${at + 1}`), make("span", { class: "pg-name" }, one.rule), make("span", { class: "soft" }, arrow(one))))));
  const cut = recorded.is_cut ? make("p", { class: "soft" }, `Only the first ${last} reactions can be stepped through; the run went on.`) : null;
  const root = make("div", { class: "pg-steps" },
    make("div", { class: "pg-bar" }, back, range, on, count), said, solution,
    make("p", { class: "pg-legend soft" }, make("i", { class: "pg-made" }), "just made ", make("i", { class: "pg-taken" }), "taken next ",
      make("i", { class: "pg-kept" }), "needed next, and stays ", make("i", { class: "pg-by" }), "the rule"), cut, list);
  let at = 0;

  function show(moment) {
    at = Math.max(0, Math.min(last, moment));
    range.value = at;
    back.disabled = at === 0;
    on.disabled = at === last;
    count.textContent = `${at} / ${last}`;
    const before = recorded.reactions[at - 1];
    const next = recorded.reactions[at];
    fill(said, ...sentence(before, next, at));
    const roles = new Map();
    const give = (ids, role) => ids?.forEach((id) => roles.set(id, `${roles.get(id) ?? ""} ${role}`));
    // What was just made may be taken next: then it is marked as both.
    give(before?.made, "pg-made");
    give(next?.kept, "pg-kept");
    give(next?.taken, "pg-taken");
    give(next && [next.by], "pg-by");
    fill(solution, draw(recorded.states[at], roles));
    for (const [number, line] of [...list.children].entries()) line.toggleAttribute("data-now", number === at - 1);
    const line = list.children[at - 1];
    if (line) list.scrollTop = Math.max(0, line.offsetTop - list.clientHeight / 2);
    point(next?.start, next?.end);
  }

  function sentence(before, next, number) {
    const parts = [];
    if (!before) parts.push("The start. ");
    else parts.push(`Reaction ${number}: `, make("b", { class: "mono" }, before.rule), ` ${what(before)}. `);
    if (next) parts.push(make("span", { class: "soft" }, "Next reacts ", make("b", { class: "mono" }, next.rule), "."));
    else parts.push(make("span", { class: "soft" }, recorded.is_cut ? "The run went on from here." : "Nothing happens after this."));
    return parts;
  }

  function go(by) {
    show(at + by);
  }

  show(0);
  return { root, show, go, first: () => show(0), last: () => show(last), again: () => show(at) };
}

function what(reaction) {
  const takes = reaction.before.length ? `takes ${reaction.before.join(", ")}` : "takes nothing";
  const stays = reaction.stays.length ? ` beside ${reaction.stays.join(", ")}` : "";
  const makes = reaction.after.length ? ` and makes ${reaction.after.join(", ")}` : " and makes nothing";
  return takes + stays + makes;
}

function arrow(reaction) {
  return `${[...reaction.before, ...reaction.stays].join(", ") || "nothing"} → ${[...reaction.stays, ...reaction.after].join(", ") || "nothing"}`;
}
