// Times, numbers and states in words.

/** Write a duration: `0.4 s`, `2 min 5 s`, `1 h 2 min`. */
export function seconds(value) {
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(value < 10 ? 2 : 1)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
}

/** Write a time of day, with the date where that is not today. */
export function when(at) {
  const date = new Date(at * 1000);
  const time = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}

/** Write a number and what is counted: `1 task`, `1,200 tasks`. */
export function counted(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}

/** Whether a task is called for each of several items, and some of them are not over. */
export function isAmid(task) {
  return Boolean(task.items) && task.items[0] < task.items[1];
}

/** Write how many items of a task are over: `3 of 20 items`. */
export function ofItems(task) {
  const [over, total] = task.items;
  return `${over.toLocaleString("en")} of ${total.toLocaleString("en")} items`;
}

/** The states of tasks, in the order of interest, each with its mark. */
export const STATES = {
  failed: "✗", running: "▸", done: "✓", waiting: "·", queued: "·", cancelled: "⊘", interrupted: "!", replaced: "↷", asleep: "z", unused: "z",
};

/** The meaning of a state, as a tooltip. */
export const MEANS = {
  asleep: "stands by to replace another task", unused: "was not needed", replaced: "another task has replaced it",
  interrupted: "its process has ended", healed: "failed for an item that has another way", withdrawn: "was returned before it ended",
};

/** Count tasks by state: a Map in the order of STATES. */
export function tally(tasks) {
  const found = new Map();
  for (const state of Object.keys(STATES)) found.set(state, 0);
  for (const task of tasks) found.set(task.state, (found.get(task.state) ?? 0) + 1);
  for (const [state, count] of found) if (!count) found.delete(state);
  return found;
}
