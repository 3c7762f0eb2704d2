// The playground: a program is typed, run, gone through step by step, tried in every order, and explained.
//
// The server keeps nothing: every question carries the program. What is shared is the address.
import { address, dialog, fill, make, sheet } from "./dom.js";
import { viewKeys } from "./keys.js";
import { colouring } from "./playground-colours.js";
import { editor, pieces } from "./playground-editor.js";
import { packed, unpacked } from "./playground-link.js";
import { orders } from "./playground-orders.js";
import { obstacle, origin } from "./playground-origins.js";
import { drawing, steps } from "./playground-steps.js";

const KEY = "solvent-playground";
const PAUSE_MS = 350;
const MAX_COLOURED = 20_000;
const TABS = [["result", "Result"], ["steps", "Steps"], ["orders", "All orders"], ["why", "Why"]];

export function show(root, words, page) {
  sheet("playground.css");
  const ending = new AbortController();
  fill(root, make("div", { class: "empty" }, "One moment …"));
  fetch("/api/playground", { signal: ending.signal }).then((answer) => answer.json())
    .then(async (about) => open(root, about, words[0] ? await unpacked(words[0]) : kept(), words[0], page, ending.signal))
    .catch((error) => ending.signal.aborted || fill(root, make("div", { class: "notice bad" }, `The playground cannot be shown: ${error.message}`)));
  return () => ending.abort();
}

function kept() {
  try { return JSON.parse(sessionStorage.getItem(KEY)); } catch { return null; }
}

function open(root, about, content, word, page, signal) {
  if (signal.aborted) return;
  const split = colouring(about.words);
  // A text too long for anybody to read it all is shown without colours: an element for each number takes seconds.
  const written = (text) => (text.length > MAX_COLOURED ? [text] : pieces(split(text)));
  const program = editor(split, () => {
    examples.value = "";
    changed();
  });
  const problems = make("div", { id: "pg-problems", class: "pg-problems", role: "status", "aria-live": "polite" });
  const seed = number("Seed", "pg-seed", "", { placeholder: "none", title: "Choose reactions at random, repeatably; empty: in order" });
  const reactions = number("Reactions", "pg-reactions", about.defaults.max_reactions, { min: 0, max: about.limits.reactions });
  const seconds = number("Seconds", "pg-seconds", about.defaults.max_seconds, { min: 0.1, max: about.limits.seconds, step: "any" });
  const subject = make("input", { id: "pg-about", placeholder: "a molecule or a rule's name, such as 31 or max", "aria-label": "Molecule or rule" });
  const panels = Object.fromEntries(TABS.map(([name]) => [name, make("section", { id: `pg-panel-${name}`, role: "tabpanel", "aria-labelledby": `pg-tab-${name}`, tabindex: -1, hidden: true })]));
  const answered = make("div", { class: "pg-answered" });
  const tabs = make("div", { class: "tabs", role: "tablist", "aria-label": "What is shown" }, ...TABS.map(([name, title]) =>
    make("button", { id: `pg-tab-${name}`, type: "button", role: "tab", "aria-controls": `pg-panel-${name}`, onclick: () => choose(name), onkeydown: moved }, title)));
  const busy = make("span", { class: "soft", role: "status" });
  const examples = make("select", { id: "pg-examples", "aria-label": "Example", onchange: chosen }, make("option", { value: "" }, "Examples …"),
    ...about.examples.map((one) => make("option", { value: one.name, title: one.shows }, one.name.replaceAll("-", " "))));
  let walk = null;
  let told = { checked: [], asked: [] };
  let timer = 0;
  let asking = null;
  let checking = null;

  // ------------------------------------------------------------------------------------------------- questions

  async function ask(what, more = {}, stop) {
    const question = { ask: what, program: program.text, ...more };
    const answer = await fetch("/api/playground", { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question), signal: stop });
    const found = await answer.json();
    if (!answer.ok) return { problems: [{ kind: "error", code: found.code ?? "", message: found.error, hint: found.hint ?? "", details: [] }] };
    return found;
  }

  function options() {
    const found = {};
    if (seed.input.value.trim() !== "") found.seed = Math.trunc(Number(seed.input.value));
    if (reactions.input.value !== "") found.max_reactions = clamp(Math.trunc(Number(reactions.input.value)), 0, about.limits.reactions);
    if (seconds.input.value !== "") found.max_seconds = clamp(Number(seconds.input.value), 0.1, about.limits.seconds);
    return found;
  }

  /** Ask something that takes its time: only the last question counts, and the one before is ended. */
  async function question(what, more, act) {
    asking?.abort();
    const mine = (asking = new AbortController());
    busy.textContent = what === "explore" ? "trying all orders …" : "running …";
    stop.hidden = false;
    const where = { run: "result", explore: "orders" }[what] ?? "why";
    let isAnswered = false;
    try {
      const found = await ask(what, { ...options(), ...more }, mine.signal);
      if (mine !== asking || signal.aborted) return;
      isAnswered = true;
      told.asked = found.problems;
      complain();
      panels[where].removeAttribute("data-old");
      act(found);
    } catch (error) {
      if (mine === asking && !mine.signal.aborted && !signal.aborted) {
        const says = isAnswered ? "The answer cannot be shown" : "The server does not answer";
        told.asked = [{ kind: "error", code: "", message: `${says}: ${error.message}`, hint: "", details: [] }];
        complain();
        // What was there answers another question.
        fill(where === "why" ? answered : panels[where], nothing("No answer: see the errors below the program."));
        if (isAnswered) console.error(error);
      }
    } finally {
      if (mine === asking) {
        busy.textContent = "";
        stop.hidden = true;
      }
    }
  }

  function run() {
    return question("run", {}, (found) => {
      if (!found.outcome) return fill(panels.result, nothing("No result: see the errors below the program.")) && choose("result");
      fill(panels.result, ...result(found));
      walk = steps(found.steps, { written, asked: askedAbout, point: program.point });
      program.point();
      fill(panels.steps, walk.root);
      if (selected() !== "steps") choose("result");
      else walk.again();
    });
  }

  function explore() {
    return question("explore", {}, (found) => {
      fill(panels.orders, found.orders ? orders(found.orders, { written }) : nothing("No result: see the errors below the program."));
      choose("orders");
    });
  }

  function explain(text, isRule) {
    const word = text.trim();
    subject.value = word;
    if (!word) return undefined;
    choose("why");
    return question(isRule ? "why-not" : "why", { about: word }, (found) => {
      const shown = found.why ? origin(found.why, { written, about: word }) : found.why_not ? obstacle(found.why_not, { written }) : nothing("No answer: see the errors below the program.");
      const stopped = (found.why ?? found.why_not)?.stopped;
      fill(answered, stopped ? make("p", { class: "notice" }, `[${stopped.code}] ${stopped.message}. ${stopped.hint}`) : null, shown);
    });
  }

  function askedAbout(molecule) {
    explain(molecule.rule || molecule.text, Boolean(molecule.rule));
  }

  // -------------------------------------------------------------------------------------------------- the text

  function changed() {
    try { sessionStorage.setItem(KEY, JSON.stringify({ program: program.text, seed: seed.input.value })); } catch { /* not kept, then */ }
    walk = null;
    told = { checked: [], asked: [] };
    // What is still shown is about the text before.
    for (const panel of [panels.result, panels.orders, panels.why]) panel.toggleAttribute("data-old", true);
    fill(panels.steps, nothing("Run the program to step through its reactions."));
    clearTimeout(timer);
    checking?.abort();
    timer = setTimeout(check, PAUSE_MS);
  }

  async function check() {
    checking = new AbortController();
    const text = program.text;
    const found = await ask("check", {}, checking.signal).catch(() => null);
    if (!found || text !== program.text || signal.aborted) return;
    told.checked = found.problems;
    complain();
  }

  /** Tell what a check has found, and what else the last question has. */
  function complain() {
    const key = (one) => `${one.code} ${one.start}`;
    const known = new Set(told.checked.map(key));
    const list = [...told.checked, ...told.asked.filter((one) => !known.has(key(one)))];
    program.mark(list);
    fill(problems, ...list.map((one) => make("div", { class: "pg-problem", "data-kind": one.kind },
      make("p", {}, one.code ? make("b", {}, one.code, " ") : null, one.message, one.note ? ` (${one.note})` : "", " ",
        one.start === undefined ? null : make("button", { type: "button", class: "plain link-like", onclick: () => program.go(one.start, one.end) }, `line ${one.line}, column ${one.column}`)),
      ...(one.details ?? []).map((line) => make("p", { class: "soft" }, line)),
      one.hint ? make("p", { class: "soft" }, one.hint) : null)));
  }

  function take(text) {
    program.text = text;
    changed();
  }

  function chosen() {
    const one = about.examples.find((example) => example.name === examples.value);
    if (one) take(one.text);
    program.root.scrollTop = 0;
  }

  async function format() {
    const found = await ask("format");
    if (found.program !== undefined) take(found.program);
    else {
      told.asked = found.problems;
      complain();
    }
  }

  async function share() {
    const content = { program: program.text, ...(seed.input.value.trim() ? { seed: seed.input.value.trim() } : {}) };
    const hash = address(["playground", await packed(content)]);
    history.replaceState(null, "", hash);
    const link = make("input", { id: "pg-link", readonly: true, value: location.href, "aria-label": "Link", onfocus: () => link.select() });
    const copy = make("button", { type: "button", onclick: async () => {
      link.select();
      // Where a page may not use the clipboard, the old way still works.
      await (navigator.clipboard?.writeText(link.value) ?? Promise.reject()).catch(() => document.execCommand("copy"));
      copy.textContent = "Copied";
    } }, "Copy");
    dialog("Share this program", make("p", { class: "soft" }, "The program is in the link itself, behind the #, and nowhere else."),
      make("div", { class: "pg-share" }, link, copy), make("form", { method: "dialog", class: "buttons" }, make("button", { class: "primary" }, "Close")));
  }

  // --------------------------------------------------------------------------------------------------- the tabs

  function selected() {
    return TABS.find(([name]) => !panels[name].hidden)?.[0];
  }

  function choose(name) {
    for (const [other] of TABS) {
      panels[other].hidden = other !== name;
      const tab = tabs.querySelector(`#pg-tab-${other}`);
      tab.setAttribute("aria-selected", other === name);
      tab.tabIndex = other === name ? 0 : -1;
    }
    if (name === "steps" && walk) walk.again();
    else program.point();
    return true;
  }

  function moved(event) {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    const at = TABS.findIndex(([name]) => name === selected());
    const [name] = TABS[(at + by + TABS.length) % TABS.length];
    choose(name);
    tabs.querySelector(`#pg-tab-${name}`).focus();
  }

  function result({ outcome, steps: recorded }) {
    const state = outcome.inert ? "inert" : "not inert";
    const said = `${state} after ${outcome.reactions.toLocaleString("en")} reaction${outcome.reactions === 1 ? "" : "s"}, in ${outcome.seconds.toFixed(3)} s`;
    const rules = [...new Set(recorded.molecules.map((one) => one.rule).filter(Boolean))];
    return [make("p", { class: "state", "data-state": outcome.inert ? "done" : "stopped" }, said),
      make("div", { class: "pg-final pg-solution mono", tabindex: 0, role: "group", "aria-label": "The final solution" },
        // Where every reaction was watched, each molecule can be asked about.
        recorded.is_cut ? written(outcome.solution) : drawing(recorded, { written, asked: askedAbout })(recorded.states.at(-1)),
        outcome.left_out && recorded.is_cut ? make("span", { class: "soft" }, ` … ${outcome.left_out.toLocaleString("en")} more characters`) : ""),
      make("div", { class: "pg-next" }, make("button", { type: "button", onclick: () => choose("steps") }, "Step through it"),
        make("button", { type: "button", onclick: explore }, "Try all orders"),
        ...rules.slice(0, 6).map((name) => make("button", { type: "button", onclick: () => explain(name, true) }, `Why not ${name}?`)))];
  }

  const stop = make("button", { type: "button", class: "danger", hidden: true, onclick: () => asking?.abort() }, "Stop");
  fill(panels.result, nothing("Ctrl-Enter runs the program."));
  fill(panels.steps, nothing("Run the program to step through its reactions."));
  fill(panels.orders, make("p", { class: "empty" }, "Which results can there be, whatever reacts first? ", make("button", { type: "button", onclick: explore }, "Try all orders")));
  fill(panels.why, make("form", { class: "pg-ask", onsubmit: (event) => { event.preventDefault(); explain(subject.value, event.submitter?.value === "rule"); } }, subject,
    make("button", { value: "molecule" }, "Why is it there?"), make("button", { value: "rule" }, "Why does it not react?")), answered);

  fill(root, make("div", { class: "pg" },
    make("h1", { class: "visually-hidden" }, "Playground"),
    make("div", { class: "pg-tools" },
      make("button", { type: "button", class: "primary", id: "pg-run", title: "Run (Ctrl-Enter)", onclick: run }, "Run"),
      make("button", { type: "button", id: "pg-explore", title: "Try all orders (Ctrl-Shift-Enter)", onclick: explore }, "Try all orders"),
      examples, seed.label, reactions.label, seconds.label, stop, busy, make("span", { class: "pg-fill" }),
      make("button", { type: "button", onclick: format, title: "The common layout" }, "Format"),
      make("button", { type: "button", id: "pg-share", onclick: share }, "Share")),
    make("div", { class: "pg-parts" },
      make("div", { class: "pg-left card" }, program.root, problems),
      make("div", { class: "pg-right card" }, tabs, make("div", { class: "pg-panels" }, ...Object.values(panels))))));

  root.firstChild.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    if (event.shiftKey) explore();
    else run();
  });
  const stepping = (act) => () => {
    if (!walk) return;
    if (selected() !== "steps") choose("steps");
    act(walk);
  };
  viewKeys([
    { keys: [], shown: ["Ctrl", "Enter"], says: "run", act: run },
    { keys: [], shown: ["Ctrl", "Shift", "Enter"], says: "try all orders", act: explore },
    { keys: ["ArrowRight"], says: "next reaction", act: stepping((one) => one.go(1)) },
    { keys: ["ArrowLeft"], says: "reaction before", act: stepping((one) => one.go(-1)) },
    { keys: ["Home"], says: "the start", act: stepping((one) => one.first()) },
    { keys: ["End"], says: "the last reaction", act: stepping((one) => one.last()) },
    { keys: ["e"], says: "to the editor; Esc leaves it", act: () => program.field.focus() },
  ]);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    asking?.abort();
    checking?.abort();
  });
  choose("result");
  program.text = content?.program ?? about.examples[0]?.text ?? "<1, 2, 3, replace x, y by x + y>\n";
  seed.input.value = content?.seed ?? "";
  if (word && !content) told.asked = [{ kind: "error", code: "", message: "This link holds no program: it may have been cut.", hint: "", details: [] }];
  check();
  page.title("Playground");
  program.field.focus({ preventScroll: true });
  program.field.setSelectionRange(0, 0);
}

function number(name, id, value, properties) {
  const input = make("input", { type: "number", id, value, class: "num", ...properties });
  return { input, label: make("label", { class: "pg-number", for: id }, name, input) };
}

function nothing(text) {
  return make("p", { class: "empty" }, text);
}

function clamp(value, least, most) {
  return Number.isFinite(value) ? Math.min(most, Math.max(least, value)) : least;
}
