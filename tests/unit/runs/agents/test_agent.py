"""Agents in this process: they run workflows to the right end, and nothing that others write stops them."""

from __future__ import annotations

import gc
import threading
import time
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from solvent.engine.reaction import Flight
from solvent.runs.agents import termination
from solvent.runs.agents.offers import Offers, offers_of
from solvent.runs.agents.shards import submit
from solvent.runs.calls import OpenCall
from solvent.runs.closed_shards import report_of
from solvent.runs.events import CallFailed, CallLost
from solvent.runs.journal import read_journal
from solvent.runs.projection import view_of
from solvent.runs.registry import SUBMITTED, existing, journal_of, key_of, messages_of
from solvent.runs.replay import Replay
from solvent.services import cancelled
from solvent.workflows.model import Alternative, Policy, Result, Service, Task, Value, Workflow
from tests.unit.runs.agents.flows import AgentsHere, adaptive, end_of, run_by_agents, workflow

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from solvent.runs.events import AnyEvent
    from solvent.runs.report import Report
    from solvent.store import Store


def report_at_end(store: Store, run: str, flow: Workflow) -> Report:
    """Give the report that agents have made."""
    report = report_of(store, existing(store, run), flow)
    assert report is not None
    return report


def large(*_: object) -> bytes:
    """Answer with more than a small store takes."""
    return b"x" * 300_000


def test_places_at_which_all_is_done_wait_for_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose tasks are done ends at once: nobody waits whether more comes to a place that needs no more."""
    monkeypatch.setattr(termination, "IDLE_SECONDS", 1e6)
    flow = workflow(Task("one", "add", (Value(1),)), Task("two", "add", (Result("one"), Value(1))))
    submit(store, "r1", flow, {})
    assert run_by_agents(store, "r1", many=2).state == "done"


def test_calls_that_have_ended_are_forgotten_at_once(store: Store) -> None:
    """Of calls that have ended, but for the last ones, nothing is left, though nobody has looked for garbage."""
    chain = (Task(f"t{number}", "add", (Result(f"t{number - 1}"), Value(1))) for number in range(1, 40))
    submit(store, "r1", workflow(Task("t0", "add", (Value(1),)), *chain), {})
    # Not `isinstance`: what other tests have left may say anything of its class.
    kinds = (Flight, OpenCall)
    gc.collect()
    gc.disable()
    try:
        known = {id(one) for one in gc.get_objects() if type(one) in kinds}
        assert run_by_agents(store, "r1").state == "done"
        left = [one for one in gc.get_objects() if type(one) in kinds and id(one) not in known]
        assert len(left) < 20
    finally:
        gc.enable()


def test_a_replay_of_half_a_run_tells_how_far_it_was(store: Store) -> None:
    """A run whose agent had no services has done nothing, and its replay says so."""
    plan = submit(store, "r1", adaptive(), {})
    assert set(Replay(store, plan, adaptive()).run().states.values()) <= {"waiting", "unused"}


def test_nonsense_that_was_submitted_stops_nobody(store: Store) -> None:
    """Names that are none, plans that do not read, workflows that are gone: agents go on with the others."""
    for data in (b"\xff\xfe", b"../../etc", b"a b", b"unknown"):
        store.append(SUBMITTED, data)
    store.put(key_of("damaged"), b"nonsense")
    store.append(SUBMITTED, b"damaged")
    plan = submit(store, "gone", adaptive(), {})
    store.put(key_of("gone"), msgspec.msgpack.encode(replace(plan, document="0" * 64)))
    other = store.put_blob(b"{not json")
    store.put(key_of("text"), msgspec.msgpack.encode(replace(plan, run="text", document=other)))
    store.append(SUBMITTED, b"text")
    submit(store, "r1", adaptive(), {})
    with AgentsHere(store) as here:
        assert end_of(store, "r1").state == "done"
        for run in ("damaged", "gone", "text"):
            here.wait_for(f"{run} cannot be run here")


def test_a_letter_of_a_stranger_ends_its_run_only(store: Store) -> None:
    """Nonsense among the letters of a run is the end of this run, not of the agent."""
    submit(store, "bad", adaptive(), {})
    store.append(messages_of("bad"), b"nonsense")
    submit(store, "r1", adaptive(), {})
    with AgentsHere(store):
        assert end_of(store, "r1").state == "done"
        assert end_of(store, "bad").state == "failed"


def test_a_smuggled_condition_is_not_asked(store: Store) -> None:
    """A submitted workflow that names a function of its own to judge results is not run."""
    tasks = (Task("one", "add", (Value(1),)), Task("two", "add", (Value(2),)))
    alternative = Alternative("a", {"one": "two"}, on=("condition",), predicate="os:abort")
    submit(store, "evil", workflow(*tasks, alternatives=(alternative,)), {})
    with AgentsHere(store) as here:
        here.wait_for("evil cannot be run here: the condition `os:abort`")


def test_a_service_that_cannot_be_called_here_is_left_to_others(store: Store) -> None:
    """An agent that trusts all and has not the module leaves the run to agents that have it."""
    flow = Workflow("w", (Task("t", "s"),), (Service("s", target="no_such_module:f"),))
    submit(store, "r1", flow, {})
    with AgentsHere(store, Offers({}, trusts_all=True)) as here:
        here.wait_for("r1 cannot be run here")
        assert store.get(key_of("r1", "end")) is None


def test_a_result_that_the_store_does_not_take_fails_its_task(tmp_path: Path) -> None:
    """What is larger than the store allows is the failure of one call, and not called again for ever."""
    from solvent.store import open_store

    flow = Workflow("w", (Task("t", "large"), Task("u", "large", after=("t",))), (Service("large", function=large),))
    with open_store(str(tmp_path / "small.db"), is_durable=False, max_blob_bytes=200_000) as store:
        submit(store, "r1", flow, {})
        assert run_by_agents(store, "r1", offers_of([flow])).state == "failed"
        report = report_at_end(store, "r1", flow)
    assert (report.states["t"], report.calls["t"]) == ("failed", 1)
    assert "200,000" in report.failures[0].cause


def test_many_results_at_once_fit_into_the_store(tmp_path: Path) -> None:
    """Results that are each small, and together more than a record may have, are kept all the same."""
    from solvent.store import open_store

    tasks = [Task(f"T{one}", "text", (Value("x" * 9_000),)) for one in range(12)]
    flow = Workflow("w", (*tasks, Task("all", "text", tuple(Result(one.name) for one in tasks))), (TEXT,))
    with open_store(str(tmp_path / "small.db"), is_durable=False, max_record_bytes=40_000) as store:
        submit(store, "r1", flow, {}, max_shards=2)
        assert run_by_agents(store, "r1", offers_of([flow])).state == "done"
        assert len(report_at_end(store, "r1", flow).results["all"]) == 12 * 9_000


def text(*words: str) -> str:
    """Join texts."""
    return "".join(words)


TEXT = Service("text", function=text)


GATE = threading.Event()


def gated() -> int:
    """Answer when the gate is open."""
    while not GATE.is_set() and not cancelled():
        time.sleep(0.01)
    return 1


def test_who_leaves_loses_no_call(store: Store) -> None:
    """Agents that are ended, again and again, while a call is out let others make it: it does not count as lost."""
    GATE.clear()
    flow = Workflow("w", (Task("t", "gated"),), (Service("gated", function=gated),))
    plan = submit(store, "r1", flow, {})
    for times in range(1, 5):
        with AgentsHere(store, offers_of([flow])):
            until = time.monotonic() + 200
            while True:
                view = view_of(store, plan)
                assert {call.task for call in view.calls} <= {"t"}
                if len(view.out) == 1 and view.called_again.get("t", 0) == times - 1:
                    break
                assert time.monotonic() < until
                time.sleep(0.01)
    GATE.set()
    assert run_by_agents(store, "r1", offers_of([flow])).state == "done"
    assert report_at_end(store, "r1", flow).results == {"t": 1}


ATTEMPTS: list[float] = []


def failing() -> int:
    """Fail, and leave a mark."""
    ATTEMPTS.append(time.monotonic())
    raise ValueError("no")


def test_attempts_that_failed_count_when_another_agent_goes_on(store: Store) -> None:
    """An agent that leaves between two attempts leaves as many as are not made yet."""
    ATTEMPTS.clear()
    flow = Workflow(
        "w", (Task("t", "failing"),), (Service("failing", function=failing, policy=Policy(retries=2, backoff=0.4)),)
    )
    submit(store, "r1", flow, {})

    def noted() -> list[AnyEvent]:
        return [event for _, event in read_journal(store, journal_of("r1", 0))]

    with AgentsHere(store, offers_of([flow])):
        until = time.monotonic() + 200
        while not any(isinstance(event, CallFailed) for event in noted()):
            assert time.monotonic() < until
            time.sleep(0.005)
    assert run_by_agents(store, "r1", offers_of([flow])).state == "failed"
    # One that had begun already when the agent left was ended with it, and does not count.
    ended = sum(isinstance(event, CallLost) for event in noted())
    assert report_at_end(store, "r1", flow).failures[0].attempts == 3
    assert 3 <= len(ATTEMPTS) <= 3 + ended


INSIDE: list[int] = []
MOST: list[int] = []


def lonely() -> None:
    """Note how many calls of this run at once."""
    INSIDE.append(1)
    MOST.append(len(INSIDE))
    time.sleep(0.01)
    INSIDE.pop()


def test_limits_of_a_service_hold_for_all_runs_of_an_agent(store: Store) -> None:
    """Three runs of one agent call a service that allows one call at a time, and no two of them at once."""
    limited = Service("lonely", function=lonely, policy=Policy(concurrency=1))
    flow = Workflow("w", tuple(Task(f"T{one}", "lonely") for one in range(4)), (limited,))
    for run in ("r1", "r2", "r3"):
        submit(store, run, flow, {})
    with AgentsHere(store, offers_of([flow])):
        assert [end_of(store, run).state for run in ("r1", "r2", "r3")] == ["done"] * 3
    assert (len(MOST), max(MOST)) == (12, 1)
