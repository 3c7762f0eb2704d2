// Rings and shared data: where the token is, which process has which resource, and which wait.
import { fill, make, sheet } from "./dom.js";
import { circle } from "./circle.js";
import { poll } from "./poll.js";

const LOOK_MS = 400;
const MANY = 24;
const number = (value) => (value ?? 0).toLocaleString("en");

export function show(root) {
  sheet("nodes.css");
  const rings = make("div", {});
  const shared = make("div", {});
  const notice = make("div", {});
  root.append(make("div", { class: "page wide" }, notice, rings, shared));
  let last = null;

  function told(found) {
    const at = performance.now();
    const rates = new Map(found.rings.map((ring) => {
      const before = last?.found.rings.find((one) => one.name === ring.name);
      const seconds = last ? (at - last.at) / 1000 : 0;
      return [ring.name, before && seconds ? Math.max(0, ring.moves - before.moves) / seconds : null];
    }));
    last = { found, at };
    fill(notice, ...(found.rings.length || found.shared.length ? [] : [nothing()]));
    fill(rings, ...found.rings.map((ring) => drawRing(ring, rates.get(ring.name))));
    fill(shared, ...found.shared.map(drawShared));
  }

  return poll("/api/locks", LOOK_MS, told, (error) => fill(notice, make("div", { class: "notice bad", role: "alert" }, error.message)));
}

function nothing() {
  return make("div", { class: "empty" }, make("p", {}, "Nothing is reporting status yet."),
    make("p", {}, "Processes report with ", make("code", {}, "solvent.ring.join(..., board=True)"), ", ", make("code", {}, "solvent.shared.join(..., board=True)"), " or ", make("code", {}, "SOLVENT_BOARD=on"), "; ",
      make("code", {}, "solvent lab serve token --nodes 8"), " and ", make("code", {}, "solvent lab serve handover"), " report by themselves."));
}

function drawRing(ring, rate) {
  const known = new Map(ring.nodes.map((node) => [node.node, node]));
  const all = [...new Set([...ring.members, ...ring.ring, ...known.keys()])].sort((one, other) => one - other);
  const lines = ring.ring.map((node, at) => ({ from: node, to: ring.ring[(at + 1) % ring.ring.length], weight: 1 }));
  const shown = all.map((id) => {
    const node = known.get(id);
    const state = !node ? "unknown" : node.is_silent ? "gone" : node.is_locked ? "locked" : node.has_token ? "token" : node.waiting ? "waits" : "idle";
    return { id, text: id < 1000 ? String(id) : `…${String(id).slice(-2)}`, state, held: id === ring.holder, title: `node ${id}: ${SAYS[state]}` };
  });
  const at = ring.holder === null ? "the token's place is unknown" : `the token is at node ${ring.holder}`;
  const locked = ring.nodes.find((node) => node.is_locked && !node.is_silent);
  const said = [at, locked ? `node ${locked.node} has the lock` : "the lock is free", `epoch ${ring.epoch}`, `${number(ring.moves)} moves${rate === null || rate === undefined ? "" : `, ${number(Math.round(rate))} a second`}`];
  return make("section", { class: "lock" }, make("h2", {}, `Ring ${ring.name || ""}`), make("p", { class: "soft" }, said.join(" · ")),
    make("div", { class: "two" }, make("div", {}, make("div", { class: "card picture" }, circle(shown, lines, { label: `A ring of ${all.length}: ${at}` })),
      make("div", { class: "legend" }, ...Object.entries(SAYS).map(([mode, says]) => make("span", { class: "mode", data: { mode } }, says)))),
    make("div", { class: "scroll" }, make("table", { class: "card rows" }, make("thead", {}, make("tr", {}, ...["node", "", "waiting", "token left", "messages", "delivered", "process"].map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...shown.map(({ id, state }) => ringRow(id, known.get(id), state)))))));
}

const SAYS = { locked: "has the lock", token: "has the token", waits: "waits for the lock", idle: "idle", gone: "silent", unknown: "does not report" };

function ringRow(id, node, state) {
  const mode = make("td", {}, make("span", { class: "mode", data: { mode: state } }, SAYS[state]));
  const cells = node ? [number(node.waiting), `${number(node.moves)} times`, number(node.messages), node.place < 0 ? "–" : number(node.place), node.process] : ["", "", "", "", ""];
  return make("tr", {}, make("td", { class: "num" }, String(id)), mode, ...cells.map((cell) => make("td", { class: "num" }, String(cell))));
}

function drawShared(space) {
  const silent = space.processes.filter((one) => one.is_silent).length;
  const reporting = space.processes.length - silent;
  const said = [reporting === 1 ? "1 process reports" : `${reporting} processes report`, silent ? `${silent} silent` : null].filter(Boolean).join(" · ");
  return make("section", { class: "lock" }, make("h2", {}, `Shared data ${space.name}`), make("p", { class: "soft" }, said),
    space.resources.length ? make("div", { class: "resources" }, ...space.resources.map(drawResource)) : make("p", { class: "soft" }, "There are no handles."));
}

function drawResource(resource) {
  const holds = [...resource.has, ...resource.comes];
  return make("div", { class: "card resource" }, make("h3", {}, resource.name),
    make("div", { class: "line" }, make("span", { class: "label" }, "has it"), ...(holds.length ? some(holds) : [make("span", { class: "faint" }, "no process, at the last report")])),
    make("div", { class: "line" }, make("span", { class: "label" }, "wait"), ...(resource.waits.length ? some(resource.waits) : [make("span", { class: "faint" }, "none")])));
}

function some(claims) {
  const shown = claims.slice(0, MANY).map((claim) => make("span", { class: "claim", data: { state: claim.is_silent ? "gone" : claim.state }, title: titleOf(claim) },
    `process ${claim.process}`, partOf(claim) ? make("span", { class: "faint" }, ` ${partOf(claim)}`) : null));
  return claims.length > MANY ? [...shown, make("span", { class: "faint" }, `and ${claims.length - MANY} more`)] : shown;
}

function partOf(claim) {
  const part = claim.offset || claim.length !== null ? `${claim.offset}–${claim.length === null ? "end" : claim.offset + claim.length}` : "";
  return [claim.mode === "read" ? "reads" : "", part, claim.state === "comes" ? "on its way" : ""].filter(Boolean).join(" ");
}

function titleOf(claim) {
  return `process number ${claim.node}; ${claim.mode === "read" ? "to read" : "to write"}${claim.is_silent ? "; the process is gone or stopped" : ""}`;
}
