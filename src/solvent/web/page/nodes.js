// Programs that run over nodes: the status of each node, and the messages between them.
import { address, fill, make, sheet } from "./dom.js";
import { viewKeys } from "./keys.js";
import { circle } from "./circle.js";
import { poll } from "./poll.js";

const LIST_MS = 2000;
const LOOK_MS = 1000;
const COLUMNS = ["node", "state", "mode", "rule", "molecules", "known", "reactions", "messages/s", "messages", "life"];
const number = (value) => (value ?? 0).toLocaleString("en");

export function show(root, [where, run], page) {
  sheet("nodes.css");
  return run ? one(root, where, run, page) : every(root);
}

function every(root) {
  const body = make("div", {});
  root.append(make("div", { class: "page" }, make("div", { class: "page-head" }, make("h1", {}, "Programs over nodes")), body));
  const told = ({ runs }) => fill(body, runs.length ? table(runs) : make("div", { class: "empty" },
    "No program runs over nodes here. ", make("code", {}, "solvent run PROGRAM --nodes 4"), " starts one."));
  return poll("/api/programs", LIST_MS, told, (error) => fill(body, make("div", { class: "notice bad" }, error.message)));
}

function table(runs) {
  return make("div", { class: "scroll" }, make("table", { class: "card rows" },
    make("thead", {}, make("tr", {}, ...["run", "program", "nodes", "kept", "state"].map((name) => make("th", { scope: "col" }, name)))),
    make("tbody", {}, ...runs.map((run) => make("tr", {},
      make("td", {}, make("a", { href: address(["nodes", run.where, run.run]) }, run.run)), make("td", { class: "mono" }, run.program),
      make("td", { class: "num" }, number(run.nodes)), make("td", { class: "soft" }, run.where === "store" ? "in the store" : "on this machine"),
      make("td", {}, make("span", { class: "state", data: { state: run.is_over ? "done" : "running" } }, run.is_over ? "over" : "running")))))));
}

function one(root, where, run, page) {
  page.title(run);
  const head = make("div", { class: "page-head" }, make("h1", {}, run), make("a", { href: address(["nodes"]) }, "All programs"));
  const picture = make("div", { class: "card picture" });
  const legend = make("div", { class: "legend", "aria-label": "Colours" }, ...[["optimistic", "optimistic"], ["pessimistic", "pessimistic"], ["dormant", "dormant"], ["alone", "by itself"], ["idle", "idle"], ["inert", "inert"], ["gone", "gone"]].map(([mode, says]) =>
    make("span", { class: "mode", data: { mode } }, says)));
  const kinds = make("div", { class: "card kinds" });
  const rows = make("div", { class: "scroll" });
  const notice = make("div", { role: "status" });
  root.append(make("div", { class: "page wide" }, head, notice, make("div", { class: "two" }, make("div", {}, picture, legend), kinds), rows));
  let last = null;

  function told(found) {
    fill(notice, ...(found.is_over ? [make("div", { class: "notice" }, found.nodes.length ? "The run is over. This is the last status of its nodes." : "The run is over, or no node answers.")] : []));
    head.firstChild.textContent = `${found.run}: ${found.program}`;
    if (found.nodes.length || !last) draw(found);
    if (found.nodes.length) last = found;
  }

  function draw(found) {
    const nodes = Array.from({ length: found.count }, (_, id) => found.nodes.find((node) => node.node === id) ?? { node: id, state: "gone", mode: "gone" });
    const before = new Map((last?.nodes ?? []).map((node) => [node.node, node]));
    const lines = found.nodes.flatMap((node) => Object.entries(node.to).map(([to, count]) => {
      // What was said since the last look; all there was, where this is the first one, or nothing is said any more.
      const old = before.get(node.node)?.to?.[to] ?? 0;
      return { from: node.node, to: Number(to), weight: count - old || count / 1e6, title: `${node.node} → ${to}: ${number(count)} messages` };
    }));
    fill(picture, circle(nodes.map((node) => ({ id: node.node, text: String(node.node), state: stateOf(node), title: titleOf(node) })), lines,
      { label: `${found.nodes.length} nodes of ${found.count}, and the messages between them` }));
    fill(kinds, make("h2", {}, "Messages"), kindTable(found.nodes, last?.nodes ?? [], last ? found.at - last.at : 0));
    fill(rows, make("table", { class: "card rows" }, make("thead", {}, make("tr", {}, ...COLUMNS.map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...nodes.map(row))));
  }

  viewKeys([{ keys: ["Escape"], says: "all programs", act: () => page.go("nodes") }]);
  return poll(`/api/programs/${encodeURIComponent(where)}/${encodeURIComponent(run)}`, LOOK_MS, told,
    (error) => fill(notice, make("div", { class: "notice bad" }, error.message)));
}

function stateOf(node) {
  return ["inert", "halted", "failed", "gone"].includes(node.state) ? node.state : node.mode;
}

function titleOf(node) {
  if (node.state === "gone") return `node ${node.node} does not answer`;
  return `node ${node.node}: ${node.state}, ${node.mode}${node.rule ? `, rule ${node.rule}` : ""}; ${number(node.molecules)} molecules, ${number(node.reactions)} reactions`;
}

function row(node) {
  if (node.state === "gone") return make("tr", { class: "gone" }, make("td", { class: "num" }, String(node.node)), make("td", { colspan: COLUMNS.length - 1 }, "does not answer"));
  const cells = [[node.node, "num"], [node.state, ""], null, [node.rule, "mono"], [number(node.molecules), "num"], [number(node.known), "num"], [number(node.reactions), "num"],
    [node.messages_per_second === null ? "–" : number(Math.round(node.messages_per_second)), "num"], [number(node.messages), "num"], [node.life, "num"]];
  return make("tr", {}, ...cells.map((cell) => (cell ? make("td", { class: cell[1] }, String(cell[0])) : make("td", {}, make("span", { class: "mode", data: { mode: stateOf(node) } }, node.mode)))));
}

function kindTable(nodes, before, seconds) {
  const sum = (list) => list.reduce((all, node) => { for (const [kind, count] of Object.entries(node.kinds)) all.set(kind, (all.get(kind) ?? 0) + count); return all; }, new Map());
  const now = sum(nodes);
  const old = sum(before);
  if (!now.size) return make("p", { class: "soft" }, "No messages yet.");
  const most = Math.max(...now.values());
  return make("table", { class: "bars" }, make("tbody", {}, ...[...now].sort((one, other) => other[1] - one[1]).map(([kind, count]) => make("tr", {},
    make("th", { scope: "row", class: "mono" }, kind), make("td", {}, make("meter", { min: 0, max: most, value: count, "aria-label": `${count} ${kind}` })),
    make("td", { class: "num" }, number(count)), make("td", { class: "num soft" }, seconds > 0 && before.length ? `${number(Math.round(Math.max(0, count - (old.get(kind) ?? 0)) / seconds))}/s` : "")))));
}
