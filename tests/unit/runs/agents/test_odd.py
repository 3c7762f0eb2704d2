"""What one run leads to, however odd, is the end of that run at most, and never of an agent."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.agents.hosted_run import HostedRun
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.execution import Execution
from solvent.runs.registry import existing
from solvent.workflows.model import Result, Service, Task, Value, Workflow
from tests.unit.runs.agents.flows import AgentsHere, adaptive, end_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.store import Store


def name() -> str:
    """Give the name of a file that is no UTF-8, as `os.listdir` does."""
    return os.fsdecode(b"caf\xe9.txt")


def same(value: Any) -> Any:
    """Give what is given."""
    return value


def complain(value: Any) -> Any:
    """Fail, and say of what."""
    raise ValueError(value)


def number() -> int:
    """Give a number of more digits than Python writes."""
    return 10**5000


ODD = Workflow(
    "odd",
    (
        Task("a", "name"),
        Task("b", "same", (Result("a"),)),
        Task("c", "number"),
        Task("d", "complain", (Value(name()),)),
    ),
    tuple(Service(one.__name__, function=one) for one in (name, same, complain, number)),
)


def test_odd_results_and_failures_are_results_and_failures(store: Store) -> None:
    """Half characters and very long numbers are passed from shard to shard, and told at the end."""
    submit(store, "r1", ODD, {}, max_shards=4)
    with AgentsHere(store, offers_of([ODD]), many=2):
        assert end_of(store, "r1").state == "failed"
    report = report_of(store, existing(store, "r1"), ODD)
    assert report is not None
    assert report.results == {"b": name(), "c": number()}
    assert [one.cause for one in report.failures] == ["ValueError: caf\\udce9.txt"]


def failing(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let something of the run `odd` raise what nobody expects."""

    def fail(self: Any, *arguments: Any, **options: Any) -> Any:
        run = self.run if isinstance(self, HostedRun) else self.mailbox.run
        if run == "odd":
            raise ZeroDivisionError("an oddity \udce9")
        return method(self, *arguments, **options)

    return fail


@pytest.mark.parametrize("method", ["start", "take", "settle", "appends", "begin_calls", "closed"])
def test_a_fault_ends_its_run_and_no_agent(store: Store, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Wherever a run meets a fault of Solvent, it has failed, with its cause, and the agent goes on with others."""
    monkeypatch.setattr(Execution, method, failing(getattr(Execution, method)))
    with AgentsHere(store) as agents:
        submit(store, "odd", adaptive(), {})
        ending = end_of(store, "odd")
        assert (ending.state, "ZeroDivisionError: an oddity \\udce9" in ending.why) == ("failed", True)
        agents.wait_for("odd failed: a fault in Solvent itself")
        submit(store, "even", adaptive(), {})
        assert end_of(store, "even").state == "done"


def test_a_fault_beside_the_places_of_a_run_is_told(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """What goes wrong while an agent looks for shards ends neither the run, which has what it needs, nor the agent."""
    monkeypatch.setattr(HostedRun, "forget_messages", failing(HostedRun.forget_messages))
    with AgentsHere(store) as agents:
        submit(store, "odd", adaptive(), {})
        assert end_of(store, "odd").state == "done"
        agents.wait_for("odd cannot be run here: a fault in Solvent itself")
