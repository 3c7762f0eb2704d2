// The timeline of a run: a line for each task, a bar for each call, parts of a bar for its attempts.
import { make } from "./dom.js";
import { tabKeys } from "./keys.js";
import { paletteNow } from "./painter.js";
import { onTheme } from "./theme.js";
import { paintBars, paintFrame, paintMoments, timeAt, LABELS, ROW, TOP } from "./bars.js";
import { counted, seconds } from "./words.js";

const TICK_MS = 200;

export function show(root, run) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const tall = make("div", { class: "tall" });
  const scroller = make("div", { class: "lane", tabindex: "0", role: "img" }, canvas, tall);
  const tools = make("div", { class: "tools", role: "group", "aria-label": "View" },
    make("button", { type: "button", class: "icon", title: "Shorter (-)", "aria-label": "Less time", onclick: () => zoom(1.4) }, "−"),
    make("button", { type: "button", class: "icon", title: "Longer (+)", "aria-label": "More detail", onclick: () => zoom(1 / 1.4) }, "+"),
    make("button", { type: "button", title: "Show all (f)", onclick: fit }, "Fit"));
  const empty = make("div", { class: "empty over" }, "Nothing has been called yet.");
  root.append(make("div", { class: "timeline" }, scroller, empty, tools));
  const context = canvas.getContext("2d");
  const view = { width: 1, height: 1, from: 0, to: 1, top: 0 };
  let palette = paletteNow();
  let rows = [];
  let rowsOf = -1;
  let isFitted = true;
  let isDue = false;
  let isOver = false;
  let hovered = null;

  /** The tasks that were called, by when they were called first. */
  function sortRows() {
    if (run.calls.length === rowsOf) return;
    rowsOf = run.calls.length;
    rows = run.tasks.filter((task) => task.calls.length);
    rows.sort((one, other) => run.calls[one.calls[0]].began - run.calls[other.calls[0]].began || one.number - other.number);
    tall.style.height = `${rows.length * ROW + TOP + 70}px`;
    empty.hidden = rows.length > 0;
    scroller.setAttribute("aria-label", `Timeline of ${counted(run.calls.length, "call")} of ${counted(rows.length, "task")}; the tab Tasks has the same as a table`);
    scroller.dataset.rows = String(rows.length);
  }

  function draw() {
    if (isDue || isOver) return;
    isDue = true;
    requestAnimationFrame(() => {
      isDue = false;
      if (isOver) return;
      sortRows();
      if (isFitted) [view.from, view.to] = [0, Math.max(0.01, lasts()) * 1.12];
      view.top = scroller.scrollTop;
      const ratio = devicePixelRatio || 1;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, view.width, view.height);
      const first = Math.max(0, Math.floor(view.top / ROW));
      const shown = rows.slice(first, first + Math.ceil(view.height / ROW) + 1);
      paintMoments(context, run, view, palette);
      paintBars(context, run, shown, first, view, palette, { selected: run.selected, hovered });
      paintFrame(context, view, palette);
    });
  }

  function lasts() {
    const last = run.calls.reduce((latest, call) => Math.max(latest, call.ended ?? call.began), 0);
    return run.isOver || run.state !== "running" ? last : Math.max(last, run.seconds());
  }

  function fit() {
    isFitted = true;
    draw();
  }

  function zoom(factor, at = (view.from + view.to) / 2) {
    const wide = Math.max(0.001, (view.to - view.from) * factor);
    const share = (at - view.from) / (view.to - view.from);
    isFitted = false;
    view.from = Math.max(0, at - share * wide);
    view.to = view.from + wide;
    draw();
  }

  function pan(share) {
    const by = Math.max(-view.from, share * (view.to - view.from));
    isFitted = false;
    view.from += by;
    view.to += by;
    draw();
  }

  function rowAt(event) {
    const edge = canvas.getBoundingClientRect();
    const y = event.clientY - edge.top - TOP;
    return y < 0 ? null : rows[Math.floor((y + view.top) / ROW)] ?? null;
  }

  let held = null;
  scroller.addEventListener("scroll", draw, { passive: true });
  scroller.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    if (event.shiftKey) return pan(Math.sign(event.deltaY || event.deltaX) * 0.1);
    zoom(Math.exp(Math.max(-120, Math.min(120, event.deltaY)) * 0.003), timeAt(view, event.clientX - canvas.getBoundingClientRect().left));
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { if (event.button === 0) { canvas.setPointerCapture(event.pointerId); held = { x: event.clientX, y: event.clientY, hasMoved: false }; } });
  canvas.addEventListener("pointermove", (event) => {
    if (held) {
      const [dx, dy] = [event.clientX - held.x, event.clientY - held.y];
      if (!held.hasMoved && Math.hypot(dx, dy) < 4) return;
      held = { x: event.clientX, y: event.clientY, hasMoved: true };
      if (dx) pan(-dx / Math.max(1, view.width - LABELS));
      scroller.scrollTop -= dy;
      return;
    }
    const row = rowAt(event);
    if (row === hovered) return;
    hovered = row;
    scroller.title = row ? tell(row) : "";
    draw();
  });
  canvas.addEventListener("pointerup", (event) => {
    const isPick = held && !held.hasMoved;
    held = null;
    if (isPick) run.select(rowAt(event)?.name ?? null);
  });

  function tell(task) {
    const call = run.calls[task.calls.at(-1)];
    const lasted = (call.ended ?? run.seconds()) - call.began;
    return `${task.name}: ${task.state}, ${seconds(lasted)}${call.attempts > 1 ? `, ${call.attempts} attempts` : ""}${call.text ? `\n${call.text}` : ""}`;
  }

  function step(by) {
    const at = rows.indexOf(run.selected);
    const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
    if (next) run.select(next.name);
  }

  function reveal() {
    const at = rows.indexOf(run.selected);
    if (at >= 0) {
      if (at * ROW < scroller.scrollTop) scroller.scrollTop = at * ROW;
      else if ((at + 2) * ROW + TOP > scroller.scrollTop + view.height) scroller.scrollTop = (at + 2) * ROW + TOP - view.height;
    }
    draw();
  }

  const watcher = new ResizeObserver(([entry]) => {
    const { width, height } = entry.contentRect;
    const ratio = devicePixelRatio || 1;
    [view.width, view.height] = [width, height];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    canvas.style.width = `${width}px`;
    canvas.style.height = `${height}px`;
    tall.style.marginTop = `${-height}px`;
    draw();
  });
  watcher.observe(scroller);
  const endings = [run.on(draw), onTheme(() => { palette = paletteNow(); draw(); })];
  const clock = setInterval(() => { if (run.state === "running" && !document.hidden) draw(); }, TICK_MS);
  tabKeys([
    { keys: ["j", "ArrowDown"], says: "next task", act: () => step(1) },
    { keys: ["k", "ArrowUp"], says: "previous task", act: () => step(-1) },
    { keys: ["ArrowLeft"], says: "earlier", act: () => pan(-0.1) },
    { keys: ["ArrowRight"], says: "later", act: () => pan(0.1) },
    { keys: ["+", "="], shown: ["+"], says: "more detail", act: () => zoom(1 / 1.4) },
    { keys: ["-"], says: "more time", act: () => zoom(1.4) },
    { keys: ["f", "0"], says: "show all", act: fit },
  ]);
  draw();
  return {
    end() { isOver = true; clearInterval(clock); watcher.disconnect(); for (const ending of endings) ending(); },
    move() { reveal(); return true; },
  };
}
