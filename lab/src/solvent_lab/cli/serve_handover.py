"""`solvent lab serve handover`: processes count in shared data, come and go, and are killed; the counter must be right.

`chaos.ledger` describes what is checked, and `chaos.run` which processes are killed and when.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, at_least, integer, parser_for, seconds
from solvent.cli.render import complain, write, write_json
from solvent.errors import INTERRUPTED, Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

    from solvent_lab.chaos.run import ChaosConfig, ChaosResult

_SAYS = (
    "See processes of this machine hand data over to each other: each takes it so many times, counts in it and hands\n"
    "it on, while some leave and join again, and others are killed. At the end the counter is exactly right."
)
_EXAMPLE = "solvent lab serve handover --processes 50 --cycles 100 --leaving 0.5 --kills 30"
_MIN_STALL = 0.001


def main(arguments: list[str]) -> int:
    """Run processes and check the counter: 0 if all is right, 1 if not, 130 if stopped."""
    import signal

    options = parser().parse_args(arguments)
    config = _config(options)
    # A request to terminate cleans up as Ctrl-C does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from solvent_lab.chaos.run import ChaosRun, chaos_folder

    place = nullcontext(_kept(options.journal)) if options.journal else chaos_folder()
    with place as folder, _view(options, config) as watch:
        run = ChaosRun(config, folder, watch)
        try:
            result = run.run()
        except KeyboardInterrupt:
            complain(f"stopped after {run.result.cycles:,} cycles")
            return INTERRUPTED
    if options.format == "json":
        write_json(_as_json(config, result))
    else:
        _print(config, result)
    for wrong in result.wrong:
        complain(f"wrong: {wrong}", hint="" if options.journal else "`--journal DIR` keeps what each process did")
    return 1 if result.wrong else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lab serve handover", _SAYS, example=_EXAMPLE)
    says = "how many processes (default: %(default)s)"
    parser.add_argument("--processes", type=at_least(1), default=8, metavar="N", help=says)
    says = "how often each counts (default: %(default)s)"
    parser.add_argument("--cycles", type=at_least(1), default=100, metavar="N", help=says)
    says = "which part of them leaves and joins again, between cycles (default: %(default)s)"
    parser.add_argument("--leaving", type=_part, default=0.5, metavar="PART", help=says)
    says = "kill so many processes at random points; each is followed by another one (default: none)"
    parser.add_argument("--kills", type=at_least(0), default=0, metavar="N", help=says)
    parser.add_argument("--kill-every", type=seconds, metavar="S", help="kill one about every so many seconds")
    says = "how much data there is besides the counters (default: %(default)s)"
    parser.add_argument("--bytes", type=at_least(0), default=65_536, metavar="N", help=says)
    says = "have it in so many parts, with a counter each, that are claimed by themselves and now and then as a whole"
    parser.add_argument("--parts", type=at_least(1), default=1, metavar="N", help=f"{says} (default: %(default)s)")
    says = "pretend that they are on so many hosts, so that data goes over TCP (default: %(default)s)"
    parser.add_argument("--hosts", type=at_least(1), default=1, metavar="K", help=says)
    says = "have so many hosts keep every version; then hosts die with all that is on them (default: %(default)s)"
    parser.add_argument("--copies", type=at_least(1), default=1, metavar="N", help=says)
    says = "how long a process of another host may be silent before it is taken for dead (default: %(default)s)"
    parser.add_argument("--patience", type=seconds, default=5.0, metavar="S", help=says)
    says = "give up if a process does nothing for so many seconds (default: %(default)s)"
    parser.add_argument("--stall", type=seconds, default=50.0, metavar="S", help=says)
    parser.add_argument("--seed", type=integer, metavar="N", help="who leaves and who is killed (default: any)")
    parser.add_argument("--journal", metavar="DIR", help="an empty folder, in which the processes' journals are kept")
    add_format(parser)
    return parser


def _part(text: str) -> float:
    from argparse import ArgumentTypeError

    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"must be a number from 0 to 1, not `{text}`")
    return value


def _config(options: Namespace) -> ChaosConfig:
    import random

    from solvent.handover.place import MIN_PATIENCE
    from solvent_lab.chaos.run import ChaosConfig

    named = ("processes", "cycles", "leaving", "kills", "kill_every", "parts", "hosts", "copies", "patience", "stall")
    config = ChaosConfig(
        **{name: getattr(options, name) for name in named},
        body_bytes=options.bytes,
        seed=random.randrange(10**6) if options.seed is None else options.seed,
    )
    if config.processes < config.stayers:
        hint = "who stays keeps its host's data: one process of each host, or two where any are killed"
        message = f"{config.processes} processes are too few: {config.stayers} must stay"
        raise Misuse("P352", message, hint=hint)
    for option, given, least in (("patience", config.patience, MIN_PATIENCE), ("stall", config.stall, _MIN_STALL)):
        if given < least:
            message = f"`--{option} {given:g}` leaves nobody any time"
            raise Misuse("P352", message, hint=f"give at least {least:g} seconds")
    return config


def _kept(name: str) -> Path:
    folder = Path(name)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_empty = not any(folder.iterdir())
    except OSError as error:
        raise Misuse("P353", f"{name} cannot be used: {error.strerror}") from error
    if not is_empty:
        raise Misuse("P353", f"{name} is not empty", hint="name a folder of its own for each run")
    return folder.absolute()


# ------------------------------------------------------------------------------------------------------------- showing


@contextmanager
def _view(options: Namespace, config: ChaosConfig) -> Iterator[Callable[[ChaosResult], None]]:
    """Show progress: a bar on a terminal, a line every second on a pipe, nothing for programs."""
    if options.format == "json":
        yield lambda _: None
    elif sys.stdout.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, transient=True) as progress:
            bar = progress.add_task("", total=config.total)
            yield lambda result: progress.update(bar, completed=result.cycles, description=_happened(result))
    else:
        told = time.monotonic()

        def tell(result: ChaosResult) -> None:
            nonlocal told
            if time.monotonic() - told >= 1:
                told = time.monotonic()
                write(f"{result.seconds:7.2f} s  {result.cycles:,} cycles; {_happened(result)}")
                sys.stdout.flush()

        yield tell


def _happened(result: ChaosResult) -> str:
    return f"{result.joins:,} joined, {result.leaves:,} left, {result.killed:,} killed"


def _print(config: ChaosConfig, result: ChaosResult) -> None:
    cycles = config.total
    write(f"{config.processes} processes, {config.cycles} cycles each, seed {config.seed}: {result.seconds:.2f} s")
    write(f"  counter   {result.counter if result.counter is not None else 'not seen'} of {cycles}")
    joined = _mean(result.joined) * 1000
    write(f"  joined    {result.joins:,} times, in {joined:.1f} ms on average; left {result.leaves:,} times")
    missed = _missed(config, result)
    killed = f"{result.killed:,} of {config.kills:,}" if missed else f"{result.killed:,}"
    where = ", ".join(f"{count} {name}" for name, count in sorted(result.kills.items()))
    write(f"  killed    {killed}{where and f': {where}'}; {result.starts:,} processes in all")
    if missed:
        write(f"            all had done their work before {missed:,} more could be killed: give more `--cycles`")
    if result.expelled:
        write(f"  expelled  {result.expelled:,}, taken for dead since they were silent")
    waited = _mean(result.waited) * 1000
    write(f"  waited    {waited:.1f} ms for each cycle on average, {max(result.waited, default=0.0):.2f} s at most")


def _missed(config: ChaosConfig, result: ChaosResult) -> int:
    """Return how many were to be killed and were not."""
    return max(0, config.kills - result.killed)


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _as_json(config: ChaosConfig, result: ChaosResult) -> dict[str, Any]:
    return {
        "processes": config.processes,
        "cycles": config.cycles,
        "leaving": config.leaving,
        "hosts": config.hosts,
        "copies": config.copies,
        "bytes": config.body_bytes,
        "parts": config.parts,
        "seed": config.seed,
        "seconds": round(result.seconds, 3),
        "counter": result.counter,
        "expected": config.total,
        "joins": result.joins,
        "leaves": result.leaves,
        "starts": result.starts,
        "kills": result.kills,
        "kills_missed": _missed(config, result),
        "expelled": result.expelled,
        "join_seconds": round(_mean(result.joined), 6),
        "wait_seconds": round(_mean(result.waited), 6),
        "max_wait_seconds": round(max(result.waited, default=0.0), 6),
        "wrong": result.wrong,
    }


__all__ = ["main", "parser"]
