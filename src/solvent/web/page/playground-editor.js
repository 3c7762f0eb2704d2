// The editor: a plain text field over its own text in colours, with line numbers and marks where something is wrong.
//
// The field has the same letters at the same places, so that selecting, undoing, spelling out by a screen reader and
// typing with any keyboard are the browser's.
import { fill, make } from "./dom.js";

/** Make an editor; `colours(text)` gives its pieces, `onchange()` hears of every change. */
export function editor(colours, onchange) {
  const field = make("textarea", {
    id: "pg-program", spellcheck: "false", autocapitalize: "off", autocomplete: "off", autocorrect: "off", wrap: "off",
    "aria-label": "Program", "aria-describedby": "pg-problems", oninput: changed, onkeydown: pressed,
  });
  const shown = make("pre", { class: "pg-shown", "aria-hidden": "true" });
  const numbers = make("pre", { class: "pg-numbers", "aria-hidden": "true" });
  const root = make("div", { class: "pg-editor", onmousedown: (event) => event.target === root && setTimeout(() => field.focus()) },
    numbers, make("div", { class: "pg-text" }, shown, field));
  let problems = [];
  let stretch = null;
  let drawn = [];
  let numbered = "";

  function changed() {
    // Marks stand where they stood in the text before; they come anew with the next check.
    problems = [];
    stretch = null;
    draw();
    onchange();
  }

  function pressed(event) {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.isComposing) return;
    const line = field.value.slice(field.value.lastIndexOf("\n", field.selectionStart - 1) + 1, field.selectionStart);
    const indent = /^[ \t]*/.exec(line)[0];
    if (!indent) return;
    event.preventDefault();
    // The old command, since it is the only one that can be undone.
    document.execCommand("insertText", false, `\n${indent}`);
  }

  function draw() {
    const text = field.value;
    const marks = [...problems.filter((one) => one.start !== undefined).map((one) => ({
      start: one.start, end: Math.max(one.end, one.start + 1), name: one.kind === "error" ? "pg-wrong" : "pg-doubt",
    })), ...(stretch ? [{ ...stretch, name: "pg-acting" }] : [])];
    drawLines(lines(segments(colours(text), marks)));
    const wrong = new Map(problems.filter((one) => one.line).map((one) => [one.line, one.kind]));
    const said = JSON.stringify([drawn.length, ...wrong]);
    if (said === numbered) return;
    numbered = said;
    fill(numbers, ...drawn.map((_, at) => (wrong.has(at + 1) ? make("span", { class: `pg-line-${wrong.get(at + 1)}` }, `${at + 1}\n`) : `${at + 1}\n`)));
  }

  /** Draw anew only what differs, from the first line to the last that does: a long program stays quick to type in. */
  function drawLines(now) {
    let first = 0;
    while (first < now.length && first < drawn.length && now[first].key === drawn[first]) first += 1;
    let same = 0;
    while (same < now.length - first && same < drawn.length - first && now.at(-1 - same).key === drawn.at(-1 - same)) same += 1;
    const old = [...shown.children].slice(first, drawn.length - same);
    const after = shown.children[drawn.length - same] ?? null;
    for (const line of old) line.remove();
    const fresh = document.createDocumentFragment();
    for (const line of now.slice(first, now.length - same)) fresh.append(make("span", {}, ...elements(line.parts), "\n"));
    shown.insertBefore(fresh, after);
    drawn = now.map((line) => line.key);
  }

  return {
    root,
    field,
    get text() {
      return field.value;
    },
    set text(value) {
      field.value = value;
      problems = [];
      stretch = null;
      draw();
    },
    /** Mark what is wrong, at its place. */
    mark(list) {
      problems = list;
      draw();
    },
    /** Show which part of the program acts: the rule that reacts. */
    point(start, end) {
      stretch = start === undefined ? null : { start, end };
      draw();
    },
    /** Go to a place of the program. */
    go(start, end) {
      field.focus();
      field.setSelectionRange(start, end);
      const line = field.value.slice(0, start).split("\n").length;
      root.scrollTop = Math.max(0, (line - 4) * parseFloat(getComputedStyle(shown).lineHeight));
    },
  };
}

/** Give a text in colours, as elements. */
export function pieces(list) {
  return elements(segments(list));
}

/** Cut pieces where marks begin and end: `[[classes, text], ...]`. */
function segments(list, marks = []) {
  const cuts = [...new Set(marks.flatMap((one) => [one.start, one.end]))].sort((one, other) => one - other);
  const found = [];
  let at = 0;
  for (const [kind, piece] of list) {
    const end = at + piece.length;
    let from = at;
    for (const to of [...cuts.filter((cut) => cut > at && cut < end), end]) {
      const names = marks.filter((one) => one.start < to && one.end > from).map((one) => one.name);
      const isPlain = !names.length && (kind === "space" || kind === "name");
      found.push([isPlain ? "" : [`hocl-${kind}`, ...names].join(" "), piece.slice(from - at, to - at)]);
      from = to;
    }
    at = end;
  }
  // What is missing is often missing at the end.
  for (const one of marks) if (one.start >= at) found.push([one.name, " "]);
  return found;
}

/** Put segments into lines, each with a key that says all of it. */
function lines(list) {
  const found = [{ key: "", parts: [] }];
  for (const [name, text] of list) {
    text.split("\n").forEach((part, number) => {
      if (number) found.push({ key: "", parts: [] });
      if (!part) return;
      const line = found.at(-1);
      line.parts.push([name, part]);
      line.key += `${name}\t${part}\n`;
    });
  }
  return found;
}

function elements(list) {
  return list.map(([name, text]) => (name ? make("span", { class: name }, text) : text));
}
