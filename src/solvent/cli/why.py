"""`solvent why`: the tree of reactions that made a molecule.

A molecule's children are what its reaction took and looked at. A reaction is told once; where it comes up
again the tree points back to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.loading import (
    add_format,
    add_limits,
    add_program,
    add_seed,
    at_least,
    load_program,
    parser_for,
)
from solvent.cli.render import Piece, complain, shortened, show_error, write, write_json
from solvent.cli.watching import Watch
from solvent.engine.trace import Recorder
from solvent.errors import SolventError
from solvent.running.embedded import Run
from solvent.running.explaining import children_of, find, near_texts, read_molecule, tree_as_json

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.chemistry.solution import Solution
    from solvent.engine.trace import Made, Record

DEPTH = 30


def main(arguments: list[str]) -> int:
    """Run a program and show how a molecule came about."""
    options = _options(arguments)
    program = load_program(options)
    molecule = read_molecule(options.molecule, program.functions, program.rules())
    solution = program.solution()
    recorder, error = record_run(solution, options)
    if error is not None:
        show_error(error)
    made = find(recorder, molecule, options.molecule)
    if made is None:
        complain_unmade(recorder, options.molecule)
        return 1
    if options.format == "json":
        write_json(tree_as_json(recorder, made))
    else:
        write_tree(recorder, made, depth_max=options.depth)
    return error.exit_code if error is not None else 0


def _options(arguments: list[str]) -> Namespace:
    parser = parser_for("why", "Show the reactions that made a molecule.", example="solvent why max.hocl '9'")
    add_program(parser)
    parser.add_argument("molecule", metavar="MOLECULE", help="as the solution shows it, or a rule's name")
    parser.add_argument(
        "--depth", type=at_least(1), default=DEPTH, metavar="N", help=f"how deep to look (default: {DEPTH})"
    )
    add_seed(parser)
    add_limits(parser)
    add_format(parser)
    return parser.parse_args(arguments)


def record_run(solution: Solution, options: Namespace) -> tuple[Recorder, SolventError | None]:
    """Run a solution with every reaction recorded; give what stopped it, if anything did."""
    recorder = Recorder(solution)
    with Watch(lambda: len(recorder.records)) as watch:
        run = Run(
            solution,
            seed=options.seed,
            reactions_max=options.reactions_max,
            seconds_max=options.seconds_max,
            observe=recorder,
            should_stop=watch.should_stop,
        )
        try:
            run.to_inertia()
        except SolventError as error:
            return recorder, error
    return recorder, None


def complain_unmade(recorder: Recorder, text: str) -> None:
    """Say that there never was such a molecule, and which are like it."""
    near = near_texts(recorder, text)
    hint = f"there were: {', '.join(shortened(one, 60) for one in near)}" if near else "the solution was always empty"
    complain(f"`{text}` was never in the solution", hint=hint)


def write_tree(recorder: Recorder, made: Made, *, depth_max: int = DEPTH) -> None:
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
        if len(margin) >= 3 * depth_max:
            write((f"{margin}└─ …", "dim"), f" {len(children)} more, deeper than --depth {depth_max}")
            continue
        branches = [(child, margin + ("└─ " if child is children[-1] else "├─ ")) for child in children]
        work += [
            (child, branch, margin + ("   " if branch.endswith("└─ ") else "│  "))
            for child, branch in reversed(branches)
        ]


def _told(made: Made) -> tuple[int, int]:
    """Name what is told about a molecule: its reaction, and what was set free."""
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
