"""Handing data over, without the lock: `python -m bench.handover.data`.

Three things are measured, each beside the bare thing in the same run; both take turns, and the best of some rounds
counts for each.

* On one host: eight processes pass a resource round, 100 times each, and count in it. A pipe to the next carries where
  it is. Beside it, two processes pass the name of a shared-memory segment back and forth by pipes, and count in it.
* Over TCP (loopback): another host, that is another folder, gets each new version. Beside it, the same number of bytes
  is sent from mapped memory by a bare socket, and received into mapped memory.
* 50 MiB through a Redis server: GET and SET of the value, which is what a lock on Redis leaves to be done.

Sizes that do not fit into memory four times are skipped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
from importlib.util import find_spec

from rich.table import Table

from bench.handover.ways import Bare, Fetching, Passing, Socket, redis_seconds
from bench.report import console_for_output

MEBIBYTE = 1 << 20
PASSING_MAX, TCP_MAX, REDIS_MAX = 6.0, 1.3, 0.1
REDIS_SIZE = 50


def bytes_free() -> int:
    """Tell how much memory can still be had."""
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:  # noqa: PTH123
            available = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except OSError:
        available = 1 << 62
    return min(available, shutil.disk_usage("/dev/shm").free if os.path.isdir("/dev/shm") else available)  # noqa: PTH112, S108


def measure(sizes: list[int], cycles: int, rounds: int) -> dict[str, dict[int, list[float]]]:
    """Let all take turns; give the seconds of each round, by way and size."""
    found: dict[str, dict[int, list[float]]] = {}

    def note(way: str, size: int, seconds: float) -> None:
        found.setdefault(way, {}).setdefault(size, []).append(seconds)

    for size in sizes:
        bare, passing = Bare(size * MEBIBYTE), Passing(size * MEBIBYTE)
        try:
            for way in (bare, passing):
                way.run(10)
            for _ in range(rounds):
                note("bare", size, bare.run(cycles))
                note("passing", size, passing.run(cycles))
        finally:
            # The other way round: processes of the second have inherited the ends of the first one's pipes.
            passing.close()
            bare.close()
        socket, fetching = Socket(size * MEBIBYTE), Fetching(size * MEBIBYTE)
        try:
            note("first fetch", size, fetching.run())
            socket.run()
            for _ in range(rounds * (10 if size < 10 else 3)):
                note("socket", size, socket.run())
                note("fetching", size, fetching.run())
                note("with checksum", size, fetching.run(has_checksum=True))
        finally:
            fetching.close()
            socket.close()
    if shutil.which("redis-server") and find_spec("redis") and REDIS_SIZE in sizes:
        for seconds in redis_seconds(REDIS_SIZE * MEBIBYTE, rounds):
            note("redis", REDIS_SIZE, seconds)
    return found


def ratios(found: dict[str, dict[int, list[float]]]) -> dict[str, dict[int, float]]:
    """Compare each with the bare thing: the best of both, and what is between the best and the median."""
    best = {way: {size: min(seconds) for size, seconds in row.items()} for way, row in found.items()}
    rows = {
        "passing": {size: value / best["bare"][size] for size, value in best["passing"].items()},
        "passing, median": {
            size: statistics.median(value) / statistics.median(found["bare"][size])
            for size, value in found["passing"].items()
        },
        "fetching": {size: value / best["socket"][size] for size, value in best["fetching"].items()},
        "fetching, median": {
            size: statistics.median(value) / statistics.median(found["socket"][size])
            for size, value in found["fetching"].items()
        },
        "with checksum": {size: value / best["socket"][size] for size, value in best["with checksum"].items()},
        "first fetch": {size: value / best["socket"][size] for size, value in best["first fetch"].items()},
    }
    if "redis" in best:
        rows["redis"] = {size: best["passing"][size] / value for size, value in best["redis"].items()}
    return rows


def demands(
    rows: dict[str, dict[int, float]], found: dict[str, dict[int, list[float]]]
) -> dict[str, tuple[float, float]]:
    """Give what is demanded at most, and what came out."""
    passing = {size: min(seconds) for size, seconds in found["passing"].items()}
    wanted = {
        "a hand-over on one host, over a bare one": (PASSING_MAX, max(rows["passing"].values())),
        "the largest over the smallest size, on one host": (1.5, passing[max(passing)] / passing[min(passing)]),
        "a fetch over TCP, over a bare socket": (TCP_MAX, max(rows["fetching"].values())),
    }
    if "redis" in rows:
        wanted["a hand-over on one host, over GET and SET of 50 MiB"] = (REDIS_MAX, rows["redis"][REDIS_SIZE])
    return wanted


def show(rows: dict[str, dict[int, float]], wanted: dict[str, tuple[float, float]], sizes: list[int]) -> None:
    """Print the tables."""
    titles = {
        "passing": "one host: 8 processes, over a bare hand-over",
        "passing, median": "the same, medians",
        "fetching": "TCP: a fetch, over a bare socket",
        "fetching, median": "the same, medians",
        "with checksum": "TCP: with checksums, over a bare socket",
        "first fetch": "TCP: the first fetch, which makes the memory",
        "redis": "one host, over GET and SET by Redis",
    }
    table = Table(title="Handing data over")
    table.add_column("")
    for size in sizes:
        table.add_column(f"{size} MiB", justify="right")
    for row, title in titles.items():
        if row in rows:
            table.add_row(title, *[f"{rows[row][size]:.3g}" if size in rows[row] else "-" for size in sizes])
    console = console_for_output()
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
    options = parser.parse_args()
    free = bytes_free()
    wanted = sorted({int(size) for size in options.sizes.split(",")})
    sizes = [size for size in wanted if 4 * size * MEBIBYTE < free]
    for size in wanted:
        if size not in sizes:
            print(f"{size} MiB is skipped: it does not fit into memory four times.", file=sys.stderr)
    if not sizes:
        return 2 if options.strict else 0
    if not (shutil.which("redis-server") and find_spec("redis")):
        print("Redis is skipped: there is no redis-server on the path, or no package redis.", file=sys.stderr)
    found = measure(sizes, options.cycles, options.rounds)
    rows = ratios(found)
    judged = demands(rows, found)
    if options.format == "json":
        print(json.dumps({"ratios": rows, "demands": judged}))
    else:
        show(rows, judged, sizes)
    is_met = all(value <= most for most, value in judged.values())
    return 0 if is_met or not options.strict else 2


if __name__ == "__main__":
    sys.exit(main())
