// Why a molecule is there, and why a rule does not react.
import { make } from "./dom.js";

const DEPTH_OPEN = 3;

/** Show how a molecule came about, as a tree; what was told above is told once. */
export function origin(found, { written, about }) {
  if (!found.found) {
    return make("div", {}, make("p", {}, make("code", {}, about), " was never in the solution."),
      found.near.length ? make("p", { class: "soft" }, "There were: ", ...found.near.flatMap((one, at) => [at ? ", " : "", make("code", {}, written(one))])) : null);
  }
  const known = new Map(found.molecules.map((one) => [one.id, one]));
  const told = new Set();

  function branch(id, depth) {
    const one = known.get(id);
    if (!one) return make("li", { class: "faint" }, "…");
    const text = make("code", {}, written(one.text));
    if (one.reaction === undefined) return make("li", {}, text, make("span", { class: "faint" }, " from the start"));
    const how = ` ${one.is_freed ? "set free by" : "made by"} reaction ${one.reaction}, `;
    const said = [text, make("span", { class: "faint" }, how), make("b", { class: "mono" }, one.rule)];
    if (told.has(id)) return make("li", {}, ...said, make("span", { class: "faint" }, " (told above)"));
    told.add(id);
    if (!one.from.length) return make("li", {}, ...said, make("span", { class: "faint" }, ", from nothing"));
    const inner = make("ul", {}, ...one.from.map((child) => branch(child, depth + 1)));
    return make("li", {}, make("details", { open: depth < DEPTH_OPEN }, make("summary", {}, ...said), inner));
  }

  return make("div", { class: "pg-tree" }, make("ul", {}, branch(found.id, 0)),
    found.is_cut ? make("p", { class: "soft" }, "What lies further back is left out.") : null);
}

/** Show how far a rule gets. */
export function obstacle(found, { written }) {
  if (found.reports.length) return make("div", {}, ...found.reports.map((one) => reported(one, written)));
  const name = make("code", {}, found.rule);
  if (!found.existed) {
    return make("p", {}, "There never was a rule ", name, ".", found.known.length ? ` There were: ${found.known.join(", ")}.` : " No rule has a name.");
  }
  const by = found.taken_by;
  if (!by) return make("p", {}, name, " is not in the final solution.");
  const how = by.rule === found.rule ? "its own reaction consumed it: a one-shot rule." : "that reaction took it: ";
  return make("p", {}, name, ` is not in the final solution. In reaction ${by.number}, ${how}`, by.rule === found.rule ? null : make("code", {}, written(by.rule)));
}

function reported(report, written) {
  return make("div", { class: "pg-report" },
    make("pre", {}, written(report.text)),
    make("p", {}, make("b", {}, report.verdict)),
    make("table", {}, make("tbody", {},
      ...report.patterns.map((one) => make("tr", { "data-ok": one.fits_together }, make("td", { class: "faint" }, "pattern"), make("td", {}, make("code", {}, written(one.pattern))),
        make("td", {}, `${one.fit} fit${one.fit === 1 ? "s" : ""} it${one.fit && !one.fits_together ? ", none beside those before" : ""}`,
          ...one.misfits.map((misfit) => make("div", { class: "soft" }, "nearest ", make("code", {}, written(misfit.molecule)), ` ${misfit.sentence}`))))),
      ...report.conditions.map((one) => make("tr", { "data-ok": !one.failures }, make("td", { class: "faint" }, "condition"), make("td", {}, make("code", {}, written(one.condition))),
        make("td", {}, one.failures ? `false ${one.failures} time${one.failures === 1 ? "" : "s"}, first for ${one.example}` : "not what stops it"))))),
    report.is_complete ? null : make("p", { class: "soft" }, "The search was cut short: there are too many combinations."));
}
