"""`solvent trace`: every reaction of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, add_program, add_seed, at_least, load_program, parser_for
from solvent.cli.progress import Watch
from solvent.cli.render import counted, show_error, write, write_json, write_reaction
from solvent.engine.trace import Recorder
from solvent.errors import SolventError
from solvent.hocl.embedded import Run
from solvent.hocl.json_fields import reaction_as_json
from solvent.lang.printer import print_whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.lang.solution import Solution

LIMIT = 10_000
"""How many reactions are shown unless the user says otherwise: more than anyone reads."""


def main(arguments: list[str]) -> int:
    """Run a program and show every reaction, then the final solution."""
    options = parser().parse_args(arguments)
    solution = load_program(options).solution()
    start = print_whole(solution)
    is_text = options.format == "text"
    if is_text:
        write(("start", "bold"), f"   {start}\n")
    with Watch() as watch:
        recorder, error = _record(solution, options, watch, is_text=is_text)
    final = print_whole(solution)
    if is_text:
        _write_end(solution, recorder)
    else:
        reactions = [reaction_as_json(one) for one in recorder.records]
        write_json({"start": start, "reactions": reactions, "solution": final, "inert": solution.inert})
    if error is not None:
        show_error(error)
    return error.exit_code if error is not None else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("trace", "Run a program and show every reaction.", example="solvent trace max.hocl --limit 20")
    add_program(parser)
    add_seed(parser)
    parser.add_argument(
        "--limit",
        type=at_least(0),
        default=LIMIT,
        metavar="N",
        help=f"stop after N reactions (default: {LIMIT})",
    )
    add_format(parser)
    return parser


def _record(
    solution: Solution, options: Namespace, watch: Watch, *, is_text: bool
) -> tuple[Recorder, SolventError | None]:
    recorder = Recorder(solution)

    def observe(reaction: Any) -> None:
        recorder(reaction)
        if is_text:
            write_reaction(recorder.records[-1])

    run = Run(
        solution,
        seed=options.seed,
        max_reactions=options.limit,
        observe=observe,
        should_stop=watch.should_stop,
    )
    try:
        run.to_inertia()
    except SolventError as error:
        error.hint = error.hint.replace("--max-reactions", "--limit")
        return recorder, error
    return recorder, None


def _write_end(solution: Solution, recorder: Recorder) -> None:
    if recorder.records:
        write("")
    state = "inert" if solution.inert else "not inert"
    write((f"{state} after {counted(len(recorder.records), 'reaction')}", "bold"))
    write("   ", (print_whole(solution), "green"))
