"""Runs of agents are continued as further versions, and updated while they go on, over stores of every kind."""

from __future__ import annotations

import threading
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

import solvent
from solvent import signal_value, workflow
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.closed_shards import report_of
from solvent.runs.continuation import held_still, next_version
from solvent.runs.projection import CallChanged, TaskChanged
from solvent.runs.recorded_run import new_run, resume
from solvent.runs.registry import existing, journal_of, messages_of
from solvent.runs.run_handle import Run
from solvent.runs.versions import apply, plan_update, tasks_from
from solvent.services.current_call import call, cancelled
from solvent.workflows.model import Each, Result, Service, Task, Value, Workflow
from tests.unit.runs.agents.flows import AgentsHere, end_of
from tests.unit.runs.agents.test_both_forms import mixed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.runs.projection import Change
    from solvent.runs.report import Report, TaskEvent
    from solvent.store import Store


class Gate:
    """What calls wait for, and which were made: number, name of the service, and key."""

    def __init__(self) -> None:
        self.is_open = threading.Event()
        self.begun: list[tuple[str, int, str]] = []
        self.ended: list[tuple[str, int]] = []

    def wait(self, name: str, number: int) -> int:
        """Return a number when the gate is open."""
        known = call()
        assert known is not None
        self.begun.append((name, number, known.key))
        while not self.is_open.wait(0.01) and not cancelled():
            pass
        if not cancelled():
            self.ended.append((name, number))
        return number


GATES: list[Gate] = []


@pytest.fixture
def gate() -> Iterator[Gate]:
    """Give the gate of this test; it is open in the end."""
    GATES.append(Gate())
    yield GATES[-1]
    GATES[-1].is_open.set()


def hold(number: int) -> int:
    """Return a number when the gate of the test is open."""
    return GATES[-1].wait("hold", number)


def other(number: int) -> int:
    """Do so by other code."""
    return GATES[-1].wait("other", number)


def gated(items: list[int], *tasks: Task, service: str = "hold") -> Workflow:
    """Return a workflow of calls that wait for the gate; then they are added up."""
    many = Task("many", "hold", (Value(items),), each=Each("dot", (0,)))
    last = Task("last", "add", (Result("many"), Result("one")))
    services = (Service("hold", function=hold), Service("other", function=other), Service("add", function=total))
    return Workflow("gated", (many, Task("one", service, (Value(7),)), last, *tasks), services)


def total(numbers: list[int], more: int) -> int:
    """Add numbers."""
    return sum(numbers) + more


def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + 100
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_calls_that_are_out_go_on_in_the_new_version(store: Store, gate: Gate) -> None:
    """An update does not wait for them; what is unchanged is not made again, wherever it is, and the rest is ended."""
    run = "adopts"
    more = Task("more", "add", (Result("many"), Result("last")))
    before, after = gated([1, 2, 3, 4]), gated([9, 4, 3, 2, 1], more, service="other")
    submit(store, run, before, None, max_shards=3)
    # All are out at once: with fewer threads, an agent may accept a call for which it has none left.
    with AgentsHere(store, offers_of([before]), many=3, jobs=3):
        until(lambda: len(gate.begun) == 5)
        _, update = next_version(store, existing(store, run), after)
        assert (update.kept, update.again, update.new, update.gone) == (4, 1, 2, 0)
        until(lambda: len(gate.begun) == 7)
        _, update = next_version(store, existing(store, run), gated([4, 9, 1, 2, 3], more, service="other"))
        assert (update.kept, update.again, update.new, update.gone) == (6, 0, 0, 0)
        assert gate.ended == []
        gate.is_open.set()
        end_of(store, run)
    found = report_of(store, existing(store, run), after)
    assert found is not None
    assert found.results == {"more": 19 + 26}
    assert sorted(one[:2] for one in gate.begun) == [
        ("hold", 1), ("hold", 2), ("hold", 3), ("hold", 4), ("hold", 7), ("hold", 9), ("other", 7),
    ]  # fmt: skip
    assert sorted(gate.ended) == sorted({one[:2] for one in gate.begun} - {("hold", 7)})
    assert len({key for *_, key in gate.begun}) == 6


def test_calls_of_one_process_go_on_in_the_new_version(store: Store, gate: Gate) -> None:
    """The process that has the run goes on with the new version, and makes again only what has changed."""
    run = "alone"
    more = Task("more", "add", (Result("many"), Result("last")))
    before, after = gated([1, 2, 3, 4]), gated([9, 4, 3, 2, 1], more, service="other")
    held = new_run(store, before)
    held.name(run)
    events: list[TaskEvent] = []
    embedded = held.embed(before, None, jobs=8, watch=events.append)
    held.open()
    reports: list[Report] = []
    thread = threading.Thread(target=lambda: reports.append(held.execute(embedded)), daemon=True)
    thread.start()
    until(lambda: len(gate.begun) == 5)
    _, update = next_version(store, existing(store, run), after)
    assert (update.kept, update.again, update.new, update.gone) == (4, 1, 2, 0)
    until(lambda: len(gate.begun) == 7)
    _, update = next_version(store, existing(store, run), gated([4, 9, 1, 2, 3], more, service="other"))
    assert (update.kept, update.again, update.new, update.gone) == (6, 0, 0, 0)
    assert gate.ended == []
    gate.is_open.set()
    thread.join(100)
    assert [(one.results, one.succeeded) for one in reports] == [({"more": 19 + 26}, True)]
    found = report_of(store, existing(store, run), after)
    assert found is not None
    assert found.results == {"more": 19 + 26}
    assert sorted(gate.ended) == sorted({one[:2] for one in gate.begun} - {("hold", 7)})
    assert len(gate.begun) == 7
    # Its time goes on as well.
    assert [one.seconds for one in events] == sorted(one.seconds for one in events)


@pytest.mark.parametrize("is_decided", [False, True])
def test_a_run_that_is_held_still_stops_after_the_decision(store: Store, gate: Gate, *, is_decided: bool) -> None:
    """What comes of its calls meanwhile is kept for the version that counts, so none of them is made again."""
    run, must_stop = f"stops-{is_decided}", threading.Event()
    before = gated([1, 2])
    after = gated([2, 1], Task("more", "add", (Result("many"), Result("last"))))
    held = new_run(store, before)
    held.name(run)
    embedded = held.embed(before, None, jobs=8, should_stop=must_stop.is_set)
    held.open()
    reports: list[Report] = []
    thread = threading.Thread(target=lambda: reports.append(held.execute(embedded)), daemon=True)
    thread.start()
    until(lambda: len(gate.begun) == 3)
    with held_still(store, existing(store, run)) as (record, hosts):
        journal = journal_of(record.prefix)
        noted = store.last(journal)
        must_stop.set()
        gate.is_open.set()
        until(lambda: len(gate.ended) == 3)
        update = plan_update(store, record, after, hosts=hosts)
        assert store.last(journal) == noted
        if is_decided:
            apply(store, update)
    thread.join(100)
    assert [one.succeeded for one in reports] == [False]
    again = resume(store, existing(store, run))
    report = again.execute(again.embed(after if is_decided else before, None))
    assert report.results == ({"more": 13} if is_decided else {"last": 10})
    assert len(gate.begun) == 3


@pytest.mark.parametrize("by_agents", [False, True])
def test_whoever_follows_a_run_follows_its_versions(store: Store, gate: Gate, *, by_agents: bool) -> None:
    """What happens is told once, in whichever version, and the follower sees the end of the last one."""
    run, more = f"followed-{by_agents}", Task("more", "add", (Result("many"), Result("last")))
    before, after = gated([1, 2]), gated([1, 2], more)
    changes: list[Change] = []
    with executed(store, run, before, by_agents=by_agents):
        until(lambda: len(gate.begun) == 3)
        follower = threading.Thread(target=lambda: changes.extend(Run(store, run).events(100)))
        follower.start()
        next_version(store, existing(store, run), after)
        next_version(store, existing(store, run), after, since="last")
        gate.is_open.set()
        follower.join(100)
    calls = Counter((one.call.call, one.what) for one in changes if isinstance(one, CallChanged))
    expected = {(call, what) for call in ("many[0]", "many[1]", "one", "last", "more") for what in ("called", "done")}
    assert calls == Counter(expected)
    states = {one.task: one.state for one in changes if isinstance(one, TaskChanged)}
    assert states == dict.fromkeys(("many", "one", "last", "more"), "done")
    assert changes[-1][1:] == ("done", "")


@contextmanager
def executed(store: Store, run: str, flow: Workflow, *, by_agents: bool) -> Iterator[None]:
    """Execute a workflow, by agents or in one process, until the context ends."""
    if by_agents:
        submit(store, run, flow, None, max_shards=2)
        with AgentsHere(store, offers_of([flow]), many=2, jobs=3):
            yield
        return
    held = new_run(store, flow)
    held.name(run)
    embedded = held.embed(flow, None, jobs=8)
    held.open()
    thread = threading.Thread(target=held.execute, args=(embedded,))
    thread.start()
    yield
    thread.join(100)


@workflow
def approval() -> Any:
    """Wait for people."""
    return signal_value("approved")


@workflow(deadline="2h")
def changed_approval() -> Any:
    """Wait for people, not for long."""
    return signal_value("approved")


@pytest.mark.parametrize("agents", [None, 1])
@pytest.mark.parametrize("is_decided", [False, True])
def test_a_signal_that_is_sent_during_an_update_is_heard(store: Store, agents: int | None, *, is_decided: bool) -> None:
    """Who updates the run has read the messages by then; the sender waits until it is known which version counts."""
    run = solvent.submit(approval, store=store.url, agents=agents, name=f"hears-{agents}-{is_decided}")
    with run:
        until(lambda: run.state == "waiting")
        with held_still(store, existing(store, run.name)) as (record, hosts):
            update = plan_update(store, record, changed_approval.definition(), hosts=hosts)
            said = messages_of(record.prefix)
            before = store.last(said)
            sender = threading.Thread(target=run.signal, args=("approved", 5))
            sender.start()
            until(lambda: store.last(said) > before)
            if is_decided:
                apply(store, update)
        sender.join(100)
        assert run.wait(100).value == 5
        assert existing(store, run.name).version == 1 + is_decided


@pytest.mark.parametrize("seed", range(2))
def test_a_run_of_several_shards_is_done_again_from_a_task_on(store: Store, seed: int) -> None:
    """Messages between shards are as they were for what is kept; agents that saw it end go on with it."""
    workflow, run = mixed(seed), f"again{seed}"
    record = submit(store, run, workflow, None, max_shards=5)
    with AgentsHere(store, offers_of([workflow]), many=2):
        end_of(store, run)
        was = report_of(store, record, workflow)
        again = tasks_from(workflow, "t6")
        update = plan_update(store, existing(store, run), workflow, reopened=again)
        apply(store, update)
        end_of(store, run)
    found = report_of(store, existing(store, run), workflow)
    assert was is not None
    assert found is not None
    assert (found.results, found.states) == (was.results, was.states)
    assert (update.kept > 0, update.again > 0, update.new, update.gone) == (True, True, 0, 0)


def test_a_run_that_is_held_still_and_updated_again_and_again_ends_as_it_would(store: Store) -> None:
    """Whatever it was doing when it was stopped: what was answered is kept, and the results are the same."""
    workflow, run = mixed(3), "often"
    submit(store, run, workflow, None, max_shards=5)
    updates, is_over = 0, threading.Event()
    with AgentsHere(store, offers_of([workflow]), many=2):
        while not is_over.is_set():
            record = existing(store, run)
            if record.has_ended or updates == 5:
                is_over.set()
                continue
            with held_still(store, record) as (held, hosts):
                update = plan_update(store, held, workflow, hosts=hosts)
                assert not update.is_changed
                apply(store, update)
            updates += 1
        end_of(store, run)
    assert updates
    plain = f"{run}-plain"
    submit(store, plain, workflow, None, max_shards=5)
    with AgentsHere(store, offers_of([workflow]), many=1):
        end_of(store, plain)
    reports = [report_of(store, existing(store, one), workflow) for one in (run, plain)]
    assert all(reports)
    assert len({str(one.results) for one in reports if one is not None}) == 1
