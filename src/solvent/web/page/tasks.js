// All tasks of a run, as a table.
import { make } from "./dom.js";
import { tabKeys } from "./keys.js";
import { table } from "./table.js";

export function show(root, run) {
  const box = make("div", { class: "tasks" });
  root.append(box);
  const list = table(box, run, { tasks: run.tasks });
  tabKeys([
    { keys: ["/"], says: "find tasks", act: list.focusFilter },
    { keys: ["j", "ArrowDown"], says: "next task", act: () => list.move(1) },
    { keys: ["k", "ArrowUp"], says: "previous task", act: () => list.move(-1) },
  ]);
  const ending = run.on(list.refresh);
  return { end() { ending(); list.end(); }, move() { list.draw(); return true; } };
}
