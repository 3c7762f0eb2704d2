// Draws the timeline: bars of calls with their attempts, names, the axis, and when the run was adapted.
import { seconds } from "./words.js";

export const ROW = 24;
export const TOP = 30;
export const LABELS = 200;
const LOOKS = { interrupted: "cancelled", withdrawn: "waiting", healed: "adapted" };
const STEPS = [1, 2, 5];
const GAP = 90;
// The buttons in the corner.
const TOOLS_WIDTH = 150;
const TOOLS_HEIGHT = 46;

const placeOf = (view, at) => LABELS + ((at - view.from) / (view.to - view.from)) * (view.width - LABELS);

/** Give the time at a place of the canvas. */
export function timeAt(view, x) {
  return view.from + ((x - LABELS) / Math.max(1, view.width - LABELS)) * (view.to - view.from);
}

/** Draw the rows in sight; `first` is the number of the first. */
export function paintBars(context, run, rows, first, view, palette, marks) {
  context.textBaseline = "middle";
  context.textAlign = "left";
  rows.forEach((task, at) => {
    const y = TOP + (first + at) * ROW - view.top;
    const ground = palette[task === marks.selected ? "running-soft" : task === marks.hovered ? "waiting-soft" : "sheet"];
    if (ground !== palette.sheet) {
      context.fillStyle = ground;
      context.fillRect(0, y, view.width, ROW);
    }
    context.fillStyle = palette.line;
    context.globalAlpha = 0.6;
    context.fillRect(LABELS, y + ROW - 1, view.width - LABELS, 1);
    context.globalAlpha = 1;
    context.save();
    context.beginPath();
    context.rect(LABELS, y, view.width - LABELS, ROW);
    context.clip();
    for (const number of task.calls) paintCall(context, run, run.calls[number], y, view, palette, ground);
    context.restore();
    paintName(context, task, y, palette);
  });
}

function paintName(context, task, y, palette) {
  context.font = `12px ${palette.sans}`;
  context.fillStyle = palette[LOOKS[task.state] ?? task.state] ?? palette.waiting;
  context.beginPath();
  context.arc(16, y + ROW / 2, 4, 0, 7);
  context.fill();
  context.fillStyle = palette.text;
  context.fillText(fitted(context, task.name, LABELS - 36), 27, y + ROW / 2 + 0.5);
}

function fitted(context, text, wide) {
  if (context.measureText(text).width <= wide) return text;
  let kept = text.length;
  while (kept > 1 && context.measureText(`${text.slice(0, kept)}…`).width > wide) kept--;
  return `${text.slice(0, kept)}…`;
}

function paintCall(context, run, call, y, view, palette, ground) {
  const end = call.ended ?? Math.max(call.began, run.seconds());
  const [left, right] = [placeOf(view, call.began), placeOf(view, end)];
  if (right < LABELS || left > view.width) return;
  const look = LOOKS[call.state] ?? call.state;
  const wide = Math.max(2, right - left);
  const [top, high] = [y + 5, ROW - 10];
  context.beginPath();
  context.roundRect(left, top, wide, high, Math.min(3, wide / 2));
  // Nothing that lies under a bar shines through it.
  context.fillStyle = palette.sheet;
  context.fill();
  context.fillStyle = palette[look] ?? palette.waiting;
  context.globalAlpha = 0.85;
  context.fill();
  context.globalAlpha = 1;
  // What was tried before the last attempt has failed.
  const starts = [call.began, ...call.tries];
  context.fillStyle = palette.failed;
  for (let at = 0; at + 1 < starts.length; at++) {
    const [from, to] = [placeOf(view, starts[at]), placeOf(view, starts[at + 1])];
    context.fillRect(from, top, Math.max(1, to - from - 2), high);
  }
  const words = [seconds(end - call.began), ...(call.agent ? [`at ${call.agent}`] : []), ...(call.attempts > 1 ? [`${call.attempts} attempts`] : []), ...(call.state === "failed" ? ["failed"] : [])];
  context.font = `11px ${palette.sans}`;
  context.fillStyle = palette["text-soft"];
  const text = words.join(" · ");
  const room = view.width - right - 8;
  if (right - left > 24 || view.width - LABELS > 100) {
    const need = context.measureText(text).width;
    if (need < room) {
      context.fillStyle = ground;
      context.fillRect(right + 4, top, need + 4, high);
      context.fillStyle = palette["text-soft"];
      context.fillText(text, right + 6, y + ROW / 2 + 0.5);
    } else if (need < wide - 12) {
      context.fillStyle = palette.sheet;
      context.fillText(text, right - need - 6, y + ROW / 2 + 0.5);
    }
  }
}

/** Draw the axis, over the bars. */
export function paintFrame(context, view, palette) {
  context.fillStyle = palette.sheet;
  context.fillRect(0, 0, view.width, TOP);
  context.fillStyle = palette.line;
  context.fillRect(0, TOP - 1, view.width, 1);
  context.fillRect(LABELS - 1, 0, 1, view.height);
  context.textBaseline = "middle";
  context.font = `11px ${palette.sans}`;
  const step = stepFor(((view.to - view.from) * GAP) / Math.max(1, view.width - LABELS));
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    const x = placeOf(view, at);
    context.fillStyle = palette.line;
    context.fillRect(x, TOP - 6, 1, 6);
    context.fillStyle = palette["text-faint"];
    context.textAlign = "left";
    if (x + 50 < view.width) context.fillText(at === 0 ? "0" : seconds(at), x + 4, TOP / 2);
  }
}

/** Draw, under the bars, when the run was adapted, or was gone on with by another process. */
export function paintMoments(context, run, view, palette) {
  context.font = `11px ${palette.sans}`;
  context.textBaseline = "middle";
  for (const one of run.adaptations) paintMoment(context, view, one.at, palette.adapted, `↻ ${one.name}`);
  if (!run.about.agents && run.openings.length > 1 && run.openings.length < 50) {
    for (const one of run.openings.slice(1)) paintMoment(context, view, one.at, palette.cancelled, "resumed");
  }
}

function stepFor(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return (STEPS.find((one) => one * power >= least) ?? 10) * power;
}

function paintMoment(context, view, at, tint, text) {
  const x = placeOf(view, at);
  if (x < LABELS || x > view.width) return;
  context.strokeStyle = tint;
  context.lineWidth = 1.2;
  context.setLineDash([4, 3]);
  context.beginPath();
  context.moveTo(x, TOP);
  context.lineTo(x, view.height);
  context.stroke();
  context.setLineDash([]);
  context.fillStyle = tint;
  const said = fitted(context, text, view.width - LABELS - 10);
  const wide = context.measureText(said).width;
  const left = Math.max(LABELS + 5, x + wide + 10 > view.width ? x - wide - 5 : x + 5);
  // Over the buttons, where it would lie under them.
  context.fillText(said, left, view.height - (left + wide > view.width - TOOLS_WIDTH ? TOOLS_HEIGHT : 0) - 12);
}
