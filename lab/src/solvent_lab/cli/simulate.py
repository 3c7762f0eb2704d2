"""`solvent lab simulate PROTOCOL`: seeded runs of a protocol's machines, as many as wanted, on all processors.

A protocol is a module that offers what `Simulated` says; it is imported when it is asked for. Everything that is the
same for all of them is here: seeds, runs, processes, progress, Ctrl-C and formats.
"""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, cast

from solvent.cli.arguments import add_format, at_least, parser_for
from solvent.cli.render import complain, write, write_json
from solvent.errors import INTERRUPTED, Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from solvent_lab.simulator.many import Gathered

PROTOCOLS = {
    "capture": "solvent_lab.cli.simulate_capture",
    "handover": "solvent_lab.cli.simulate_handover",
    "token": "solvent_lab.cli.simulate_token",
}
_SEED_BITS = 32
_MAX_MESSAGES = 40
_NODE_COLUMNS = 12
"""How wide the column of a node is in a diagram, at least."""


class Simulated(Protocol):
    """What the module of a protocol offers."""

    SAYS: str
    """One line: what is simulated."""
    EXAMPLE: str
    """A command line to try."""
    DRAWN: dict[str, str]
    """Options of a run that is drawn, unless they are given: small, since only its beginning is looked at."""

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the protocol's own options; `parser.set_defaults(runs=...)` says how many runs are usual."""

    def setup(self, options: Namespace) -> Any:
        """Return what is simulated, or refuse options that do not fit together.

        `options.replay` is the command line without a seed: with ` --seed N` it plays one run again.
        """

    def run(self, setup: Any, seed: int, *, observe: Any = None) -> Any:
        """Run once, show every message to an observer, if any, and return what came of it.

        Setup and result travel between processes.
        """

    def summary(self, results: Sequence[Any], options: Namespace) -> dict[str, Any]:
        """Return what the runs came to, for JSON."""

    def lines(self, summary: dict[str, Any], options: Namespace) -> Iterable[str]:
        """Put it into words."""


def part(text: str) -> float:
    """Return the number from 0 to 1 that an argument is."""
    value = number(text)
    if not 0.0 <= value <= 1.0:
        raise ArgumentTypeError(f"must be a number from 0 to 1, not `{text}`")
    return value


def number(text: str) -> float:
    """Return the number that an argument is; -1 if it is none, which no option allows."""
    try:
        return float(text)
    except ValueError:
        return -1.0


def main(arguments: list[str]) -> int:
    """Simulate a protocol; 130 if Ctrl-C stopped it before all runs were done."""
    name = arguments[0] if arguments else ""
    if not name or name.startswith("-"):
        parser().parse_args(arguments)
        return 2
    if name not in PROTOCOLS:
        from solvent.errors import nearest

        hint = nearest(name, PROTOCOLS) or f"there is: {', '.join(PROTOCOLS)}"
        raise Misuse("P311", f"there is no protocol `{name}` to simulate", hint=hint)
    protocol = cast("Simulated", import_module(PROTOCOLS[name]))
    options = _options(name, protocol, arguments[1:])
    return _simulate(protocol, options)


def parser() -> ArgumentParser:
    """Return the parser of the protocol's name."""
    parser = parser_for(
        "lab simulate",
        "Run a protocol's machines from a seed.\n`solvent lab simulate PROTOCOL --help` tells a protocol's options.",
        example="solvent lab simulate capture --nodes 250 --molecules 15000 --runs 20",
    )
    parser.add_argument("protocol", metavar="PROTOCOL", help=f"one of: {', '.join(PROTOCOLS)}")
    return parser


def variants() -> dict[str, ArgumentParser]:
    """Return the parsers of what follows the protocols' names."""
    return {name: _parser_of(name, cast("Simulated", import_module(module))) for name, module in PROTOCOLS.items()}


def _parser_of(name: str, protocol: Simulated) -> ArgumentParser:
    parser = parser_for(f"lab simulate {name}", protocol.SAYS, example=protocol.EXAMPLE)
    parser.add_argument("--runs", type=at_least(1), default=1, metavar="R", help="how many runs (default: %(default)s)")
    parser.add_argument("--seed", type=at_least(0), metavar="N", help="play the same runs again")
    says = "how many runs at a time (default: one per processor; 0: all in this process)"
    parser.add_argument("--processes", type=at_least(0), metavar="P", help=says)
    add_format(parser)
    says = "draw the first messages of a single run as text into a file (`-`: standard output)"
    parser.add_argument("--diagram", metavar="FILE", help=says)
    says = f"how many messages to draw (default: {_MAX_MESSAGES})"
    parser.add_argument("--messages", type=at_least(1), metavar="N", help=says)
    protocol.add_options(parser)
    return parser


def _options(name: str, protocol: Simulated, arguments: list[str]) -> Namespace:
    parser = _parser_of(name, protocol)
    given = {one.partition("=")[0] for one in arguments}
    if "--diagram" in given:
        parser.set_defaults(runs=1)
        arguments = [*arguments, *(word for one in protocol.DRAWN.items() if one[0] not in given for word in one)]
    options = parser.parse_args(arguments)
    if options.messages and options.diagram is None:
        raise Misuse("H313", "`--messages` says how many are drawn: `--diagram FILE`")
    if options.diagram is not None and options.runs != 1:
        raise Misuse("H313", "`--diagram` draws a single run", hint="leave out --runs")
    options.replay = _replay(name, arguments)
    if options.seed is None:
        from random import SystemRandom

        options.seed = SystemRandom().getrandbits(_SEED_BITS)
    return options


def _replay(name: str, arguments: Sequence[str]) -> str:
    """Return the command line without what does not belong to a single run."""
    from shlex import join

    kept = ["solvent", "lab", "simulate", name]
    left = iter(arguments)
    for argument in left:
        option = argument.partition("=")[0]
        if option in ("--seed", "--runs", "--processes", "--format", "--diagram", "--messages"):
            if option == argument:
                next(left, None)
            continue
        kept.append(argument)
    return f"{join(kept)} --runs 1"


def _simulate(protocol: Simulated, options: Namespace) -> int:
    from solvent.cli.progress import Watch
    from solvent_lab.simulator.many import Gathered, run_many

    if options.diagram is not None:
        return _tell(protocol, Gathered((_drawn(protocol, options),), 1), options)
    with Watch() as watch, _progress_bar(options.runs) as progress:
        gathered = run_many(
            partial(protocol.run, protocol.setup(options)),
            seed=options.seed,
            runs=options.runs,
            processes=options.processes,
            progress=progress,
            should_stop=watch.should_stop,
        )
    return _tell(protocol, gathered, options)


def _drawn(protocol: Simulated, options: Namespace) -> Any:
    """Run once, and draw its first messages."""
    from solvent.cli.picture import columns, form_of_file
    from solvent.cli.render import harmless
    from solvent.hocl.program_file import write_whole
    from solvent_lab.diagram import Conversation, draw

    is_shown = options.diagram == "-"
    if not is_shown:
        form_of_file(options.diagram, ("text",))
    unit = "s" if options.replay.startswith("solvent lab simulate handover") else "step"
    heard = Conversation(options.messages or _MAX_MESSAGES, unit=unit)
    result = protocol.run(protocol.setup(options), options.seed, observe=heard)
    names, records = heard.drawing(max(2, columns() // _NODE_COLUMNS))
    drawn = harmless(draw(names, records, width=columns()) + "\n")
    if is_shown:
        sys.stdout.write(drawn)
    else:
        write_whole(options.diagram, drawn)
    return result


def _tell(protocol: Simulated, gathered: Gathered[Any], options: Namespace) -> int:
    """Report what the runs came to."""
    if gathered.results:
        summary = protocol.summary(gathered.results, options) | {"seed": options.seed}
        if options.format == "json":
            write_json(summary)
        else:
            for line in protocol.lines(summary, options):
                write(line)
            write((f"seed: {options.seed}", "dim"))
    if gathered.is_complete:
        return 0
    sys.stdout.flush()
    complain(f"interrupted: {len(gathered.results):,} of {gathered.runs:,} runs are done")
    return INTERRUPTED


@contextmanager
def _progress_bar(runs: int) -> Iterator[Callable[[int, int], None] | None]:
    """Show how far it is, on a terminal only, and leave no trace."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = TextColumn("runs"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("runs", total=runs)
        yield lambda done, _: bar.update(task, completed=done)
