// Nodes in a circle, with lines for who talks to whom.
const NS = "http://www.w3.org/2000/svg";
const SIZE = 360;
const MAX_LINES = 240;

/** Make an element of a drawing. */
export function draw(tag, properties = {}, ...children) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value !== undefined && value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/**
 * Draw nodes (`{id, text, state, title, weight}`) in a circle, and lines between them (`{from, to, weight}`, the
 * heaviest ones only). Gives an svg element.
 */
export function circle(nodes, lines, { label, directed = false } = {}) {
  const middle = SIZE / 2;
  const dot = Math.max(5, Math.min(17, 380 / Math.max(nodes.length, 1) / 1.6));
  const radius = middle - dot - 12;
  const places = new Map(nodes.map((node, at) => {
    const angle = (2 * Math.PI * at) / Math.max(nodes.length, 1) - Math.PI / 2;
    return [node.id, nodes.length === 1 ? [middle, middle] : [middle + radius * Math.cos(angle), middle + radius * Math.sin(angle)]];
  }));
  const shown = lines.filter((one) => places.has(one.from) && places.has(one.to) && one.from !== one.to && one.weight > 0)
    .sort((one, other) => other.weight - one.weight).slice(0, MAX_LINES);
  const most = Math.max(1, ...shown.map((one) => one.weight));
  const root = draw("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, class: "circle", role: "img", "aria-label": label });
  for (const one of shown) {
    const [x1, y1] = places.get(one.from);
    const [x2, y2] = places.get(one.to);
    // Bent a little, so that both ways between two nodes are seen.
    const [bx, by] = [(x1 + x2) / 2 + (y2 - y1) * 0.1, (y1 + y2) / 2 - (x2 - x1) * 0.1];
    const width = 0.6 + 3.4 * Math.sqrt(one.weight / most);
    const line = draw("path", { d: `M${x1} ${y1} Q${bx} ${by} ${x2} ${y2}`, class: directed ? "way directed" : "way", "stroke-width": width.toFixed(2), "stroke-opacity": (0.15 + 0.6 * (one.weight / most)).toFixed(2) });
    if (one.title) line.append(draw("title", {}, one.title));
    root.append(line);
  }
  for (const node of nodes) {
    const [x, y] = places.get(node.id);
    const group = draw("g", { class: "dot", "data-state": node.state, "data-held": node.held ? "1" : null });
    group.append(draw("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: dot.toFixed(1) }), draw("title", {}, node.title ?? node.text));
    if (dot >= 9) group.append(draw("text", { x: x.toFixed(1), y: (y + 4).toFixed(1), "text-anchor": "middle" }, node.text));
    root.append(group);
  }
  return root;
}
