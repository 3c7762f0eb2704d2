"""`solvent why`: the tree of reactions that made a molecule; `--not`: what stops a rule in the inert solution.

A molecule's children are what its reaction took and read. A reaction is shown once; where it occurs again, the tree
points back to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.arguments import (
    add_format,
    add_limits,
    add_program,
    add_seed,
    at_least,
    load_program,
    parser_for,
)
from solvent.cli.progress import Watch
from solvent.cli.render import Piece, complain, counted, reaction_pieces, shortened, show_error, write, write_json
from solvent.cli.workflows import refuse
from solvent.engine.trace import Recorder
from solvent.errors import SolventError
from solvent.hocl.embedded import Run
from solvent.hocl.explanation import (
    children_of,
    fate_of,
    find,
    names_in,
    near_texts,
    read_molecule,
    rule_names,
    tree_as_json,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.engine.explain import Report
    from solvent.engine.trace import Made, Record
    from solvent.lang.solution import Solution

DEPTH = 30
_MAX_MOLECULE = 80
_MAX_WHY = 600


def main(arguments: list[str]) -> int:
    """Run a program and show how a molecule was made, or what stops a rule."""
    options = parser().parse_args(arguments)
    if options.is_not:
        refuse(options, ("depth",), "cannot be used with --not")
    program = load_program(options)
    molecule = None if options.is_not else read_molecule(options.molecule, program.functions, program.rules())
    solution = program.solution()
    recorder, error = record_run(solution, options)
    if error is not None:
        show_error(error)
    if molecule is None:
        code = explain(solution, recorder, options.molecule, is_json=options.format == "json")
        return error.exit_code if error is not None else code
    made = find(recorder, molecule, options.molecule)
    if made is None:
        complain_unmade(recorder, options.molecule)
        return 1
    if options.format == "json":
        write_json(tree_as_json(recorder, made))
    else:
        write_tree(recorder, made, max_depth=options.depth or DEPTH)
    return error.exit_code if error is not None else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Show the reactions that made a molecule; with --not, what stops a rule from reacting in the final solution."
    parser = parser_for("why", says, example="solvent why max.hocl '9'\n  solvent why --not max.hocl max")
    add_program(parser)
    says = "a molecule as the solution shows it, or a rule's name; with --not, a rule's name"
    parser.add_argument("molecule", metavar="MOLECULE", help=says)
    parser.add_argument("--not", dest="is_not", action="store_true", help="show what stops a rule from reacting")
    parser.add_argument("--depth", type=at_least(1), metavar="N", help=f"how deep to look (default: {DEPTH})")
    add_seed(parser)
    add_limits(parser)
    add_format(parser)
    return parser


def record_run(solution: Solution, options: Namespace) -> tuple[Recorder, SolventError | None]:
    """Run a solution with every reaction recorded; give what stopped it, if anything did."""
    recorder = Recorder(solution)
    with Watch(lambda: len(recorder.records)) as watch:
        run = Run(
            solution,
            seed=options.seed,
            max_reactions=options.max_reactions,
            max_seconds=options.max_seconds,
            observe=recorder,
            should_stop=watch.should_stop,
        )
        try:
            run.to_inertia()
        except SolventError as error:
            return recorder, error
    return recorder, None


def complain_unmade(recorder: Recorder, text: str) -> None:
    """Report that a molecule was never in the solution, and similar ones that were."""
    near = near_texts(recorder, text)
    hint = f"there were: {', '.join(shortened(one, 60) for one in near)}" if near else "the solution was always empty"
    complain(f"`{text}` was never in the solution", hint=hint)


def write_tree(recorder: Recorder, made: Made, *, max_depth: int = DEPTH) -> None:
    """Write the tree of reactions that made a molecule."""
    told: set[tuple[int, int]] = set()
    # Without recursion, since a chain of reactions can be longer than Python recurses.
    work: list[tuple[Made, str, str]] = [(made, "", "")]
    while work:
        one, lead, margin = work.pop()
        record = recorder.records[one.reaction - 1] if one.reaction is not None else None
        write((lead, "dim"), (shortened(one.text), "bold"), *_origin(one, record, told))
        if record is None or _told(one) in told:
            continue
        told.add(_told(one))
        children = children_of(one, record)
        if len(margin) >= 3 * max_depth:
            write((f"{margin}└─ …", "dim"), f" {len(children)} more, deeper than --depth {max_depth}")
            continue
        branches = [(child, margin + ("└─ " if child is children[-1] else "├─ ")) for child in children]
        work += [
            (child, branch, margin + ("   " if branch.endswith("└─ ") else "│  "))
            for child, branch in reversed(branches)
        ]


def _told(made: Made) -> tuple[int, int]:
    """Return the key of what is shown of a molecule: its reaction, and what was set free."""
    return made.reaction or 0, made.moved.number if made.moved is not None else 0


def _origin(made: Made, record: Record | None, told: set[tuple[int, int]]) -> list[Piece]:
    if record is None:
        return [("  from the start", "dim")]
    verb = "set free by" if made.moved is not None else "made by"
    pieces: list[Piece] = [
        (f"  {verb} reaction {record.number}, ", "dim"),
        (shortened(record.rule, 60), "cyan"),
    ]
    if _told(made) in told:
        pieces.append((" (told above)", "dim"))
    elif not record.kept and not record.reactants:
        pieces.append((", from nothing", "dim"))
    return pieces


# --- what stops a rule


def explain(solution: Solution, recorder: Recorder, name: str, *, is_json: bool = False) -> int:
    """Report on every rule of a name, or say where it has gone."""
    fate = fate_of(solution, recorder, name)
    taken = fate.taken
    if is_json:
        write_json(fate.as_json())
    elif fate.reports:
        for report in fate.reports:
            _write_rule(report)
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


def _write_rule(report: Report) -> None:
    """Write which patterns of a rule match, and what stops it."""
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
            why = shortened(reasons.get(molecule, "too many ways to say why"), _MAX_WHY)
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
    return shortened(text, _MAX_MOLECULE)


def _complain_unknown(solution: Solution, recorder: Recorder, name: str) -> None:
    from solvent.errors import nearest

    known = sorted({*names_in(recorder), *rule_names(solution)})
    hint = nearest(name, known) or (f"there were: {', '.join(known)}" if known else "no rule has a name")
    complain(f"no rule `{name}` was ever in the solution", hint=hint)
