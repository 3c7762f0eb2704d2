"""Workflows of tasks that do nothing, by agents around a store: `python -m bench.agents.speed`.

Four agents, processes of this machine, and a workflow in layers whose tasks each take two or three results of the layer
before; Ray with four workers does the same graph. All are started before anything is measured, and take turns; the
median of the rounds counts. What is measured is from submitting until the results are there. How it grows: n and 10 n.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import secrets
import signal
import sys
import tempfile
import time
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from rich.table import Table

from bench.options import read_options
from bench.report import console_for_output
from bench.workflow.graphs import Graph, evaluate, make_layers
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.registry import existing, key_of
from solvent.store import open_store
from solvent.workflows.model import Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

AGENTS = 4
MAX_OF_RAY = {"SQLite": 1.0, "NATS": 2.0}
MAX_GROWTH = 15.0
"""How much longer ten times as many tasks may take."""
_SERVICE = Service("combine", target="bench.workflow.functions:combine")


def workflow_of(graph: Graph) -> Workflow:
    """Give the workflow of a graph."""
    tasks = tuple(
        Task(f"T{number}", "combine", (Value(number), *(Result(f"T{source}") for source in sources)))
        for number, sources in enumerate(graph.sources)
    )
    return Workflow("layers", tasks, (_SERVICE,), results=tuple(f"T{sink}" for sink in graph.sinks))


def work(url: str, name: str, services: tuple[Service, ...], ready: Any) -> None:
    """Be an agent."""
    from solvent.runs.agents import Agent
    from solvent.runs.agents.agent import Offers

    with open_store(url, is_durable=False) as store:
        agent = Agent(store, name, Offers({one.name: one for one in services}), jobs=1)
        signal.signal(signal.SIGTERM, lambda *_: agent.stop())
        ready.release()
        agent.run()


class Solvent:
    """Agents around a store."""

    def __init__(self, url: str, agents: int, *services: Service) -> None:
        context = multiprocessing.get_context("spawn")
        ready = context.Semaphore(0)
        self._store = open_store(url, is_durable=False)
        self._agents = [
            context.Process(target=work, args=(url, f"agent-{one}", services, ready), daemon=True)
            for one in range(agents)
        ]
        for agent in self._agents:
            agent.start()
        for _ in self._agents:
            while not ready.acquire(timeout=1.0):
                self._look()

    def _look(self) -> None:
        """Fail if an agent has ended."""
        ended = [agent.name for agent in self._agents if not agent.is_alive()]
        if ended:
            raise SystemExit(f"an agent of Solvent has ended: {', '.join(ended)}")

    def run(self, workflow: Workflow) -> list[Any]:
        """Run a workflow, and return its results."""
        run = f"bench-{secrets.token_hex(4)}"
        submit(self._store, run, workflow, None)
        with self._store.watch([key_of(run)]) as watch:
            while not (record := existing(self._store, run)).has_ended:
                watch.wait(1.0)
                self._look()
        report = report_of(self._store, record, workflow)
        assert report is not None
        return [report.results[name] for name in workflow.results]

    def close(self) -> None:
        """End the agents."""
        for agent in self._agents:
            agent.terminate()
        for agent in self._agents:
            agent.join(10)
        self._store.close()


def started(stack: ExitStack, folder: Path, agents: int) -> Iterator[tuple[str, Callable[[Graph], list[int]]]]:
    """Start everybody that is there."""
    if find_spec("ray") is not None:
        from bench.workflow.systems.ray_tasks import RayRunning

        ray = RayRunning(agents, folder / "ray")
        stack.callback(ray.close)
        yield "Ray", ray.run
    sqlite = Solvent(str(folder / "store.db"), agents, _SERVICE)
    stack.callback(sqlite.close)
    yield "SQLite", lambda graph: sqlite.run(workflow_of(graph))
    if find_spec("nats") is not None:
        from solvent.store.server import Plan, Server

        server = stack.enter_context(Server(Plan(folder=folder / "nats")))
        nats = Solvent(server.url, agents, _SERVICE)
        stack.callback(nats.close)
        yield "NATS", lambda graph: nats.run(workflow_of(graph))


def measure(size: int, rounds: int, systems: dict[str, Callable[[Graph], list[int]]]) -> dict[str, float]:
    """Let all take turns with one graph; give the median seconds of each."""
    graph = make_layers(size)
    right = evaluate(graph)
    seen: dict[str, list[float]] = {name: [] for name in systems}
    for _ in range(rounds):
        for name, run in systems.items():
            began = time.perf_counter()
            results = run(graph)
            seen[name].append(time.perf_counter() - began)
            assert results == right, f"{name} gives wrong results"
    return {name: median(times) for name, times in seen.items()}


def main() -> int:
    """Measure, and print a table; 1 if something is slower than it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--agents", type=int, default=AGENTS)
    parser.add_argument("--only-small", action="store_true", help="do not run ten times as many tasks")
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = read_options(parser, tasks=10, rounds=1, agents=1, only_small=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        systems = dict(started(stack, folder, options.agents))
        measure(10 if options.smallest else 100, 1, systems)
        small = measure(options.tasks, options.rounds, systems)
        large = {} if options.only_small else measure(10 * options.tasks, 1, systems)
    rows = []
    for name, seconds in small.items():
        of_ray = seconds / small["Ray"] if "Ray" in small else None
        growth = large[name] / seconds if name in large else None
        is_slow = of_ray is not None and of_ray > MAX_OF_RAY.get(name, float("inf"))
        is_steep = growth is not None and name in MAX_OF_RAY and growth > MAX_GROWTH
        rows.append(
            {"system": name, "seconds": seconds, "of_ray": of_ray, "seconds_10n": large.get(name), "growth": growth,
             "ok": not (is_slow or is_steep)}
        )  # fmt: skip
    write(rows, options)
    return 0 if options.smallest or all(row["ok"] for row in rows) else 1


def write(rows: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """Print what was measured."""
    tasks, agents = options.tasks, options.agents
    if options.format == "json":
        json.dump({"tasks": tasks, "agents": agents, "systems": rows}, sys.stdout)
        return
    table = Table(title=f"{tasks:,} tasks that do nothing, {agents} agents or workers")
    for title in ("system", "seconds", "of Ray", "most", f"{10 * tasks:,} tasks", "growth", ""):
        table.add_column(title, justify="left" if title in ("system", "") else "right")
    for row in rows:
        limit = MAX_OF_RAY.get(row["system"])
        table.add_row(
            row["system"],
            f"{row['seconds']:.2f}",
            "" if row["of_ray"] is None else f"{row['of_ray']:.2f}",
            "" if limit is None else f"{limit:g}",
            "" if row["seconds_10n"] is None else f"{row['seconds_10n']:.2f}",
            "" if row["growth"] is None else f"{row['growth']:.1f}",
            "" if row["ok"] else "too slow",
        )
    console_for_output().print(table)


if __name__ == "__main__":
    sys.exit(main())
