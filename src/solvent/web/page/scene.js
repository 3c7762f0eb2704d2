// What the graph shows: boxes and lines as the server has laid them out, with the states of their tasks.
//
// Nothing is laid out anew while a run goes on. What is seen of an adaptation are values that move: a box fades when its
// task is replaced (`fade`), one that stood by grows in (`wake`), a line to it is drawn from its beginning to its end
// (`on`), and a line that is no longer taken pales (`pale`).

const OUT = new Set(["replaced", "asleep", "unused"]);
const FADES = { replaced: 0.55, unused: 0.6, asleep: 0.75 };
const WORST = ["failed", "running", "interrupted", "waiting", "cancelled", "done", "replaced", "asleep", "unused"];
const NEAR = 30;
const SPEED = 3.2;
const FLASH_SECONDS = 1.8;

export class Scene {
  constructor(layout, run) {
    this.layout = layout;
    this.run = run;
    this.moving = new Set();
    this.boxOf = new Map();
    this.boxes = layout.boxes.map((box, number) => this.#box(box, number));
    this.pieces = layout.pieces.map((piece) => this.#piece(piece, layout.edges));
    for (const box of this.boxes) this.#refresh(box, true);
    for (const piece of this.pieces) this.#aim(piece, true);
    this.labels = layout.labels.map(([x, y, text]) => ({ x, y, text }));
  }

  #box(given, number) {
    const tasks = given.members.map((member) => this.run.tasks[member]);
    const box = { ...given, number, tasks, isMany: tasks.length > 1, pieces: [], state: "", fade: 1, wake: 1, flash: 0, counts: null };
    for (const task of tasks) this.boxOf.set(task.number, box);
    return box;
  }

  #piece([path, kind, end, numbers], edges) {
    const steps = [...path.matchAll(/([MLC])([^MLC]*)/g)].map(([, letter, rest]) => [letter, rest.trim().split(/ +/).map(Number)]);
    const first = steps[0][1];
    const last = steps.at(-1)[1].slice(-2);
    let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
    for (const [, values] of steps) {
      for (let at = 0; at < values.length; at += 2) {
        left = Math.min(left, values[at]);
        right = Math.max(right, values[at]);
        top = Math.min(top, values[at + 1]);
        bottom = Math.max(bottom, values[at + 1]);
      }
    }
    const ends = numbers.map((number) => edges[number]);
    const piece = { steps, kind, end, first, last, left, top, right, bottom, ends, on: 1, pale: 0, flow: "" };
    for (const [source, target] of ends) {
      this.boxes[source].pieces.push(piece);
      this.boxes[target].pieces.push(piece);
    }
    return piece;
  }

  /** Give the boxes and lines that touch a part of the picture; to compare four numbers of each is quick enough. */
  within(left, top, right, bottom) {
    return {
      boxes: this.boxes.filter((box) => box.x <= right && box.x + box.w >= left && box.y <= bottom && box.y + box.h >= top),
      pieces: this.pieces.filter((one) => one.left <= right && one.right >= left && one.top <= bottom && one.bottom >= top),
    };
  }

  /** Give the box at a point. */
  at(x, y) {
    return this.boxes.find((box) => x >= box.x && x <= box.x + box.w && y >= box.y && y <= box.y + box.h) ?? null;
  }

  /** Take the states of tasks that have changed; gives the boxes that look different now. */
  update(touched, isStill) {
    const boxes = new Set();
    for (const number of touched) {
      const box = this.boxOf.get(number);
      if (box) boxes.add(box);
    }
    for (const box of boxes) this.#refresh(box, isStill);
    const pieces = new Set([...boxes].flatMap((box) => box.pieces));
    for (const piece of pieces) this.#aim(piece, isStill);
    return boxes;
  }

  #refresh(box, isStill) {
    const before = box.state;
    if (box.isMany) {
      box.counts = new Map();
      for (const task of box.tasks) box.counts.set(task.state, (box.counts.get(task.state) ?? 0) + 1);
      box.state = box.counts.size === 1 ? box.tasks[0].state : WORST.find((state) => box.counts.has(state)) ?? "waiting";
    } else {
      box.state = box.tasks[0].state;
    }
    box.isOut = OUT.has(box.state) && !(box.isMany && box.counts.size > 1);
    box.fadeTo = box.isOut ? FADES[box.state] : 1;
    box.wakeTo = box.state === "asleep" || box.state === "unused" ? 0 : 1;
    if (isStill) {
      box.fade = box.fadeTo;
      box.wake = box.wakeTo;
      return;
    }
    if (before === "asleep" && box.wakeTo === 1) box.flash = FLASH_SECONDS;
    this.moving.add(box);
  }

  /** Say where the values of a line lead to: it is taken if both ends of one of its edges take part. */
  #aim(piece, isStill) {
    const isTaken = piece.ends.some(([source, target]) => !this.boxes[source].isOut && !this.boxes[target].isOut);
    piece.isTaken = isTaken;
    piece.onTo = piece.kind === "dashed" ? Number(isTaken) : 1;
    piece.paleTo = piece.kind !== "dashed" && !isTaken ? 1 : 0;
    const into = this.boxes[piece.ends[0][1]];
    piece.flow = isTaken && into.state === "running" && piece.ends.every(([, target]) => target === into.number) ? "running" : "";
    if (isStill) {
      piece.on = piece.onTo;
      piece.pale = piece.paleTo;
    } else if (piece.on !== piece.onTo || piece.pale !== piece.paleTo) {
      this.moving.add(piece);
    }
  }

  /** Let everything that moves go on for some seconds; gives whether anything still does. */
  step(elapsed) {
    for (const thing of this.moving) {
      let isDone = true;
      for (const [now, then] of thing.tasks ? [["fade", "fadeTo"], ["wake", "wakeTo"]] : [["on", "onTo"], ["pale", "paleTo"]]) {
        const way = thing[then] - thing[now];
        const by = elapsed * SPEED * (now === "on" ? 0.5 : 1);
        thing[now] = Math.abs(way) <= by ? thing[then] : thing[now] + Math.sign(way) * by;
        if (thing[now] !== thing[then]) isDone = false;
      }
      if (thing.flash > 0) {
        thing.flash = Math.max(0, thing.flash - elapsed);
        isDone &&= thing.flash === 0;
      }
      if (isDone) this.moving.delete(thing);
    }
    return this.moving.size > 0;
  }

  /** Give the nearest box in a direction from another: `left`, `right` in its layer, `up`, `down` in the next one. */
  beside(box, way) {
    const middle = (one) => [one.x + one.w / 2, one.y + one.h / 2];
    const [x, y] = middle(box);
    const found = [];
    for (const other of this.boxes) {
      const [dx, dy] = [middle(other)[0] - x, middle(other)[1] - y];
      const [along, across] = { left: [-dx, dy], right: [dx, dy], up: [-dy, dx], down: [dy, dx] }[way];
      if (along > 1) found.push({ other, along, across: Math.abs(across) });
    }
    if (way === "left" || way === "right") {
      return found.filter((one) => one.across < NEAR).sort((one, next) => one.along - next.along)[0]?.other ?? null;
    }
    const next = Math.min(...found.map((one) => one.along));
    return found.filter((one) => one.along < next + NEAR).sort((one, after) => one.across - after.across)[0]?.other ?? null;
  }
}
