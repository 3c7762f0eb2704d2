"""Workflows that really run, and are recorded, for the tests of the page."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.runs.embedded import EmbeddedRun
from solvent.runs.recorded_run import new_run
from solvent.runs.registry import existing
from solvent.runs.versions import apply, plan_update
from solvent.store import open_store
from solvent.workflows.model import Alternative, Input, Policy, Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MAX_SECONDS = 200.0


class Gate:
    """What a workflow waits at, until a test lets it go on."""

    def __init__(self) -> None:
        self.is_open = threading.Event()

    def wait(self, *_: Any) -> str:
        """Be called, and wait."""
        assert self.is_open.wait(MAX_SECONDS)
        return "through"


def begin(number: int) -> list[int]:
    """Give two numbers, and say so."""
    print("from", number)
    return [number, number + 1]


def broken(*_: Any) -> int:
    """Fail."""
    raise ValueError("no such column")


def add(numbers: list[int], by: int) -> int:
    """Add."""
    return sum(numbers) + by


def healing(gate: Gate) -> Workflow:
    """Give a workflow in which `odd` fails and `spare` takes over, after which it waits at a gate."""
    services = (
        Service("begin", function=begin),
        Service("broken", function=broken, policy=Policy(retries=1, backoff=0.01)),
        Service("add", function=add),
        Service("gate", function=gate.wait),
    )
    tasks = (
        Task("first", "begin", (Input("n"),)),
        Task("odd", "broken", (Result("first"),)),
        Task("spare", "add", (Result("first"), Value(10))),
        Task("sum", "add", (Result("first"),), {"by": Result("odd")}),
        Task("last", "gate", (Result("sum"),)),
    )
    spare = Alternative("instead", exits={"odd": "spare"})
    return Workflow("healing", tasks, services, (spare,), inputs={"n": 1})


def around(inner: Workflow) -> Workflow:
    """Give a workflow whose only task is another."""
    task = Task("T", "inner", (Input("n"),))
    return Workflow("outer", (task,), (Service("inner", "workflow", function=inner),), inputs={"n": 1})


def continued(folder: Path, task: str, name: str = "healing-1") -> None:
    """Let a run that has ended have another version, with a further task; nobody executes it."""
    before = healing(Gate())
    after = replace(before, tasks=(*before.tasks, Task(task, "add", (Value([1]), Value(2)))))
    with open_store(str(folder / "store.db"), is_durable=False) as store:
        apply(store, plan_update(store, existing(store, name), after))


@contextmanager
def going(
    folder: Path, name: str = "healing-1", gate: Gate | None = None, workflow: Workflow | None = None
) -> Iterator[Gate]:
    """Run the workflow in a thread, recorded in `store.db` of a folder; it ends with the context at the latest."""
    gate = gate or Gate()
    workflow = workflow or healing(gate)
    with open_store(str(folder / "store.db"), is_durable=False) as store:
        held = new_run(store, workflow, {"n": 1}, file="healing.py")
        held.name(name)
        run = EmbeddedRun(workflow, {"n": 1}, journal=held.journal, should_stop=held.should_stop)
        held.open()
        thread = threading.Thread(target=lambda: held.end(run.run()))
        thread.start()
        try:
            yield gate
        finally:
            gate.is_open.set()
            thread.join(MAX_SECONDS)
            assert not thread.is_alive()


def recorded(folder: Path, name: str = "healing-1") -> None:
    """Run the workflow to its end."""
    gate = Gate()
    gate.is_open.set()
    with going(folder, name, gate):
        pass


__all__ = ["Gate", "continued", "going", "healing", "recorded"]
