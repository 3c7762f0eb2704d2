"""Live capture against Redis: `python -m bench.protocols.live`.

Eight processes of this machine make reactions of two molecules out of 15,000 until none is left. On Solvent's side
they are eight nodes, each with its share, that talk TCP and save what they do; on the other side they are eight workers
that take two molecules at a time by an atomic script in one Redis server without persistence, over a bare socket and by
the usual client package. Time runs from a common start until it is known that nothing is left: for Solvent until
inertia is announced, for Redis until the last worker has been told that fewer than two are left. Starting processes is
not counted. The three take turns, and the best of some rounds counts for each.

Two more rows are reported without a demand: only the last hundred molecules, and Solvent with `--no-local`, where every
reaction goes through the protocol although both molecules lie at one node.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from bench.options import read_options
from bench.protocols.redis_worker import KEY, encoded
from bench.report import console_for_output
from solvent.net.ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Callable

PROCESSES = 8


def program(count: int) -> str:
    """Write a program whose one rule makes two molecules vanish."""
    numbers = random.Random(1).sample(range(10 * count), count)
    return f"let vanish = replace x::int, y::int by in <vanish, {', '.join(map(str, numbers))}>"


def solvent(count: int, processes: int, *options: str) -> float:
    """Run it over nodes; give the seconds from the start signal to inertia."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "vanish.hocl")
        path.write_text(program(count), encoding="utf-8")
        command = [sys.executable, "-m", "solvent", "run", str(path), "--nodes", str(processes), "--format", "json"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    assert found["inert"], done.stdout
    assert found["reactions"] == count // 2, done.stdout
    return float(found["seconds"])


class Redis:
    """A Redis server on a free port, without persistence."""

    def __init__(self) -> None:
        (self.port,) = free_ports(1)
        self.folder = tempfile.TemporaryDirectory()
        quiet = ["--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", self.folder.name]
        command = ["redis-server", "--port", str(self.port), *quiet]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                self.line = socket.create_connection(("127.0.0.1", self.port))
                break
            except OSError:
                time.sleep(0.01)

    def say(self, *words: str) -> None:
        """Have one command done."""
        self.line.sendall(encoded(*words))
        self.line.recv(64)

    def fill(self, count: int) -> None:
        """Put molecules in."""
        for start in range(0, count, 500):
            self.say("SADD", KEY, *map(str, range(start, min(count, start + 500))))

    def run(self, count: int, processes: int, how: str) -> float:
        """Let workers take all molecules; give the seconds until the last one is done."""
        self.fill(count)
        command = [sys.executable, "-m", "bench.protocols.redis_worker", str(self.port), how]
        workers = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(processes)
        ]
        for worker in workers:
            assert worker.stdout is not None
            worker.stdout.readline()
        started = time.perf_counter()
        for worker in workers:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        made = [int(worker.stdout.readline()) for worker in workers if worker.stdout is not None]
        seconds = time.perf_counter() - started
        for worker in workers:
            worker.communicate()
        assert sum(made) == count // 2, made
        return seconds

    def close(self) -> None:
        """Stop the server."""
        self.line.close()
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


def measure(options: argparse.Namespace, last: int, redis: Redis | None) -> dict[str, dict[str, float]]:
    """Let all take turns, and give the best seconds of each."""
    processes = options.processes
    ways: dict[str, Callable[[int], float]] = {"Solvent": lambda molecules: solvent(molecules, processes)}
    if redis is not None:
        ways["Redis, bare socket"] = lambda molecules: redis.run(molecules, processes, "bare")
    if redis is not None and find_spec("redis") is not None:
        ways["Redis, client package"] = lambda molecules: redis.run(molecules, processes, "client")
    ways["Solvent, no local reactions"] = lambda molecules: solvent(molecules, processes, "--no-local")
    found: dict[str, dict[str, float]] = {way: {} for way in ways}
    try:
        for _ in range(options.rounds):
            for way, run in ways.items():
                for name, molecules in (("all", options.molecules), ("last", last)):
                    if way.endswith("local reactions") and name == "last":
                        continue
                    seconds = run(molecules)
                    found[way][name] = min(seconds, found[way].get(name, seconds))
    finally:
        if redis is not None:
            redis.close()
    return found


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.protocols.live", description=__doc__.splitlines()[0])
    parser.add_argument("--molecules", type=int, default=15_000)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when the demand is missed")
    options = read_options(parser, molecules=100, processes=2, rounds=1)
    if shutil.which("redis-server") is None:
        print("There is no redis-server on the path; nothing to compare with.", file=sys.stderr)
    last = 10 if options.smallest else 100
    redis = Redis() if shutil.which("redis-server") else None
    found = measure(options, last, redis)
    rates = {way: options.molecules / 2 / cells["all"] for way, cells in found.items() if "all" in cells}
    best = max((rate for way, rate in rates.items() if way.startswith("Redis")), default=0.0)
    ratio = rates["Solvent"] / best if best else 0.0
    if options.format == "json":
        print(json.dumps({"seconds": found, "ratio": ratio, "is_met": ratio >= 1.0}))
    else:
        table = Table(title=f"{options.molecules:,} molecules, two at a time, {options.processes} processes")
        for column in ("", "seconds", "reactions/s", f"last {last} alone, s"):
            table.add_column(column, justify="left" if not column else "right")
        for way, cells in found.items():
            table.add_row(
                way,
                f"{cells['all']:.3f}" if "all" in cells else "-",
                f"{rates[way]:,.0f}" if way in rates else "-",
                f"{cells['last']:.3f}" if "last" in cells else "-",
            )
        console = console_for_output()
        console.print(table)
        if best:
            console.print(f"Solvent makes {ratio:.2f} times the reactions a second of Redis at its best (demanded: 1).")
        console.print(f"{os.cpu_count()} processors")
    return 0 if ratio >= 1.0 or not options.strict else 2


if __name__ == "__main__":
    sys.exit(main())
