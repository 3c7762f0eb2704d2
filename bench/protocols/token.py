"""A ring's lock against Redis locks: `python -m bench.protocols.token`.

Eight processes of this machine want one lock all the time, do nothing with it, and want it again. A hand-off is a grant
to another process than the one before. On Solvent's side they are eight nodes of a ring; on the other side eight users
of one Redis server without persistence: the client package's own lock as it comes, the same asking more often, and a
fair lock made of a list with one item that whoever has the lock has taken (`BLPOP`, `LPUSH`). They take turns, a second
each, and the median of the rounds counts for each: what else the machine does comes and goes.

Two more figures are reported without a demand: broadcasts a second that are safe at most nodes, and how long it takes
until somebody has the lock after the process that had it was killed.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from statistics import median

from rich.table import Table

from bench.options import read_options
from bench.protocols.live import Redis
from bench.protocols.token_worker import NOBODY
from bench.report import console_for_output
from solvent.net.ports import free_ports

PROCESSES = 8
SOLVENT = "Solvent, a ring"
WAYS = {
    SOLVENT: "solvent",
    "Redis, lock of the client": "0.1",
    "Redis, the same asking each ms": "0.001",
    "Redis, list (BLPOP, LPUSH)": "list",
}


class Team:
    """Eight processes that use one lock in one way."""

    def __init__(self, count: int, how: str, where: str) -> None:
        self.board = tempfile.NamedTemporaryFile()  # noqa: SIM115 - closed with the team
        self.board.write(bytes((NOBODY, NOBODY)))
        self.board.flush()
        command = [sys.executable, "-m", "bench.protocols.token_worker", self.board.name]
        self.workers = [
            subprocess.Popen([*command, str(me), how, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for me in range(count)
        ]
        for worker in self.workers:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n", how

    def tell(self, worker: subprocess.Popen, line: str) -> None:
        """Tell one what to do."""
        assert worker.stdin is not None
        worker.stdin.write(line + "\n")
        worker.stdin.flush()

    def heard(self, worker: subprocess.Popen) -> dict[str, float]:
        """Hear what came of it."""
        assert worker.stdout is not None
        return json.loads(worker.stdout.readline())

    def work(self, what: str, seconds: float, more: str = "") -> list[dict[str, float]]:
        """Let all do something for some seconds."""
        line = f"{what} {time.monotonic() + seconds} {more}"
        for worker in self.workers:
            self.tell(worker, line)
        return [self.heard(worker) for worker in self.workers]

    def kill_holder(self) -> float:
        """Kill the process that has the lock; give the seconds until another has it."""
        holder, others = self.workers[-1], self.workers[:-1]
        self.tell(holder, "hold")
        self.heard(holder)
        for other in others:
            self.tell(other, "first 0")
        time.sleep(0.5)
        killed = time.monotonic()
        holder.kill()
        holder.wait()
        self.workers = others
        return min(self.heard(other)["at"] for other in others) - killed

    def close(self) -> None:
        """End all."""
        for worker in self.workers:
            worker.kill()
        for worker in self.workers:
            worker.communicate()
        self.board.close()


def ports(count: int) -> str:
    """Give nodes their places on this machine."""
    return ",".join(f"{node}=127.0.0.1:{port}" for node, port in enumerate(free_ports(count)))


def figures(way: str, rounds: list[list[dict[str, float]]], seconds: float) -> dict[str, float]:
    """Put together what the processes counted, round by round."""
    assert not any(found["clashes"] for one in rounds for found in one), f"{way}: two processes had the lock"
    grants = [sum(one[me]["grants"] for one in rounds) for me in range(len(rounds[0]))]
    return {
        "handoffs_per_second": median(sum(found["handoffs"] for found in one) / seconds for one in rounds),
        "grants_per_second": median(sum(found["grants"] for found in one) / seconds for one in rounds),
        "most_over_fewest": max(grants) / max(1, min(grants)),
    }


def measure(ways: dict[str, str], count: int, seconds: float, rounds: int) -> dict[str, dict[str, float]]:
    """Let all take turns."""
    redis = Redis() if len(ways) > 1 else None
    if redis is not None:
        redis.say("LPUSH", "token", "x")
    teams = {
        way: Team(count, how, ports(count) if redis is None or how == "solvent" else str(redis.port))
        for way, how in ways.items()
    }
    seen: dict[str, list[list[dict[str, float]]]] = {way: [] for way in ways}
    try:
        for _ in range(rounds):
            for way, team in teams.items():
                seen[way].append(team.work("lock", seconds))
        rows = {way: figures(way, seen[way], seconds) for way in ways}
        ring = teams[SOLVENT]
        rows[SOLVENT] |= {
            f"broadcasts_per_second_{tasks}": sum(found["said"] for found in ring.work("say", seconds, str(tasks)))
            / seconds
            for tasks in (1, 32)
        }
        rows[SOLVENT]["gap_seconds"] = ring.kill_holder()
        return rows
    finally:
        for team in teams.values():
            team.close()
        if redis is not None:
            redis.close()


def show(found: dict[str, dict[str, float]], count: int, ratio: float, best: float) -> None:
    """Print the table."""
    table = Table(title=f"{count} processes that want one lock all the time")
    for column in ("", "hand-offs/s", "grants/s", "most/fewest", "Solvent's hand-offs over it"):
        table.add_column(column, justify="left" if not column else "right")
    ours = found[SOLVENT]
    for way, row in found.items():
        table.add_row(
            way,
            f"{row['handoffs_per_second']:,.0f}",
            f"{row['grants_per_second']:,.0f}",
            f"{row['most_over_fewest']:.2f}",
            f"{ours['handoffs_per_second'] / row['handoffs_per_second']:.2f}",
        )
    console = console_for_output()
    console.print(table)
    if ratio:
        console.print(f"Solvent hands the lock over {ratio:.1f} times as often as Redis' own lock (demanded: 1),")
        console.print(f"and {best:.2f} times as often as the fastest lock on Redis.")
    console.print(
        f"broadcasts a second, safe at most nodes: {ours['broadcasts_per_second_1']:,.0f} by one task a process, "
        f"{ours['broadcasts_per_second_32']:,.0f} by 32"
    )
    console.print(
        f"after the holder was killed, another had the lock after {ours['gap_seconds']:.2f} s (patience: 1 s)"
    )
    console.print(f"{os.cpu_count()} processors")


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(prog="python -m bench.protocols.token", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each works in each round")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--processes", type=int, default=PROCESSES)
    parser.add_argument("--format", choices=("table", "json"), default="table")
    parser.add_argument("--strict", action="store_true", help="exit with 2 when the demand is missed")
    options = read_options(parser, seconds=0.1, rounds=1, processes=3)
    ways = WAYS
    if shutil.which("redis-server") is None or find_spec("redis") is None:
        print("Without redis-server and the package redis there is nothing to compare with.", file=sys.stderr)
        ways = {way: how for way, how in WAYS.items() if how == "solvent"}
    found = measure(ways, options.processes, options.seconds, options.rounds)
    rates = {way: row["handoffs_per_second"] for way, row in found.items()}
    ours = rates.pop(SOLVENT)
    ratio = ours / rates["Redis, lock of the client"] if rates else 0.0
    best = ours / max(rates.values()) if rates else 0.0
    is_met = ratio >= 1.0
    if options.format == "json":
        print(json.dumps({"found": found, "ratio": ratio, "ratio_to_best": best, "is_met": is_met}))
    else:
        show(found, options.processes, ratio, best)
    return 0 if is_met or not options.strict else 2


if __name__ == "__main__":
    sys.exit(main())
