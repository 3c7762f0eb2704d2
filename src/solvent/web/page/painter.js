// Draws the graph on a canvas. How much is drawn depends on how large it would be: names only where they can be read,
// lines as straight ones where nobody sees the curve, and of very many lines not all.
import { colour } from "./dom.js";
import { isAmid, ofItems, seconds, STATES } from "./words.js";

const MAX_LINES = 1200;
const MAX_CURVES = 1000;
const RADIUS = 8;
const STACK = 4;
const NAMES = ["ground", "sheet", "raised", "line", "line-strong", "text", "text-soft", "text-faint", "accent", "adapted", "adapted-soft",
  "waiting", "waiting-soft", "running", "running-soft", "done", "done-soft", "failed", "failed-soft", "cancelled", "cancelled-soft",
  "replaced", "replaced-soft", "asleep", "asleep-soft"];
const LOOKS = { interrupted: "cancelled", unused: "asleep", stopped: "cancelled" };

/** Read the colours of the theme. */
export function paletteNow() {
  const found = Object.fromEntries(NAMES.map((name) => [name, colour(`--${name}`)]));
  return { ...found, sans: colour("--sans") };
}

/** Draw a scene; `view` is the camera's, `marks` has `selected` and `hovered`. */
export function paint(context, scene, view, palette, marks, ratio) {
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, view.width, view.height);
  const k = view.scale * ratio;
  context.setTransform(k, 0, 0, k, -view.x * k, -view.y * k);
  const right = view.x + view.width / view.scale;
  const bottom = view.y + view.height / view.scale;
  const { boxes, pieces } = scene.within(view.x, view.y, right, bottom);
  paintLines(context, pieces, view, palette);
  if (marks.selected) paintChosen(context, marks.selected, view, palette);
  if (view.scale >= 0.35) paintLabels(context, scene, view, palette);
  if (view.scale < 0.12) paintDots(context, boxes, view, palette, marks);
  else for (const box of boxes) paintBox(context, box, scene.run, view, palette, marks);
}

// ------------------------------------------------------------------------------------------------------------ lines

function paintLines(context, pieces, view, palette) {
  const isFar = view.scale < 0.2 || pieces.length > MAX_CURVES;
  const stride = Math.max(1, Math.ceil(pieces.length / MAX_LINES));
  const plain = [];
  const special = [];
  pieces.forEach((piece, at) => {
    const isPlain = piece.kind === "" && piece.pale === 0 && !piece.flow;
    if (!isPlain) special.push(piece);
    else if (at % stride === 0) plain.push(piece);
  });
  context.lineWidth = isFar ? 0.8 / view.scale : Math.max(1.4, 1 / view.scale);
  context.strokeStyle = palette["line-strong"];
  context.globalAlpha = stride > 1 ? 0.5 : 1;
  trace(context, plain, isFar);
  context.stroke();
  context.globalAlpha = 1;
  if (!isFar) heads(context, plain, palette["line-strong"]);
  const few = special.length > MAX_LINES ? special.filter((_, at) => at % Math.ceil(special.length / MAX_LINES) === 0) : special;
  for (const piece of few) paintSpecial(context, piece, view, palette, isFar);
}

/** Draw the lines of the box that is chosen once more, so that they are found among others. */
function paintChosen(context, box, view, palette) {
  const pieces = box.pieces.filter((piece) => piece.isTaken).slice(0, MAX_LINES);
  context.strokeStyle = palette.accent;
  context.lineWidth = Math.max(2, 1.2 / view.scale);
  trace(context, pieces, pieces.length > 100);
  context.stroke();
}

function trace(context, pieces, isFar) {
  context.beginPath();
  for (const piece of pieces) {
    if (isFar) {
      context.moveTo(...piece.first);
      context.lineTo(...piece.last);
      continue;
    }
    for (const [letter, values] of piece.steps) {
      if (letter === "M") context.moveTo(...values);
      else if (letter === "L") context.lineTo(...values);
      else context.bezierCurveTo(...values);
    }
  }
}

function heads(context, pieces, tint) {
  context.fillStyle = tint;
  context.beginPath();
  for (const piece of pieces) if (piece.end) arrow(context, piece);
  context.fill();
}

function arrow(context, piece) {
  const [x, y] = piece.last;
  const values = piece.steps.at(-1)[1];
  const before = values.length > 2 ? values.slice(-4, -2) : piece.steps.at(-2)[1].slice(-2);
  const angle = Math.atan2(y - before[1], x - before[0]);
  const [c, s] = [Math.cos(angle), Math.sin(angle)];
  context.moveTo(x, y);
  context.lineTo(x - 7 * c - 3.5 * s, y - 7 * s + 3.5 * c);
  context.lineTo(x - 7 * c + 3.5 * s, y - 7 * s - 3.5 * c);
  context.closePath();
}

/** Draw a line that stands by, grows, pales, leads back or into what runs. */
function paintSpecial(context, piece, view, palette, isFar) {
  const width = isFar ? 0.8 / view.scale : 1.4;
  if (piece.kind === "dashed") {
    stroke(context, piece, { tint: palette.asleep, width, alpha: 0.75 * (1 - piece.on), dash: [5, 5], isFar });
    if (piece.on > 0) {
      context.save();
      if (piece.on < 1) {
        // Lines lead downwards, so a line that grows is one that is seen as far as that.
        context.beginPath();
        context.rect(piece.left - 10, piece.top - 10, piece.right - piece.left + 20, (piece.bottom - piece.top + 20) * piece.on);
        context.clip();
      }
      stroke(context, piece, { tint: palette.adapted, width: width * 1.5, alpha: 1, isFar });
      context.restore();
    }
    return;
  }
  if (piece.kind === "cancel") return stroke(context, piece, { tint: palette.failed, width, alpha: 0.7, dash: [2, 4], isFar });
  if (piece.kind === "back" || piece.kind === "loop") return stroke(context, piece, { tint: palette["text-faint"], width, alpha: 1, dash: [1, 3], isFar });
  const tint = piece.flow ? palette.running : palette["line-strong"];
  stroke(context, piece, { tint, width: piece.flow ? width * 1.4 : width, alpha: 1 - 0.72 * piece.pale, dash: piece.pale > 0.5 ? [2, 5] : null, isFar });
}

function stroke(context, piece, { tint, width, alpha, dash = null, isFar }) {
  if (alpha <= 0.01) return;
  context.globalAlpha = alpha;
  context.strokeStyle = tint;
  context.lineWidth = width;
  if (dash && !isFar) context.setLineDash(dash);
  trace(context, [piece], isFar);
  context.stroke();
  context.setLineDash([]);
  if (!isFar && piece.end) heads(context, [piece], tint);
  context.globalAlpha = 1;
}

function paintLabels(context, scene, view, palette) {
  context.font = `11px ${palette.sans}`;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const label of scene.labels) {
    const wide = context.measureText(label.text).width;
    context.fillStyle = palette.ground;
    context.fillRect(label.x - wide / 2 - 3, label.y - 11, wide + 6, 15);
    context.fillStyle = palette["text-soft"];
    context.fillText(label.text, label.x, label.y);
  }
}

// ------------------------------------------------------------------------------------------------------------ boxes

const lookOf = (state) => LOOKS[state] ?? state;

/** Draw boxes that are too small for anything but their colour. */
function paintDots(context, boxes, view, palette, marks) {
  const least = 1.2 / view.scale;
  const byState = new Map();
  for (const box of boxes) {
    const look = lookOf(box.state);
    if (!byState.has(look)) byState.set(look, []);
    byState.get(look).push(box);
  }
  // What has failed is drawn last, and is seen among thousands.
  const order = [...byState.keys()].sort((one, other) => (one === "failed") - (other === "failed"));
  for (const look of order) {
    context.fillStyle = palette[look] ?? palette.waiting;
    for (const box of byState.get(look)) context.fillRect(box.x, box.y, Math.max(box.w, least), Math.max(box.h, least));
  }
  for (const box of [marks.selected, marks.hovered]) {
    if (!box) continue;
    context.strokeStyle = palette.accent;
    context.lineWidth = 2 / view.scale;
    context.strokeRect(box.x - 3 / view.scale, box.y - 3 / view.scale, Math.max(box.w, least) + 6 / view.scale, Math.max(box.h, least) + 6 / view.scale);
  }
}

function rounded(context, x, y, w, h, radius) {
  context.beginPath();
  context.roundRect(x, y, w, h, radius);
}

function paintBox(context, box, run, view, palette, marks) {
  const look = lookOf(box.state);
  const tint = palette[look] ?? palette.waiting;
  const isReadable = view.scale >= 0.4;
  context.save();
  context.globalAlpha = box.fade;
  if (box.wake < 1 && box.flash > 0) {
    const size = 0.86 + 0.14 * box.wake;
    context.translate(box.x + box.w / 2, box.y + box.h / 2);
    context.scale(size, size);
    context.translate(-box.x - box.w / 2, -box.y - box.h / 2);
  }
  if (box.flash > 0) {
    context.globalAlpha = box.fade * Math.min(1, box.flash);
    context.strokeStyle = palette.adapted;
    context.lineWidth = 6;
    rounded(context, box.x - 4, box.y - 4, box.w + 8, box.h + 8, RADIUS + 4);
    context.stroke();
    context.globalAlpha = box.fade;
  }
  if (box.isMany) paintStack(context, box, palette);
  context.fillStyle = palette.sheet;
  rounded(context, box.x, box.y, box.w, box.h, RADIUS);
  context.fill();
  context.fillStyle = palette[`${look}-soft`] ?? palette["waiting-soft"];
  context.fill();
  context.strokeStyle = look === "waiting" ? palette["line-strong"] : tint;
  context.lineWidth = box.state === "running" ? 2 : 1.3;
  if (box.wake < 0.5) context.setLineDash([5, 4]);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = tint;
  rounded(context, box.x, box.y, 5, box.h, [RADIUS, 0, 0, RADIUS]);
  context.fill();
  if (isReadable) paintTexts(context, box, run, palette, tint);
  else if (box.isMany) paintShares(context, box, palette, box.y + box.h / 2 - 8, 16);
  context.restore();
  if (box === marks.selected || box === marks.hovered) {
    context.strokeStyle = palette.accent;
    context.lineWidth = (box === marks.selected ? 2.5 : 1.5) / Math.min(1, view.scale);
    rounded(context, box.x - 4, box.y - 4, box.w + 8, box.h + 8, RADIUS + 3);
    context.stroke();
  }
}

function paintStack(context, box, palette) {
  for (const by of [2 * STACK, STACK]) {
    context.fillStyle = palette.sheet;
    context.strokeStyle = palette["line-strong"];
    context.lineWidth = 1;
    rounded(context, box.x + by, box.y + by, box.w, box.h, RADIUS);
    context.fill();
    context.stroke();
  }
}

function paintTexts(context, box, run, palette, tint) {
  const middle = box.x + box.w / 2 + 2;
  const lines = box.isMany ? [["", box.lines[0][1]], ["counts", ""]] : [...box.lines];
  if (!box.isMany && lines.length === 1) lines.push(["sub", about(box, run)]);
  const high = lines.reduce((sum, [kind]) => sum + (kind ? 15 : 17), 0);
  let y = box.y + (box.h - high) / 2;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  for (const [kind, text] of lines) {
    y += kind ? 15 : 17;
    if (kind === "counts") {
      paintCounts(context, box, palette, y - 3);
      continue;
    }
    context.font = kind ? `11px ${palette.sans}` : `500 13px ${palette.sans}`;
    context.fillStyle = kind === "sub" ? (box.state === "waiting" ? palette["text-faint"] : tint) : kind ? palette["text-soft"] : palette.text;
    // How wide letters are depends on the machine's fonts: rather narrow ones than some beside the box.
    context.fillText(text, middle, y - 4, box.w - 16);
  }
  if (box.isMany) paintShares(context, box, palette, box.y + box.h - 5, 3);
}

/** Say in a word how a task is. */
function about(box, run) {
  const task = box.tasks[0];
  const call = run.calls[task.calls.at(-1)];
  const many = isAmid(task) ? `${ofItems(task)}, ` : task.calls.length > 1 ? `${task.calls.length} calls, ` : "";
  if (task.state === "running" && call) return `${many}${seconds(Math.max(0, (call.ended ?? run.seconds()) - call.began))}`;
  if (task.state === "done" && call) return `${many}${seconds((call.ended ?? call.began) - call.began)}${call.attempts > 1 ? `, ${call.attempts} attempts` : ""}`;
  if (task.state === "asleep") return "stands by";
  if (task.state === "unused") return "not needed";
  return task.state;
}

function paintCounts(context, box, palette, y) {
  const words = Object.keys(STATES).filter((state) => box.counts.has(state)).map((state) => [state, `${STATES[state]} ${box.counts.get(state).toLocaleString("en")}`]);
  context.font = `11px ${palette.sans}`;
  context.textAlign = "left";
  const widths = words.map(([, word]) => context.measureText(word).width + 8);
  let x = box.x + (box.w - widths.reduce((sum, one) => sum + one, -8)) / 2;
  words.forEach(([state, word], at) => {
    context.fillStyle = state === "waiting" ? palette["text-soft"] : palette[lookOf(state)];
    context.fillText(word, x, y - 2);
    x += widths[at];
  });
}

/** Draw how large a part of the tasks of a box is in which state. */
function paintShares(context, box, palette, y, high) {
  let x = box.x + 10;
  const wide = box.w - 20;
  for (const state of ["done", "running", "failed", "cancelled", "interrupted", "replaced", "waiting", "asleep", "unused"]) {
    const count = box.counts.get(state);
    if (!count) continue;
    const part = (wide * count) / box.tasks.length;
    context.fillStyle = palette[lookOf(state)] ?? palette.waiting;
    context.fillRect(x, y, part, high);
    x += part;
  }
}
