// The graph of a run: boxes in layers, drawn as things happen.
import { ask } from "./request.js";
import { camera } from "./camera.js";
import { fill, make } from "./dom.js";
import { tabKeys } from "./keys.js";
import { paint, paletteNow } from "./painter.js";
import { Scene } from "./scene.js";
import { onTheme } from "./theme.js";
import { counted } from "./words.js";

const MAX_OPTIONS = 300;
const TICK_MS = 250;

export function show(root, run) {
  const canvas = make("canvas", { "aria-hidden": "true" });
  const list = make("div", { class: "visually-hidden" });
  const stage = make("div", { class: "stage", tabindex: "0", role: "listbox", "aria-label": "Tasks, in layers" }, canvas, list);
  const said = make("div", { class: "said", role: "status", "aria-live": "polite" });
  const whole = make("button", { type: "button", onclick: toggleWhole, title: "Every task, or one box for tasks of one kind (g)" }, "All tasks");
  const tools = make("div", { class: "tools", role: "group", "aria-label": "View" },
    button("−", "Smaller (-)", () => eye.zoomBy(1 / 1.3)), button("+", "Larger (+)", () => eye.zoomBy(1.3)), button("Fit", "Show all (f)", () => eye.fit(), ""), whole);
  root.append(make("div", { class: "graph" }, stage, said, tools));
  const context = canvas.getContext("2d");
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const opened = new Set();
  const marks = { selected: null, hovered: null };
  let palette = paletteNow();
  let scene = null;
  let isWhole = false;
  let isDue = false;
  let isOver = false;
  let turn = 0;
  let last = 0;

  const eye = camera(stage, {
    onMove: draw,
    onHover(x, y) {
      const box = scene?.at(x, y) ?? null;
      if (box === marks.hovered) return;
      marks.hovered = box;
      stage.classList.toggle("on-box", Boolean(box));
      stage.title = box ? `${box.name}: ${sayState(box)}` : "";
      draw();
    },
    onPick(x, y) { stage.focus({ preventScroll: true }); pick(scene?.at(x, y) ?? null); },
    onOpen(x, y) { const box = scene?.at(x, y); if (box?.isMany) open(box); else if (!box) eye.fit(); },
  });

  function draw() {
    if (isDue || isOver) return;
    isDue = true;
    requestAnimationFrame((now) => {
      isDue = false;
      if (!scene || isOver) return;
      const isMoving = scene.moving.size > 0 && scene.step(last ? Math.min(0.1, (now - last) / 1000) : 0.016);
      last = isMoving ? now : 0;
      paint(context, scene, eye.view, palette, marks, devicePixelRatio || 1);
      if (isMoving) draw();
    });
  }

  async function load() {
    const mine = ++turn;
    const asked = new URLSearchParams([...opened].map((name) => ["open", name]));
    if (isWhole) asked.set("whole", "1");
    said.textContent = run.tasks.length > 2000 ? `Laying out ${counted(run.tasks.length, "task")} …` : "";
    try {
      const layout = await ask(`${run.place}/graph?${asked}`);
      if (mine !== turn || isOver) return;
      scene = new Scene(layout, run);
      said.textContent = "";
      stage.dataset.boxes = String(scene.boxes.length);
      whole.hidden = !isWhole && !layout.is_grouped;
      whole.textContent = isWhole || opened.size ? "Group" : "All tasks";
      eye.sizeOf(layout.width, layout.height);
      eye.begin(scene.boxes.find((box) => box.state === "failed" || box.state === "running") ?? scene.boxes[0]);
      showOptions();
      choose(run.selected);
    } catch (error) {
      if (mine === turn) fill(said, make("span", { class: "bad" }, error.message));
    }
  }

  function toggleWhole() {
    isWhole = !(isWhole || opened.size);
    opened.clear();
    return load();
  }

  function open(box) {
    opened.add(box.name);
    return load();
  }

  function pick(box) {
    if (box?.isMany) {
      marks.selected = box;
      run.showMany(box.name, box.tasks);
      speak(box);
      draw();
    } else {
      marks.selected = box;
      run.select(box ? box.tasks[0].name : null);
    }
  }

  /** Mark the box of a task, and have it in sight. */
  function choose(task) {
    if (!scene) return;
    marks.selected = task ? scene.boxOf.get(task.number) ?? null : null;
    if (marks.selected) {
      eye.reveal(marks.selected, marks.selected.tasks.length === 1);
      speak(marks.selected);
    }
    draw();
  }

  function go(way) {
    if (!scene?.boxes.length) return;
    const box = marks.selected ? scene.beside(marks.selected, way) : scene.boxes[0];
    if (!box) return;
    eye.reveal(box, true);
    pick(box);
  }

  function nextBad() {
    const bad = scene?.boxes.filter((box) => box.tasks.some((task) => task.state === "failed" || task.state === "running")) ?? [];
    if (!bad.length) return;
    const box = bad[(bad.indexOf(marks.selected) + 1) % bad.length];
    eye.reveal(box, true);
    pick(box);
  }

  // ---------------------------------------------------------------------------- for those who do not see the canvas

  function showOptions() {
    fill(list, ...scene.boxes.slice(0, MAX_OPTIONS).map((box) => make("div", {
      role: "option", id: `box-${box.number}`, data: { box: box.name, state: box.state }, "aria-selected": String(box === marks.selected),
    }, `${box.name}: ${sayState(box)}`)));
  }

  function speak(box) {
    if (box.number < MAX_OPTIONS) stage.setAttribute("aria-activedescendant", `box-${box.number}`);
    for (const one of list.querySelectorAll("[aria-selected=true]")) one.setAttribute("aria-selected", "false");
    list.children[box.number]?.setAttribute("aria-selected", "true");
  }

  function sayState(box) {
    return box.isMany ? [...box.counts].map(([state, count]) => `${count} ${state}`).join(", ") : box.state;
  }

  // -------------------------------------------------------------------------------------------------- what happens

  const endings = [
    run.on(() => {
      if (!scene) return;
      for (const box of scene.update(run.touched, still.matches || document.hidden)) {
        const option = list.children[box.number];
        if (option) {
          option.dataset.state = box.state;
          option.textContent = `${box.name}: ${sayState(box)}`;
        }
      }
      draw();
    }),
    run.hear((message) => {
      if (message.e !== "adapt") return;
      const names = (numbers) => numbers.map((number) => run.tasks[number].name).join(", ");
      said.textContent = `↻ ${message.name}: ${names([...new Set(message.exits.map(([, now]) => now))])} instead of ${names(message.replaced)}`;
    }),
    onTheme(() => { palette = paletteNow(); draw(); }),
  ];
  const watcher = new ResizeObserver(([entry]) => {
    const { width, height } = entry.contentRect;
    const ratio = devicePixelRatio || 1;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    eye.resize(width, height);
    draw();
  });
  watcher.observe(stage);
  const clock = setInterval(() => { if (run.state === "running" && !document.hidden) draw(); }, TICK_MS);
  tabKeys([
    { keys: ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"], says: "go to the next box", act: (event) => go(event.key.slice(5).toLowerCase()) },
    { keys: ["Enter"], says: "open a box of many tasks", act: () => { if (marks.selected?.isMany) open(marks.selected); } },
    { keys: ["+", "="], shown: ["+"], says: "larger", act: () => eye.zoomBy(1.3) },
    { keys: ["-"], says: "smaller", act: () => eye.zoomBy(1 / 1.3) },
    { keys: ["f", "0"], says: "show all", act: () => eye.fit() },
    { keys: ["g"], says: "every task, or grouped", act: () => { if (!whole.hidden) toggleWhole(); } },
    { keys: ["n"], says: "next task that failed or runs", act: nextBad },
  ]);
  load();
  return {
    end() {
      isOver = true;
      turn++;
      clearInterval(clock);
      watcher.disconnect();
      for (const ending of endings) ending();
    },
    move() { choose(run.selected); return true; },
  };
}

function button(text, title, act, kind = "icon") {
  return make("button", { type: "button", class: kind, title, "aria-label": title.replace(/ \(.*/, ""), onclick: act }, text);
}
