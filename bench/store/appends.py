"""Appends to a store, a second: `python -m bench.store.appends`.

One process, or four at once, each with a log of its own, append records of 200 bytes and of 20 kB, one at a time or a
hundred at once (`append_all`). *On disk* means that an append is acknowledged when it would survive a loss of power;
otherwise it survives the death of any process. Beside the stores stands what a loop in Python can do with SQLite
itself, in the same run: a table, a transaction for each append (or hundred), SQLite's own way to wait for others, and
`synchronous` FULL or NORMAL. NATS servers, one, or three that all keep everything, are left out where there are none.

All servers and files are on this machine: three servers share its one disk, and its processors with those who append.
The ways take turns, and the median of the rounds counts for each.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sqlite3
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from queue import Empty
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.table import Table

from bench.options import read_options
from bench.report import console_for_output
from solvent.errors import StoreError
from solvent.store import Append, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZES, BATCHES, WRITERS = (200, 20_000), (1, 100), (1, 4)
_FORK = multiprocessing.get_context("fork")


@dataclass(frozen=True)
class Way:
    """A way to keep records: its name, and how a process gets at it, given a folder or an address."""

    name: str
    place: str
    is_durable: bool
    is_bare: bool = False


@dataclass(frozen=True)
class Load:
    """What is appended."""

    size: int
    batch: int
    writers: int


def _bare(way: Way, load: Load) -> Callable[[], None]:
    """Give what appends with SQLite alone."""
    connection = sqlite3.connect(way.place, timeout=60, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(f"PRAGMA synchronous = {'FULL' if way.is_durable else 'NORMAL'}")
    connection.execute("CREATE TABLE IF NOT EXISTS records (position INTEGER PRIMARY KEY AUTOINCREMENT, data BLOB)")
    rows = [(bytes(load.size),)] * load.batch

    def append() -> None:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO records (data) VALUES (?)", rows)
        connection.execute("COMMIT")

    return append


def _with_store(way: Way, load: Load) -> Callable[[], None]:
    """Give what appends to a store."""
    store = open_store(way.place, **({} if "://" in way.place else {"is_durable": way.is_durable}))
    log, data = f"writer/{os.getpid()}", bytes(load.size)
    if load.batch == 1:
        return lambda: _used(store.append(log, data))
    appends = [Append(log, data)] * load.batch
    return lambda: _used(store.append_all(appends))


def _used(_: object) -> None:
    """Drop a result."""


def _write(way: Way, load: Load, seconds: float, ready: Any, results: Any) -> None:
    """Append until the time is over, and say how many records a second that were."""
    append = (_bare if way.is_bare else _with_store)(way, load)
    append()
    ready.wait()
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        append()
        count += load.batch
    results.put(count / (time.perf_counter() - began))
    # A store that is closed in order would move its pages while others are still measured.
    results.close()
    results.join_thread()
    os._exit(0)


def _rate(way: Way, results: Any, processes: list[Any]) -> float:
    """Wait for the rate of one writer; fail if a writer has failed."""
    while True:
        try:
            return float(results.get(timeout=1.0))
        except Empty:
            if any(process.exitcode for process in processes):
                raise SystemExit(f"{way.name}: a writer has failed") from None


def measure(way: Way, load: Load, seconds: float) -> float:
    """Give the records that all writers together append in a second."""
    ready, results = _FORK.Barrier(load.writers), _FORK.Queue()
    processes = [
        _FORK.Process(target=_write, args=(way, load, seconds, ready, results), daemon=True)
        for _ in range(load.writers)
    ]
    for process in processes:
        process.start()
    total = sum(_rate(way, results, processes) for _ in processes)
    for process in processes:
        process.join()
    return total


def sync_ms(folder: Path) -> float:
    """Give how long this disk takes to keep a page that was just written."""
    with (folder / "probe").open("wb") as file:
        times = list[float]()
        for _ in range(50):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return 1000 * median(times)


@contextmanager
def _ways(folder: Path, kept: tuple[bool, ...]) -> Iterator[list[Way]]:
    """Start the servers that there are, and give all ways."""
    ways = list[Way]()
    for is_durable in kept:
        kind = "on disk" if is_durable else "not"
        ways += [
            Way(f"bare SQLite, {kind}", str(folder / f"bare-{is_durable}.db"), is_durable, is_bare=True),
            Way(f"SQLite store, {kind}", str(folder / f"store-{is_durable}.db"), is_durable),
        ]
    with ExitStack() as stack:
        if find_spec("nats") is not None:
            try:
                ways += _servers(folder, stack, kept)
            except StoreError as error:
                print(f"Without NATS: {error.message}")
        yield ways


def _servers(folder: Path, stack: ExitStack, kept: tuple[bool, ...]) -> list[Way]:
    from bench.store.cluster import Cluster
    from solvent.store.server import Plan, Server

    ways = list[Way]()
    for is_durable in kept:
        kind = "on disk" if is_durable else "not"
        one = stack.enter_context(Server(Plan(folder=folder / f"one-{is_durable}", is_durable=is_durable)))
        ways.append(Way(f"NATS, one server, {kind}", one.url, is_durable))
        three = stack.enter_context(Cluster(folder / f"three-{is_durable}", is_durable=is_durable))
        ways.append(Way(f"NATS, three servers, {kind}", three.url, is_durable))
    return ways


def _table(size: int, loads: list[Load], ways: list[Way], found: dict[tuple[Way, Load], float]) -> Table:
    table = Table(title=f"records of {size:,} bytes, a second", title_justify="left", box=None, pad_edge=False)
    table.add_column("")
    for load in loads:
        writers = "1 writer" if load.writers == 1 else f"{load.writers} writers"
        table.add_column(f"{writers}\n{'one' if load.batch == 1 else load.batch} at a time", justify="right")
    for way in ways:
        table.add_row(way.name, *(f"{found[way, load]:,.0f}" for load in loads))
    return table


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m bench.store.appends", description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=0.5, help="for each way and load, in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the files are: which disk is measured")
    asked = read_options(parser, seconds=0.01, rounds=1)
    console = console_for_output()
    loads = [Load(size, batch, writers) for size in SIZES for batch in BATCHES for writers in WRITERS]
    loads, kept = (loads[:1], (True,)) if asked.smallest else (loads, (True, False))
    with (
        tempfile.TemporaryDirectory(prefix="solvent-bench-", dir=asked.folder) as name,
        _ways(Path(name), kept) as ways,
    ):
        rates = dict[tuple[Way, Load], list[float]]()
        for _ in range(asked.rounds):
            for load in loads:
                for way in ways:
                    rates.setdefault((way, load), []).append(measure(way, load, asked.seconds))
        found = {key: median(some) for key, some in rates.items()}
        console.print(f"SQLite {sqlite3.sqlite_version}; a page is on disk after {sync_ms(Path(name)):.1f} ms (median)")
        for size in dict.fromkeys(load.size for load in loads):
            console.print()
            console.print(_table(size, [load for load in loads if load.size == size], ways, found))


if __name__ == "__main__":
    main()
