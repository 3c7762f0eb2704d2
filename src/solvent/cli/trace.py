"""`solvent trace`: every reaction of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, TextIO

from solvent.cli.arguments import add_format, add_program, add_seed, limit, limit_seconds, load_program, parser_for
from solvent.cli.progress import Watch
from solvent.cli.render import counted, show_error, write, write_json, write_reaction
from solvent.engine.reaction import Stopped
from solvent.engine.trace import Recorder
from solvent.errors import SolventError
from solvent.hocl.embedded import Run
from solvent.hocl.json_fields import reaction_as_json
from solvent.hocl.process_settings import deep_stack
from solvent.lang.printer import print_whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable

    from solvent.engine.reaction import Reaction
    from solvent.lang.solution import Solution

LIMIT = 10_000
"""How many reactions are shown unless the user says otherwise: more than anyone reads."""


def main(arguments: list[str]) -> int:
    """Run a program and show every reaction, then the final solution."""
    options = parser().parse_args(arguments)
    with deep_stack():
        return _trace(options)


def _trace(options: Namespace) -> int:
    """Run the program that the options name."""
    solution = load_program(options).solution()
    start = print_whole(solution)
    is_text = options.format == "text"
    if is_text:
        write(("start", "bold"), f"   {start}\n")
    with Watch() as watch:
        recorder, error = _record(solution, options, watch, is_text=is_text)
    final = print_whole(solution)
    if is_text:
        _write_end(recorder, final)
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
        type=limit,
        default=LIMIT,
        metavar="N",
        help=f"stop after N reactions (default: {LIMIT})",
    )
    parser.add_argument("--max-seconds", type=limit_seconds, metavar="S", help="stop after so many seconds")
    add_format(parser)
    return parser


def _record(
    solution: Solution, options: Namespace, watch: Watch, *, is_text: bool
) -> tuple[Recorder, SolventError | None]:
    recorder = Recorder(solution)
    run = Run(
        solution,
        seed=options.seed,
        max_reactions=options.limit,
        max_seconds=options.max_seconds,
        observe=writing(recorder) if is_text else recorder,
        should_stop=watch.should_stop,
    )
    try:
        run.to_inertia()
    except SolventError as error:
        error.hint = error.hint.replace("--max-reactions", "--limit")
        return recorder, error
    return recorder, None


def writing(recorder: Recorder, *, to: TextIO | None = None) -> Callable[[Reaction], None]:
    """Return an observer that records each reaction and writes it."""

    def observe(reaction: Reaction) -> None:
        try:
            recorder(reaction)
        except Stopped:
            write_reaction(recorder.records[-1], to=to)
            raise
        write_reaction(recorder.records[-1], to=to)

    return observe


def _write_end(recorder: Recorder, final: str) -> None:
    if recorder.records:
        write("")
    state = "inert" if recorder.solution.inert else "not inert"
    write((f"{state} after {counted(len(recorder.records), 'reaction')}", "bold"))
    write("   ", (final, "green"))
