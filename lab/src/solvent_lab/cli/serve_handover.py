"""`solvent lab serve handover`: processes count in shared data, come and go, and are killed; the counter must be right.

What is checked, and how, is told by `cli.handover_ledger`; who is killed and when by `cli.handover_deaths`.
"""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.cli.loading import add_format, at_least, parser_for, seconds
from solvent.cli.render import complain, write, write_json
from solvent.errors import INTERRUPTED, Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Iterator

    from solvent_lab.chaos.weather import Tally, Weather

SAYS = (
    "See processes of this machine hand data over to each other: each takes it so many times, counts in it and hands\n"
    "it on, while some leave and join again, and others are killed. At the end the counter is exactly right."
)
EXAMPLE = "solvent lab serve handover --processes 50 --cycles 100 --leaving 0.5 --kills 30"


def main(arguments: list[str]) -> int:
    """Run it: 0 if all is right, 1 if not, 130 if it was stopped."""
    import signal

    options = parser().parse_args(arguments)
    weather = _weather(options)
    # Asked to terminate, it takes everything along as well.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    from solvent_lab.chaos.storm import Storm, storm_folder

    place = nullcontext(_kept(options.journal)) if options.journal else storm_folder()
    with place as folder, _view(options, weather) as watch:
        storm = Storm(weather, folder, watch)
        try:
            tally = storm.run()
        except KeyboardInterrupt:
            complain(f"stopped after {storm.tally.cycles:,} cycles")
            return INTERRUPTED
    if options.format == "json":
        write_json(_as_json(weather, tally))
    else:
        _print(weather, tally)
    for wrong in tally.wrong:
        complain(f"wrong: {wrong}", hint="" if options.journal else "`--journal DIR` keeps what each process did")
    return 1 if tally.wrong else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lab serve handover", SAYS, example=EXAMPLE)
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
    parser.add_argument("--seed", type=int, metavar="N", help="who leaves and who is killed (default: any)")
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
        raise ArgumentTypeError(f"`{text}` is not a number from 0 to 1")
    return value


def _weather(options: Namespace) -> Weather:
    import random

    from solvent.handover.place import MIN_PATIENCE
    from solvent_lab.chaos.weather import MIN_STALL, Weather

    weather = Weather(
        processes=options.processes,
        cycles=options.cycles,
        leaving=options.leaving,
        kills=options.kills,
        kill_every=options.kill_every,
        body_bytes=options.bytes,
        parts=options.parts,
        hosts=options.hosts,
        copies=options.copies,
        patience=options.patience,
        stall=options.stall,
        seed=random.randrange(10**6) if options.seed is None else options.seed,
    )
    if weather.processes < weather.stayers:
        hint = "who stays keeps its host's data: one process of each host, or two where any are killed"
        message = f"{weather.processes} processes are too few: {weather.stayers} must stay"
        raise Misuse("P352", message, hint=hint)
    for option, given, least in (("patience", weather.patience, MIN_PATIENCE), ("stall", weather.stall, MIN_STALL)):
        if given < least:
            raise Misuse(
                "P352", f"`--{option} {given:g}` leaves nobody any time", hint=f"give at least {least:g} seconds"
            )
    return weather


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
def _view(options: Namespace, weather: Weather) -> Iterator[Callable[[Tally], None]]:
    """Show how far it is: a bar on a terminal, a line now and then on a pipe, nothing for programs."""
    if options.format == "json":
        yield lambda _: None
    elif sys.stdout.isatty():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
        with Progress(*columns, transient=True) as progress:
            bar = progress.add_task("", total=weather.total)
            yield lambda tally: progress.update(bar, completed=tally.cycles, description=_happened(tally))
    else:
        told = time.monotonic()

        def tell(tally: Tally) -> None:
            nonlocal told
            if time.monotonic() - told >= 1:
                told = time.monotonic()
                write(f"{tally.seconds:7.2f} s  {tally.cycles:,} cycles; {_happened(tally)}")
                sys.stdout.flush()

        yield tell


def _happened(tally: Tally) -> str:
    return f"{tally.joins:,} joined, {tally.leaves:,} left, {tally.killed:,} killed"


def _print(weather: Weather, tally: Tally) -> None:
    cycles = weather.total
    write(f"{weather.processes} processes, {weather.cycles} cycles each, seed {weather.seed}: {tally.seconds:.2f} s")
    write(f"  counter   {tally.counter if tally.counter is not None else 'not seen'} of {cycles}")
    joined = _mean(tally.joined) * 1000
    write(f"  joined    {tally.joins:,} times, in {joined:.1f} ms on average; left {tally.leaves:,} times")
    missed = _missed(weather, tally)
    killed = f"{tally.killed:,} of {weather.kills:,}" if missed else f"{tally.killed:,}"
    write(f"  killed    {killed}{_in_words(tally.kills)}; {tally.starts:,} processes in all")
    if missed:
        write(f"            all had done their work before {missed:,} more could be killed: give more `--cycles`")
    if tally.expelled:
        write(f"  expelled  {tally.expelled:,}, taken for dead since they were silent")
    waited = _mean(tally.waited) * 1000
    write(f"  waited    {waited:.1f} ms for each cycle on average, {max(tally.waited, default=0.0):.2f} s at most")


def _missed(weather: Weather, tally: Tally) -> int:
    """Tell how many were to be killed and were not."""
    return max(0, weather.kills - tally.killed)


def _in_words(kills: dict[str, int]) -> str:
    words = ", ".join(f"{count} {name}" for name, count in sorted(kills.items()))
    return f": {words}" if words else ""


def _mean(numbers: list[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _as_json(weather: Weather, tally: Tally) -> dict[str, Any]:
    return {
        "processes": weather.processes,
        "cycles": weather.cycles,
        "leaving": weather.leaving,
        "hosts": weather.hosts,
        "copies": weather.copies,
        "bytes": weather.body_bytes,
        "parts": weather.parts,
        "seed": weather.seed,
        "seconds": round(tally.seconds, 3),
        "counter": tally.counter,
        "expected": weather.total,
        "joins": tally.joins,
        "leaves": tally.leaves,
        "starts": tally.starts,
        "kills": tally.kills,
        "kills_missed": _missed(weather, tally),
        "expelled": tally.expelled,
        "join_seconds": round(_mean(tally.joined), 6),
        "wait_seconds": round(_mean(tally.waited), 6),
        "max_wait_seconds": round(max(tally.waited, default=0.0), 6),
        "wrong": tally.wrong,
    }


__all__ = ["EXAMPLE", "SAYS", "main", "parser"]
