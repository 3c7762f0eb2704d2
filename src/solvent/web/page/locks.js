// Rings and spaces: where the token is, who has which resource, and who waits.
import { fill, make, sheet } from "./dom.js";
import { circle } from "./circle.js";
import { poll } from "./polling.js";

const LOOK_MS = 400;
const MANY = 24;
const number = (value) => (value ?? 0).toLocaleString("en");

export function show(root) {
  sheet("nodes.css");
  const rings = make("div", {});
  const spaces = make("div", {});
  const notice = make("div", {});
  root.append(make("div", { class: "page wide" }, notice, rings, spaces));
  let last = null;

  function told(found) {
    const at = performance.now();
    const rates = new Map(found.rings.map((ring) => {
      const before = last?.found.rings.find((one) => one.name === ring.name);
      const seconds = last ? (at - last.at) / 1000 : 0;
      return [ring.name, before && seconds ? Math.max(0, ring.moves - before.moves) / seconds : null];
    }));
    last = { found, at };
    fill(notice, ...(found.rings.length || found.spaces.length ? [] : [nothing()]));
    fill(rings, ...found.rings.map((ring) => drawRing(ring, rates.get(ring.name))));
    fill(spaces, ...found.spaces.map(drawSpace));
  }

  return poll("/api/locks", LOOK_MS, told, (error) => fill(notice, make("div", { class: "notice bad", role: "alert" }, error.message)));
}

function nothing() {
  return make("div", { class: "empty" }, make("p", {}, "No ring and no space tells how it stands."),
    make("p", {}, "Processes tell with ", make("code", {}, "solvent.ring.join(..., board=True)"), ", ", make("code", {}, "solvent.shared.join(..., board=True)"), " or ", make("code", {}, "SOLVENT_BOARD=on"), "; ",
      make("code", {}, "solvent lab serve token --nodes 8"), " and ", make("code", {}, "solvent lab serve handover"), " do by themselves."));
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
  const at = ring.holder === null ? "nobody knows where the token is" : `the token is at node ${ring.holder}`;
  const locked = ring.nodes.find((node) => node.is_locked && !node.is_silent);
  const said = [at, locked ? `node ${locked.node} has the lock` : "nobody has the lock", `epoch ${ring.epoch}`, `${number(ring.moves)} moves${rate === null || rate === undefined ? "" : `, ${number(Math.round(rate))} a second`}`];
  return make("section", { class: "lock" }, make("h2", {}, `Ring ${ring.name || ""}`), make("p", { class: "soft" }, said.join(" · ")),
    make("div", { class: "two" }, make("div", {}, make("div", { class: "card picture" }, circle(shown, lines, { label: `A ring of ${all.length}: ${at}` })),
      make("div", { class: "legend" }, ...Object.entries(SAYS).map(([mode, says]) => make("span", { class: "mode", data: { mode } }, says)))),
    make("div", { class: "scroll" }, make("table", { class: "card rows" }, make("thead", {}, make("tr", {}, ...["node", "", "waiting", "token left", "messages", "heard up to", "process"].map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...shown.map(({ id, state }) => ringRow(id, known.get(id), state)))))));
}

const SAYS = { locked: "has the lock", token: "has the token", waits: "waits for the lock", idle: "wants nothing", gone: "says nothing any more", unknown: "does not tell" };

function ringRow(id, node, state) {
  const mode = make("td", {}, make("span", { class: "mode", data: { mode: state } }, SAYS[state]));
  const cells = node ? [number(node.waiting), `${number(node.moves)} times`, number(node.messages), node.place < 0 ? "–" : number(node.place), node.process] : ["", "", "", "", ""];
  return make("tr", {}, make("td", { class: "num" }, String(id)), mode, ...cells.map((cell) => make("td", { class: "num" }, String(cell))));
}

function drawSpace(space) {
  const silent = space.processes.filter((one) => one.is_silent).length;
  const telling = space.processes.length - silent;
  const said = [telling === 1 ? "1 process tells" : `${telling} processes tell`, silent ? `${silent} silent` : null].filter(Boolean).join(" · ");
  return make("section", { class: "lock" }, make("h2", {}, `Space ${space.name}`), make("p", { class: "soft" }, said),
    space.resources.length ? make("div", { class: "resources" }, ...space.resources.map(drawResource)) : make("p", { class: "soft" }, "Nobody has a handle of anything."));
}

function drawResource(resource) {
  const holds = [...resource.has, ...resource.comes];
  return make("div", { class: "card resource" }, make("h3", {}, resource.name),
    make("div", { class: "line" }, make("span", { class: "label" }, "has it"), ...(holds.length ? some(holds) : [make("span", { class: "faint" }, "nobody, when they looked")])),
    make("div", { class: "line" }, make("span", { class: "label" }, "wait"), ...(resource.waits.length ? some(resource.waits) : [make("span", { class: "faint" }, "nobody")])));
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
  return `number ${claim.node} in the space; ${claim.mode === "read" ? "to read" : "to write"}${claim.is_silent ? "; its process is gone, or stopped" : ""}`;
}
