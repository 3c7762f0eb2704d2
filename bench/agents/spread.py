"""How calls spread over agents around a store: `python -m bench.agents.spread`.

Calls that take a while, as tasks of their own, as the items of one task and inside sub-workflows, are made by one agent
and by four, each with one slot: four must be at least 3.5 times as fast. And calls that take no time, which are not to
be passed on: as items of one task they must not take longer than as tasks. Each is a ratio of two measurements of this
run.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from contextlib import ExitStack
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from bench.agents.speed import Solvent
from bench.options import read_options
from bench.report import console_for_output
from solvent import run
from solvent.workflows.model import Each, Input, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAP = Service("nap", target="bench.agents.spread:nap")
NAPS = Workflow(
    "naps", (Task("each", "nap", (Input("items"),), each=Each("dot", (0,))),), (_NAP,), inputs={"items": []}
)
SERVICES = (
    _NAP,
    Service("nothing", target="bench.agents.spread:nothing"),
    Service("naps", "workflow", function=NAPS),
)
NAP_SECONDS = 0.05
MIN_TIMES_AS_FAST = 3.5
MAX_OF_TASKS = 1.25
"""How much longer items may take than tasks; both vary by a tenth on a quiet machine."""


def nap(number: int) -> int:
    """Take a while."""
    time.sleep(NAP_SECONDS)
    return number


def nothing(number: int) -> int:
    """Take no time."""
    return number


def as_tasks(service: str, calls: int) -> Workflow:
    """Return a workflow in which each call is a task."""
    tasks = tuple(Task(f"T{number}", service, (Value(number),)) for number in range(calls))
    return Workflow("tasks", tasks, SERVICES, results=("T0",))


def as_items(service: str, calls: int) -> Workflow:
    """Return a workflow in which each call is an item of one task."""
    task = Task("T0", service, (Value(list(range(calls))),), each=Each("dot", (0,)))
    return Workflow("items", (task,), SERVICES, results=("T0",))


def inside(_service: str, calls: int) -> Workflow:
    """Return a workflow of two sub-workflows, in which the calls are items of a task."""
    given = tuple(Task(f"S{one}", "naps", (Value(list(range(calls // 2))),)) for one in range(2))
    return Workflow("inside", given, SERVICES, results=("S0",))


FORMS: dict[str, Callable[[str, int], Workflow]] = {"tasks": as_tasks, "items": as_items}


def seconds_of(measured: Callable[[], Any]) -> float:
    """Return how long something takes."""
    began = time.perf_counter()
    measured()
    return time.perf_counter() - began


def rows(options: argparse.Namespace, stack: ExitStack, folder: Path) -> Iterator[dict[str, Any]]:
    """Measure all, and yield what was seen."""
    yield row_of_items("in one process", run, options.small)
    stores: dict[str, Callable[[str], str]] = {"SQLite": lambda name: str(folder / f"{name}.db")}
    if find_spec("nats") is not None:
        from solvent.store.server import Plan, Server

        stores["NATS"] = lambda name: stack.enter_context(Server(Plan(folder=folder / name))).url
    for name, url_of in stores.items():
        one, many = (Solvent(url_of(f"of-{count}"), count, *SERVICES) for count in (1, options.agents))
        for agents in (one, many):
            stack.callback(agents.close)
            # Modules are imported, and caches filled.
            agents.run(as_tasks("nothing", 10))
        for form, made in {**FORMS, "inside sub-workflows": inside}.items():
            flow = made("nap", options.calls)
            alone, together = (seconds_of(partial(agents.run, flow)) for agents in (one, many))
            yield {
                "what": f"{options.calls:,} calls of {NAP_SECONDS:g} s, {form}, {options.agents} agents, {name}",
                "seconds": together, "than": "1 agent", "its_seconds": alone, "ratio": alone / together,
                "limit": MIN_TIMES_AS_FAST, "ok": alone / together >= MIN_TIMES_AS_FAST,
            }  # fmt: skip
        yield row_of_items(f"{options.agents} agents, {name}", many.run, options.small)


def row_of_items(where: str, made: Callable[[Workflow], Any], calls: int) -> dict[str, Any]:
    """Compare items that take no time with tasks."""
    flows = [form("nothing", calls) for form in FORMS.values()]
    tasks, items = (min(seconds_of(partial(made, flow)) for _ in range(2)) for flow in flows)
    return {
        "what": f"{calls:,} calls that do nothing, items, {where}", "seconds": items, "than": "tasks",
        "its_seconds": tasks, "ratio": items / tasks, "limit": MAX_OF_TASKS, "ok": items / tasks <= MAX_OF_TASKS,
    }  # fmt: skip


def main() -> int:
    """Measure, and print a table; 1 if something is slower than it must be."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=400, help="calls that take a while")
    parser.add_argument("--small", type=int, default=10_000, help="calls that take no time")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--format", choices=("text", "json"), default="text")
    options = read_options(parser, calls=8, small=10, agents=2)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        found = list(rows(options, stack, folder))
    if options.format == "json":
        json.dump(found, sys.stdout)
    else:
        table = Table(title="Calls that spread over agents with one slot each")
        for title in ("what", "seconds", "than", "seconds", "ratio", "limit", ""):
            table.add_column(title, justify="left" if title in ("what", "than", "") else "right")
        for row in found:
            table.add_row(
                row["what"], f"{row['seconds']:.2f}", row["than"], f"{row['its_seconds']:.2f}", f"{row['ratio']:.2f}",
                f"{row['limit']:g}", "" if row["ok"] else "too slow",
            )  # fmt: skip
        console_for_output().print(table)
    return 0 if options.smallest or all(row["ok"] for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
