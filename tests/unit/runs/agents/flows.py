"""Workflows, and agents in threads, for the tests of agents."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, Self

from solvent.runs.agents.agent import Agent
from solvent.runs.agents.offers import offers_of
from solvent.runs.registry import record_of
from solvent.store import open_store
from solvent.workflows.model import Alternative, Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.runs.agents.offers import Offers
    from solvent.runs.registry import RunRecord
    from solvent.store import Store


def add(*numbers: int) -> int:
    """Add numbers."""
    return sum(numbers)


def double(number: int) -> int:
    """Double a number."""
    return 2 * number


def broken(*_: Any) -> int:
    """Fail."""
    raise ValueError("no such column")


def is_small(result: Any) -> bool:
    """Say whether a result is small."""
    return bool(result < 10)


SERVICES = (Service("add", function=add), Service("broken", function=broken))


def workflow(*tasks: Task, alternatives: tuple[Alternative, ...] = (), **more: Any) -> Workflow:
    """Make a workflow of tasks that add or fail."""
    return Workflow("sums", tasks, SERVICES, alternatives, **more)


def adaptive() -> Workflow:
    """Make a workflow of which one task fails and another takes its place."""
    return workflow(
        Task("one", "add", (Value(1), Value(2))),
        Task("two", "broken", (Result("one"),)),
        Task("spare", "add", (Result("one"), Value(10))),
        Task("sum", "add", (Result("one"), Result("two"))),
        alternatives=(Alternative("instead", {"two": "spare"}),),
    )


def chain() -> Workflow:
    """Make a workflow of tasks in a row, which call two services in turn."""
    services = (Service("add", function=add), Service("double", function=double))
    tasks = (
        Task("one", "add", (Value(1), Value(2))),
        Task("two", "double", (Result("one"),)),
        Task("three", "add", (Result("two"), Value(10))),
    )
    return Workflow("chain", tasks, services)


def offering(flow: Workflow, *names: str) -> Offers:
    """Offer some services of a workflow."""
    return offers_of([Workflow("part", (), tuple(one for one in flow.services if one.name in names))])


def store_at(folder: Path) -> Store:
    """Open a store in a file."""
    return open_store(str(folder / "store.db"), is_durable=False)


def run_by_agents(
    store: Store, run: str, offers: Offers | None = None, *, many: int = 1, wait: float = 60.0
) -> RunRecord:
    """Let agents in threads of this process go on with a run to its end."""
    with AgentsHere(store, offers, many=many):
        return end_of(store, run, wait=wait)


def end_of(store: Store, run: str, *, wait: float = 60.0) -> RunRecord:
    """Wait for the end of a run."""
    until = time.monotonic() + wait
    while (found := record_of(store, run)) is None or not found.has_ended:
        assert time.monotonic() < until, "the run does not end"
        time.sleep(0.01)
    return found


class AgentsHere:
    """Agents in threads of this process, in a context; `told` is what they say."""

    def __init__(
        self, store: Store, offers: Offers | None = None, *, many: int = 1, name: str = "a", jobs: int | None = None
    ) -> None:
        offers = offers if offers is not None else offers_of([adaptive()])
        self.told: list[str] = []
        self.agents = [
            Agent(store, f"{name}{one}", offers, ttl=2.0, jobs=jobs, tell=self.told.append) for one in range(many)
        ]
        self._threads = [threading.Thread(target=agent.run, daemon=True) for agent in self.agents]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for agent in self.agents:
            agent.stop()
        for thread in self._threads:
            thread.join(200)
            assert not thread.is_alive()

    def wait_for(self, words: str) -> None:
        """Wait until an agent has said something."""
        until = time.monotonic() + 200
        while not any(words in one for one in self.told):
            assert time.monotonic() < until, self.told
            time.sleep(0.01)
