"""Handing a lock over, without data: `python -m bench.handover.locks`.

Some processes of this machine want one lock all the time, do nothing with it, and want it again. A hand-off is a grant
to another process than the one before. On Solvent's side each has a handle of one resource of a space, without data,
and calls `acquire` and `release`; on the other side they are users of one Redis server without persistence, with a fair
lock: a list with one item that whoever has the lock has taken (`BLPOP`, `LPUSH`).

Both take turns, a second each, and the median of the rounds counts for each: what else the machine does comes and goes.
All processes are copies of this one, made before anything is measured. Who has the lock, and who had it last, is
written to memory that all share, so that two who have it at once would be noticed.
"""

from __future__ import annotations

import argparse
import json
import mmap
import os
import secrets
import shutil
import signal
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from statistics import median
from typing import TYPE_CHECKING, NoReturn

from rich.table import Table

import solvent
from bench.options import read_options
from bench.protocols.live import Redis
from bench.report import console_for_output

if TYPE_CHECKING:
    from collections.abc import Callable

SOLVENT, REDIS = "Solvent, a handle without data", "Redis, list (BLPOP, LPUSH)"
MIN_RATIO, MAX_FAIRNESS = 1.0, 1.05
NOBODY = 255


class Board:
    """What all processes see: who has the lock, who had it last, who has had it in this round, and which is over."""

    def __init__(self, count: int) -> None:
        self.seen = mmap.mmap(-1, 3 + count)
        self.seen[:] = bytes((NOBODY, NOBODY)) + bytes(1 + count)

    def count(
        self, me: int, turn: int, seconds: float, acquire: Callable[[], object], release: Callable[[], object]
    ) -> list[int]:
        """Take the lock until the time is over; give the grants, the hand-offs, and how often two had it at once.

        It counts from when all have had it once until the first of all is done: whoever begins before the others has it
        for itself, and so has whoever is the last.
        """
        seen, mine, turn = self.seen, 3 + me, turn % 256
        all_had_it, end = bytes([turn]) * (len(seen) - 3), float("inf")
        grants = handoffs = clashes = 0
        while seen[2] != turn:
            acquire()
            clashes += seen[0] != NOBODY
            seen[0] = me
            grants += 1
            handoffs += seen[1] != me
            seen[1] = me
            now = time.monotonic()
            if end > now + seconds:
                seen[mine] = turn
                grants = handoffs = 0
                if seen[3:] == all_had_it:
                    end = now + seconds
            elif now > end:
                seen[2] = turn
            seen[0] = NOBODY
            release()
        return [grants, handoffs, clashes]


class Worker:
    """One process that wants a lock: a copy of this one."""

    def __init__(self, me: int, live: Callable[[int, Worker], None]) -> None:
        hears, self._says = os.pipe()
        self._hears, says = os.pipe()
        self.number = os.fork()
        if self.number == 0:
            self._hears, self._says = hears, says
            self._live(me, live)
        os.close(hears)
        os.close(says)
        self._lines = os.fdopen(self._hears, encoding="ascii")

    def _live(self, me: int, live: Callable[[int, Worker], None]) -> NoReturn:
        status = 1
        try:
            self._lines = os.fdopen(self._hears, encoding="ascii")
            live(me, self)
            status = 0
        finally:
            os._exit(status)

    def say(self, what: object) -> None:
        """Say something to the other side."""
        os.write(self._says, f"{json.dumps(what)}\n".encode())

    def hear(self) -> object:
        """Wait for what the other side says; nothing, if it says no more."""
        line = self._lines.readline()
        return json.loads(line) if line else None

    def close(self) -> None:
        """Tell that nothing comes any more, and wait for the end."""
        # Not by closing the pipe: those that were copied later have it, too.
        self.say(None)
        end = time.monotonic() + 30
        while os.waitpid(self.number, os.WNOHANG) == (0, 0):
            time.sleep(0.01)
            if time.monotonic() > end:
                with suppress(ProcessLookupError):
                    os.kill(self.number, signal.SIGKILL)
        os.close(self._says)
        self._lines.close()


class Team:
    """Processes that use one lock in one way."""

    def __init__(self, count: int, way: Callable[[int, Worker, Board], None]) -> None:
        board = Board(count)
        self.turn = 0
        self.workers = list[Worker]()
        for me in range(count):
            self.workers.append(Worker(me, lambda me, worker: way(me, worker, board)))
            # One after the other: a machine with few processors has little use for all at once.
            assert self.workers[-1].hear() == "ready"

    def work(self, seconds: float) -> list[list[int]]:
        """Let all want the lock for some seconds."""
        self.turn += 1
        for worker in self.workers:
            worker.say((self.turn, seconds))
        return [worker.hear() for worker in self.workers]

    def close(self) -> None:
        """End all."""
        for worker in self.workers:
            worker.close()


def solvent_way(me: int, worker: Worker, board: Board, name: str) -> None:
    """Use a handle of a space."""
    with solvent.shared.join(name) as space, space.handle("lock") as handle:
        handle.acquire()
        handle.release()
        worker.say("ready")
        while told := worker.hear():
            worker.say(board.count(me, *told, handle.acquire, handle.release))


def redis_way(me: int, worker: Worker, board: Board, port: int) -> None:
    """Use a list of a Redis server."""
    import redis

    client = redis.Redis(port=port)
    client.ping()
    worker.say("ready")
    while told := worker.hear():
        worker.say(board.count(me, *told, lambda: client.blpop("token"), lambda: client.lpush("token", b"x")))


def figures(rounds: list[list[list[int]]], seconds: float) -> dict[str, float]:
    """Put together what the processes counted, round by round."""
    assert not any(clashes for one in rounds for _, _, clashes in one), "two processes had the lock"
    grants = [sum(one[me][0] for one in rounds) for me in range(len(rounds[0]))]
    return {
        "handoffs_per_second": median(sum(found[1] for found in one) / seconds for one in rounds),
        "most_over_fewest": max(grants) / max(1, min(grants)),
    }


def measure(count: int, seconds: float, rounds: int, *, has_redis: bool) -> dict[str, dict[str, float]]:
    """Let both take turns."""
    name = f"bench-{secrets.token_hex(4)}"
    teams = {SOLVENT: Team(count, lambda me, worker, board: solvent_way(me, worker, board, name))}
    redis = Redis() if has_redis else None
    if redis is not None:
        redis.say("LPUSH", "token", "x")
        teams[REDIS] = Team(count, lambda me, worker, board: redis_way(me, worker, board, redis.port))
    seen: dict[str, list[list[list[int]]]] = {way: [] for way in teams}
    try:
        for _ in range(rounds):
            for way, team in teams.items():
                seen[way].append(team.work(seconds))
        return {way: figures(found, seconds) for way, found in seen.items()}
    finally:
        for team in teams.values():
            team.close()
        if redis is not None:
            redis.close()


def verdict(found: dict[str, dict[str, float]]) -> tuple[float, bool]:
    """Give Solvent's hand-offs over those of Redis, and whether all that is demanded is met."""
    ours = found[SOLVENT]
    ratio = ours["handoffs_per_second"] / found[REDIS]["handoffs_per_second"] if REDIS in found else 0.0
    return ratio, ratio >= MIN_RATIO and ours["most_over_fewest"] <= MAX_FAIRNESS


def show(found: dict[int, dict[str, dict[str, float]]]) -> None:
    """Print the table."""
    table = Table(title="Processes that want one lock all the time")
    for column in ("processes", "", "hand-offs/s", "most/fewest", "Solvent's hand-offs over it"):
        table.add_column(column, justify="left" if not column else "right")
    for count, rows in found.items():
        ours = rows[SOLVENT]["handoffs_per_second"]
        for way, row in rows.items():
            rate = row["handoffs_per_second"]
            fairness = f"{row['most_over_fewest']:.3f}"
            table.add_row(str(count), way, f"{rate:,.0f}", fairness, f"{ours / rate:.2f}")
    console = console_for_output()
    console.print(table)
    console.print(
        f"Demanded: hand-offs at least {MIN_RATIO:g} times as often as with Redis, most over fewest at most "
        f"{MAX_FAIRNESS:g}. {os.cpu_count()} processors."
    )


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.handover.locks", description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[8, 50])
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each works in each round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when the demand is missed")
    options = read_options(parser, processes=[2], seconds=0.1, rounds=1)
    has_redis = shutil.which("redis-server") is not None and find_spec("redis") is not None
    if not has_redis:
        print("Without redis-server and the package redis there is nothing to compare with.", file=sys.stderr)
    found = {count: measure(count, options.seconds, options.rounds, has_redis=has_redis) for count in options.processes}
    is_met = all(verdict(rows)[1] for rows in found.values())
    if options.format == "json":
        ratios = {count: verdict(rows)[0] for count, rows in found.items()}
        print(json.dumps({"found": found, "ratios": ratios, "is_met": is_met}))
    else:
        show(found)
    return 0 if is_met or not options.strict else 2


if __name__ == "__main__":
    sys.exit(main())
