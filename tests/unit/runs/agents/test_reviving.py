"""A run that failed only since agents died under its calls goes on: what was answered is not called again."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent.errors import RecordProblem
from solvent.lang.molecule import Symbol
from solvent.runs.agents.hosted_run import HostedRun
from solvent.runs.agents.offers import Offers, offers_of
from solvent.runs.agents.reviving import announce, lost_tasks, revive
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.registry import existing, key_of, names_in, record_of
from solvent.store.leases import Heartbeats
from solvent.workflows.model import Alternative, Policy, Result, Service, Task, Value, Workflow
from solvent.workflows.translate import task_symbol
from tests.unit.runs.agents.flows import run_by_agents, store_at
from tests.unit.runs.agents.test_execution import kept, said

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.runs.registry import RunRecord
    from solvent.store import Store

CALLS: list[tuple[str, bool]] = []


def note(*numbers: int) -> int:
    """Add numbers, and leave a mark."""
    one = solvent.call()
    assert one is not None
    CALLS.append((one.key, one.repeated))
    return sum(numbers)


def refuse(*_: int) -> int:
    """Fail."""
    raise ValueError("no")


SERVICES = (
    Service("note", function=note),
    Service("fragile", function=note, policy=Policy(max_lost=0, retries=1, backoff=0.0)),
    Service("refuse", function=refuse),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a store in a file."""
    CALLS.clear()
    with store_at(tmp_path) as opened:
        yield opened


def fail_by_death(store: Store, flow: Workflow, *, deaths: int = 1) -> RunRecord:
    """Let agents die, one after the other, when they have made the calls that can be made; others find that."""
    plan = submit(store, "r1", flow, {}, max_shards=8)
    for _ in range(deaths):
        hosted, came = HostedRun(store, "dead", plan, offers_of([flow]), jobs=1), SimpleQueue[Any]()
        for number in range(plan.shards):
            place = hosted.take(number, Heartbeats(store), came)
            assert place is not None
            kept(place)
            while not came.empty():
                answer = came.get()
                if answer.failure is not None:
                    place.take(answer)
                    kept(place)
            hosted._shards[number].release()
        hosted.close()
    CALLS.clear()
    assert run_by_agents(store, "r1", offers_of([flow])).state == "failed"
    return existing(store, "r1")


def sums() -> Workflow:
    """Make a workflow of two chains, of which one begins with a call that must not be lost."""
    tasks = [Task("a0", "fragile", (Value(1),)), Task("b0", "note", (Value(10),))]
    tasks += [Task(f"{row}{k}", "note", (Result(f"{row}{k - 1}"), Value(1))) for row in "ab" for k in (1, 2)]
    return Workflow("sums", (*tasks, Task("end", "note", (Result("a2"), Result("b2")))), SERVICES)


def go_on(store: Store, plan: RunRecord) -> str:
    """Let the run go on."""
    return revive(store, plan, lost_tasks(store, plan), Offers({}))


def test_only_lost_calls_are_made_again(store: Store) -> None:
    """It goes on as another run, with what was answered; a lost call has the name it had, and is told of the loss."""
    plan = fail_by_death(store, sums())
    assert lost_tasks(store, plan) == {"a0"}
    assert sorted(key for key, _ in CALLS) == ["r1/b0", "r1/b1", "r1/b2"]
    CALLS.clear()
    name = go_on(store, plan)
    assert run_by_agents(store, name, offers_of([sums()])).state == "done"
    assert CALLS == [("r1/a0", True), ("r1/a1", False), ("r1/a2", False), ("r1/end", False)]
    report = report_of(store, existing(store, name), sums())
    assert report is not None
    assert report.results == {"end": 15}


def test_a_run_goes_on_as_one_other_only(store: Store) -> None:
    """Whoever wants it to go on once more is given the name of the run that does."""
    plan = fail_by_death(store, sums())
    name = go_on(store, plan)
    assert go_on(store, plan) == name == existing(store, "r1").successor


def test_copies_that_were_made_in_vain_are_no_runs(store: Store) -> None:
    """Of two who have it go on at once one has its way, and there is no second run that could make the calls, too."""
    plan = fail_by_death(store, sums())
    names = {go_on(store, plan), go_on(store, plan)}
    assert names_in(store) == ["r1", *names]


def test_who_dies_before_the_other_run_has_a_plan_leaves_it_to_the_next(store: Store) -> None:
    """A run that goes on by its name only is given its plan when it is announced again."""
    plan = fail_by_death(store, sums())
    name = go_on(store, plan)
    made = record_of(store, name)
    store.delete(key_of(name))
    announce(store, plan, name)
    assert record_of(store, name) == made
    assert run_by_agents(store, name, offers_of([sums()])).state == "done"


def test_a_run_that_failed_otherwise_too_does_not_go_on(store: Store) -> None:
    """A call that has failed would fail the run again."""
    flow = Workflow("w", (Task("a", "fragile", (Value(1),)), Task("b", "refuse", (Value(1),))), SERVICES)
    assert not lost_tasks(store, fail_by_death(store, flow))


def test_an_alternative_that_stepped_in_and_was_lost_is_made_again(store: Store) -> None:
    """The loss for which it has stepped in stays."""
    tasks = (
        Task("a", "fragile", (Value(1),)),
        Task("spare", "fragile", (Value(2),)),
        Task("end", "note", (Result("a"),)),
    )
    flow = Workflow("w", tasks, SERVICES, (Alternative("instead", {"a": "spare"}),))
    plan = fail_by_death(store, flow, deaths=2)
    assert lost_tasks(store, plan) == {"spare"}
    CALLS.clear()
    assert run_by_agents(store, go_on(store, plan), offers_of([flow])).state == "done"
    assert CALLS == [("r1/spare", True), ("r1/end", False)]


def test_a_run_in_which_more_has_followed_from_a_loss_does_not_go_on(store: Store) -> None:
    """What was said to other places cannot be taken back."""
    plan = fail_by_death(store, sums())
    said(store, 1, 1, Symbol("GIVE_UP"), task_symbol("b2"))
    with pytest.raises(RecordProblem) as caught:
        go_on(store, plan)
    assert caught.value.code == "R404"
