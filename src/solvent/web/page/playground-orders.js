// Every order of reactions: what can come out, whether it always ends, and the states as a picture.
import { fill, make } from "./dom.js";

const MIN_SCALE = 0.55;
const SVG = "http://www.w3.org/2000/svg";
const CONFLUENT = { true: ["yes", "whatever happens first, all runs can still meet"], false: ["no", "two runs can end differently"], null: ["not known", "not all states were seen"] };
const ENDS = { true: ["yes", "every run ends"], false: ["no", "a run can go on for ever"], null: ["not known", "not all states were seen"] };

/** Show what an exploration has found. */
export function orders(found, { written }) {
  const detail = make("div", { class: "pg-detail", role: "status" });
  const so = found.is_complete ? "" : " so far";
  const text = (one) => make("code", { class: "pg-text-of" }, written(one));
  const told = (run) => make("ol", { class: "pg-told mono" }, ...run.map((one) => make("li", {}, make("b", {}, one.rule), " ",
    written(one.before.join(", ") || "nothing"), " → ", written(one.after.join(", ") || "nothing"))));
  const picture = found.picture;

  function choose(number) {
    const node = picture.nodes[number];
    const way = [];
    for (let at = number; picture.nodes[at].came; at = picture.nodes[at].came[0]) way.unshift(picture.nodes[at].came[1]);
    fill(detail, make("p", {}, make("b", {}, nameOf(node, number)), way.length ? ` · reached by ${way.join(", ")}` : ""), text(node.text));
  }

  return make("div", { class: "pg-orders" },
    make("dl", { class: "pg-facts" },
      ...fact("States", `${found.states.toLocaleString("en")}${so}`), ...fact("Final states", `${found.finals_count.toLocaleString("en")}${so}`),
      ...fact("Confluent", ...CONFLUENT[found.confluent]), ...fact("Always ends", ...ENDS[found.terminates])),
    framed(picture, draw(picture, choose)),
    picture.left_out ? make("p", { class: "soft" }, `Drawn are the ${picture.nodes.length} states nearest to the start; ${picture.left_out.toLocaleString("en")} are left out.`) : null,
    detail,
    make("h3", {}, found.finals_count === 1 ? "The final state" : "Final states"),
    found.finals.length ? make("ul", { class: "pg-finals" }, ...found.finals.map((one) => make("li", {}, make("span", { class: "faint num" }, `${one.state} `), text(one.text)))) : make("p", { class: "soft" }, "None was found."),
    found.finals_count > found.finals.length ? make("p", { class: "soft" }, `and ${(found.finals_count - found.finals.length).toLocaleString("en")} more`) : null,
    ...(found.divergence ? [make("h3", {}, "Two runs that diverge"), ...found.divergence.flatMap((one, at) => [
      make("p", { class: "soft" }, at ? "another run" : "one run"), told(one.run), make("p", {}, "ends in ", text(one.text))])] : []),
    ...(found.cycle ? [make("h3", {}, "A run that never ends"), told(found.cycle.before), make("p", { class: "soft" }, "then again and again"), told(found.cycle.round)] : []));
}

function fact(name, value, why = "") {
  return [make("dt", {}, name), make("dd", {}, make("b", {}, value), why ? make("span", { class: "soft" }, ` ${why}`) : null)];
}

function nameOf(node, number) {
  return { start: "The start", final: `State ${number}, final` }[node.state] ?? `State ${number}`;
}

/** Put a picture into the width there is; where it would be too small to read, its start is in the middle. */
function framed(picture, drawing) {
  const frame = make("div", { class: "pg-picture", tabindex: 0, role: "group", "aria-label": "The states, and which leads to which" }, drawing);
  const fit = () => {
    if (!frame.clientWidth) return;
    const width = Math.max(picture.width * MIN_SCALE, Math.min(picture.width, frame.clientWidth));
    drawing.setAttribute("width", width);
    drawing.setAttribute("height", (picture.height * width) / picture.width);
    const first = picture.boxes[0];
    frame.scrollLeft = ((first.x + first.width / 2) * width) / picture.width - frame.clientWidth / 2;
  };
  new ResizeObserver(fit).observe(frame);
  return frame;
}

function draw(picture, choose) {
  const root = element("svg", { class: "pg-graph", width: picture.width, height: picture.height, viewBox: `0 0 ${picture.width} ${picture.height}`, role: "presentation" });
  const arrow = element("marker", { id: "pg-arrow", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" });
  arrow.append(element("path", { d: "M0 0L8 4L0 8z", class: "pg-head" }));
  const defs = element("defs");
  defs.append(arrow);
  root.append(defs);
  for (const piece of picture.pieces) {
    root.append(element("path", { d: piece.path, class: "pg-line", "marker-end": piece.end ? "url(#pg-arrow)" : null }));
  }
  for (const label of picture.labels) root.append(element("text", { x: label.x, y: label.y, class: "pg-label" }, label.text));
  picture.nodes.forEach((node, number) => root.append(boxOf(node, picture.boxes[number], number, choose)));
  return root;
}

function boxOf(node, box, number, choose) {
  const found = element("g", { class: "pg-state", tabindex: 0, role: "button", "data-state": node.state || null, "aria-label": `${nameOf(node, number)}: ${node.text}` });
  found.append(element("title", {}, `${nameOf(node, number)}: ${node.text}`));
  found.append(element("rect", { x: box.x, y: box.y, width: box.width, height: box.height, rx: 6 }));
  const middle = box.y + box.height / 2 + 4 - (node.lines.length - 1) * 8;
  node.lines.forEach(([, line], at) => found.append(element("text", { x: box.x + box.width / 2, y: middle + at * 16 }, line)));
  found.addEventListener("click", () => choose(number));
  found.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    choose(number);
  });
  return found;
}

function element(tag, properties = {}, text = "") {
  const found = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(properties)) if (value !== null) found.setAttribute(name, value);
  if (text) found.textContent = text;
  return found;
}
