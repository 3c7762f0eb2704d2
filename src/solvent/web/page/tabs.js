// The tabs of a run's page, in their order. To add one, add a line here and a module beside this one.
//
// A tab is a module with `show(root, run, page, words)`, which fills `root` and gives what ends it: a function, or
// `{end, move}`. `move(words)` hears of another address of the same tab, and gives true where it has gone there; else
// the tab is shown anew. `words` are the parts of the address behind the tab: `#/run/pipeline-7k3q/molecules/12` shows
// the tab `molecules` with ["12"]. `page` is what views get (see main.js).
//
// `run` is the run as it is followed (see live.js): `run.name`, `run.about` (what /api/runs/NAME says), `run.tasks`
// (each with `name`, `service`, `state` ...), `run.state`, and `run.on(listener)`, which calls the listener, once a
// frame at most, when something has changed, and gives a function that ends this. Keys of a tab are set by `tabKeys` of
// keys.js, its sheet by `sheet` of dom.js.
//
// `is(about)` says of which runs there is such a tab; of all, where it is left out. With `takesTask`, the first word is
// the task that is shown beside, and is `run.selected`; `run.select(name)` goes there.

export const TABS = [
  { name: "graph", title: "Graph", module: "./graph.js", takesTask: true },
  { name: "timeline", title: "Timeline", module: "./timeline.js", takesTask: true },
  { name: "tasks", title: "Tasks", module: "./tasks.js", takesTask: true },
  { name: "molecules", title: "Molecules", module: "./molecules.js" },
  { name: "agents", title: "Agents", module: "./agents.js", is: (about) => about.agents },
];
