"""Handing data over: `python -m bench.handover.data`.

Everything is measured beside the bare thing in the same run. All take turns in rounds, and the median of the rounds
counts for each: what else the machine does comes and goes.

* On one host, eight processes use a resource 100 times each and count in it: as users do, with `solvent.shared`, lock
  and data together; and the data alone, passed round by pipes that carry where it is. Beside them, two processes pass
  the name of a shared-memory segment back and forth, attach to it by that name, and count in it; and once more without
  attaching each time, and by pipes of the system's, which is the least that can be done.
* Over TCP (loopback), another host, that is another folder, gets each new version. Beside it, the same number of bytes
  is sent from mapped memory by a bare socket, and received into mapped memory. Both have many connections, one after
  the other: how fast one is depends on what the system has learnt of it, and stays so for as long as it lives.
* 50 MiB on a Redis server: its client's own lock, GET and SET of the value, by one process that waits for nobody.

Sizes that do not fit into memory five times are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
from contextlib import ExitStack, closing
from importlib.util import find_spec
from statistics import median
from typing import TYPE_CHECKING

from rich.table import Table

from bench.handover.ways import Bare, Barest, Fetching, Passing, Sharing, Socket, Stored
from bench.options import read_options
from bench.report import console_for_output

if TYPE_CHECKING:
    from collections.abc import Callable

MEBIBYTE = 1 << 20
MAX_HAND_OVER, MAX_FLAT, MAX_TCP, MAX_REDIS = 6.0, 1.5, 1.3, 0.1
REDIS_SIZE = 50
BARE = "bare: a segment by its name"
BAREST = "barest: mapped once, pipes"
SPACE = "Solvent: a space, lock and data"
KEPT = "Solvent: data alone, last version kept"
IN_PLACE = "Solvent: data alone, in place"
REDIS = "Redis: lock, GET, SET"
SOCKET = "bare socket"
FETCH = "Solvent: a fetch"
FIRST = "Solvent: the first, which makes the memory"

Found = dict[str, dict[int, list[float]]]


def bytes_free() -> int:
    """Tell how much memory can still be had."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except OSError:
        available = 1 << 62
    return min(available, shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else available)  # noqa: PTH112, S108


def take_turns(found: Found, size: int, rounds: int, ways: dict[str, Callable[[], float]]) -> None:
    """Let all ways have their turn in each round, and note how long each took."""
    for way, run in ways.items():
        run()
        found.setdefault(way, {}).setdefault(size, [])
    for _ in range(rounds):
        for way, run in ways.items():
            found[way][size].append(run())


def measure(sizes: list[int], cycles: int, rounds: int, *, has_redis: bool) -> Found:
    """Give the seconds of each round, by way and size."""
    found: Found = {}
    for size in sizes:
        length = size * MEBIBYTE
        # Closed the other way round: later processes have inherited the ends of the earlier ones' pipes.
        with ExitStack() as stack:
            ways = {
                BARE: stack.enter_context(closing(Bare(length))).run,
                BAREST: stack.enter_context(closing(Barest(length))).run,
                IN_PLACE: stack.enter_context(closing(Passing(length, keep_last=False))).run,
                KEPT: stack.enter_context(closing(Passing(length, keep_last=True))).run,
                SPACE: stack.enter_context(closing(Sharing(length))).run,
            }
            take_turns(found, size, rounds, {way: lambda run=run: run(cycles) for way, run in ways.items()})
            if size == REDIS_SIZE and has_redis:
                stored = stack.enter_context(closing(Stored(length)))
                take_turns(found, size, rounds, {REDIS: stored.run})
        is_small = size < REDIS_SIZE
        for _ in range(rounds * (5 if is_small else 1)):
            with ExitStack() as stack:
                socket = stack.enter_context(closing(Socket(length)))
                fetch = stack.enter_context(closing(Fetching(length))).run
                found.setdefault(FIRST, {}).setdefault(size, []).append(fetch())
                turns = {SOCKET: socket.run, FETCH: fetch}
                take_turns(found, size, 20 if is_small else 3, turns)
    return found


def medians(found: Found) -> dict[str, dict[int, float]]:
    """Give the median of the rounds."""
    return {way: {size: median(seconds) for size, seconds in row.items()} for way, row in found.items()}


def demands(times: dict[str, dict[int, float]]) -> dict[str, tuple[float, float]]:
    """Give what is demanded at most, and what came out."""
    space = times[SPACE]
    wanted = {
        "a hand-over in a space, over a bare one": (MAX_HAND_OVER, max(space[s] / times[BARE][s] for s in space)),
        "the largest size over the smallest, in a space": (MAX_FLAT, space[max(space)] / space[min(space)]),
        "a fetch over TCP, over a bare socket": (MAX_TCP, max(times[FETCH][s] / times[SOCKET][s] for s in space)),
    }
    if REDIS in times:
        share = space[REDIS_SIZE] / times[REDIS][REDIS_SIZE]
        wanted["a hand-over in a space, over a lock, GET and SET of 50 MiB on Redis"] = (MAX_REDIS, share)
    return wanted


def show(times: dict[str, dict[int, float]], wanted: dict[str, tuple[float, float]], sizes: list[int]) -> None:
    """Print the tables."""
    console = console_for_output()
    for title, unit, base, ways in (
        ("One hand-over on one host, microseconds", 1e6, BARE, (BARE, BAREST, IN_PLACE, KEPT, SPACE, REDIS)),
        ("One transfer over TCP, milliseconds", 1e3, SOCKET, (SOCKET, FETCH, FIRST)),
    ):
        table = Table(title=title, title_justify="left")
        table.add_column("")
        for size in sizes:
            table.add_column(f"{size} MiB", justify="right")
        for size in sizes:
            table.add_column(f"over bare, {size} MiB", justify="right")
        for way in ways:
            row = times.get(way, {})
            figures = [f"{row[size] * unit:,.1f}" if size in row else "-" for size in sizes]
            shares = [f"{row[size] / times[base][size]:.2f}" if size in row else "-" for size in sizes]
            table.add_row(way, *figures, *shares)
        console.print(table)
    for what, (most, value) in wanted.items():
        console.print(f"{what}: {value:.3g} (at most {most:g}) {'met' if value <= most else 'missed'}")
    console.print(f"{os.cpu_count()} processors")


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.handover.data", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="1,50,500", help="in MiB, separated by commas")
    parser.add_argument("--cycles", type=int, default=100, help="how often each process has the resource in a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when a demand is missed")
    options = read_options(parser, sizes="1", cycles=1, rounds=1)
    free = bytes_free()
    wanted = sorted({int(size) for size in options.sizes.split(",")})
    sizes = [size for size in wanted if 5 * size * MEBIBYTE < free]
    for size in wanted:
        if size not in sizes:
            print(f"{size} MiB is skipped: it does not fit into memory five times.", file=sys.stderr)
    if not sizes:
        return 2 if options.strict else 0
    has_redis = bool(shutil.which("redis-server") and find_spec("redis"))
    if not has_redis:
        print("Redis is skipped: there is no redis-server on the path, or no package redis.", file=sys.stderr)
    times = medians(measure(sizes, options.cycles, options.rounds, has_redis=has_redis))
    judged = demands(times)
    if options.format == "json":
        print(json.dumps({"seconds": times, "demands": judged}))
    else:
        show(times, judged, sizes)
    is_met = all(value <= most for most, value in judged.values())
    return 0 if is_met or not options.strict else 2


if __name__ == "__main__":
    sys.exit(main())
