"""`solvent why-not`: how far a rule's patterns get in the inert solution, and what stops them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.loading import add_format, add_limits, add_program, add_seed, load_program, parser_for
from solvent.cli.render import complain, counted, reaction_pieces, shortened, show_error, write, write_json
from solvent.cli.why import record_run
from solvent.running.explaining import fate_of, names_in, rule_names

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.chemistry.solution import Solution
    from solvent.engine.explain import Report
    from solvent.engine.trace import Recorder

_MOLECULE_MAX = 80
_WHY_MAX = 600


def main(arguments: list[str]) -> int:
    """Run a program to inertia and show what stops a rule."""
    options = _options(arguments)
    solution = load_program(options).solution()
    recorder, error = record_run(solution, options)
    if error is not None:
        show_error(error)
    code = explain(solution, recorder, options.rule, is_json=options.format == "json")
    return error.exit_code if error is not None else code


def _options(arguments: list[str]) -> Namespace:
    parser = parser_for("why-not", "Show what stops a rule from reacting.", example="solvent why-not max.hocl max")
    add_program(parser)
    parser.add_argument("rule", metavar="RULE", help="the rule's name")
    add_seed(parser)
    add_limits(parser)
    add_format(parser)
    return parser.parse_args(arguments)


def explain(solution: Solution, recorder: Recorder, name: str, *, is_json: bool = False) -> int:
    """Report on every rule of a name, or say where it has gone."""
    fate = fate_of(solution, recorder, name)
    taken = fate.taken
    if is_json:
        write_json(fate.as_json())
    elif fate.reports:
        for report in fate.reports:
            write_report(report)
    elif fate.existed:
        write(f"`{name}` is not in the final solution")
        if taken is not None:
            own = (
                "its own reaction consumed it, a one-shot rule"
                if taken.rule == name
                else f"`{shortened(taken.rule)}` took it"
            )
            write(f"  reaction {taken.number}: {own}: ", *reaction_pieces(taken))
    else:
        _complain_unknown(solution, recorder, name)
    return 0 if fate.existed else 1


def write_report(report: Report) -> None:
    """Write how far a rule gets."""
    write(("rule", "bold"), f"      {report.text}")
    write(("solution", "bold"), f"  {shortened(report.solution)}")
    for at, pattern in enumerate(report.patterns, 1):
        fits = f"{counted(pattern.fit, 'molecule')} fit{'s' if pattern.fit == 1 else ''} it"
        if pattern.fit and not pattern.fits_together:
            fits += ", but none beside the patterns before it"
        style = "green" if pattern.fits_together else "red"
        write(f"  pattern {at}  ", (pattern.pattern, style), f"  {fits}")
        reasons = {one.molecule: one.sentence(_molecule_text) for one in pattern.misfits}
        for molecule in pattern.nearest:
            why = shortened(reasons.get(molecule, "too many ways to say why"), _WHY_MAX)
            write("    nearest  ", (_molecule_text(molecule), "bold"), f"  {why}")
    for condition in report.conditions:
        if condition.failures:
            times = f"false {counted(condition.failures, 'time')}"
            write(
                "  condition  ",
                (condition.condition, "red"),
                f"  {times}, first for {shortened(condition.example)}",
            )
        elif report.combinations:
            write("  condition  ", (condition.condition, "green"), "  not what stops it")
    if not report.is_complete:
        write("  the search was cut short: there are too many combinations")
    write(("so", "bold"), f"        {report.verdict}")


def _molecule_text(text: str) -> str:
    return shortened(text, _MOLECULE_MAX)


def _complain_unknown(solution: Solution, recorder: Recorder, name: str) -> None:
    from solvent.hocl.nearest import nearest

    known = sorted({*names_in(recorder), *rule_names(solution)})
    hint = nearest(name, known) or (f"there were: {', '.join(known)}" if known else "no rule has a name")
    complain(f"no rule `{name}` was ever in the solution", hint=hint)
