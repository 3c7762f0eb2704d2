"""Runs in a store: who has one, who may go on with it, and how it ended."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from solvent.errors import RecordProblem
from solvent.runs.agents.membership import see_agents
from solvent.runs.closed_shards import closed_shards, report_of
from solvent.runs.embedded import EmbeddedRun
from solvent.runs.events import CallStarted
from solvent.runs.holders import Holder, holder_of, is_left, is_there, status_of, this_process
from solvent.runs.projection import view_of
from solvent.runs.recorded_run import new_run, resume
from solvent.runs.registry import create, digest_of, document_of, end, find, key_of, latest, new_record
from solvent.store.leases import AGENTS, Lease
from solvent.values.encoding import encode_msgpack
from solvent.workflows.model import Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from solvent.runs.recorded_run import RecordedRun
    from solvent.runs.registry import RunRecord
    from solvent.store import Store


def _add(one: Any, other: Any) -> Any:
    return one + other


def workflow(first: Any = 1, function: Any = _add) -> Workflow:
    """Give a small workflow."""
    tasks = (Task("a", "add", (Value(first), Value(2))), Task("b", "add", (Result("a"), Value(3))))
    return Workflow("Sum of two!", tasks, (Service("add", function=function),))


def opened(store: Store, made: Workflow | None = None) -> RecordedRun:
    """Give a run that has begun."""
    held = new_run(store, made or workflow(), {})
    held.open()
    return held


def done(held: RecordedRun, made: Workflow | None = None) -> None:
    """Run it to its end."""
    held.end(EmbeddedRun(made or workflow(), {}, journal=held.journal, should_stop=held.should_stop).run())


def had_by(store: Store, process: Holder) -> RunRecord:
    """Give a run that another process has."""
    held = opened(store)
    held.leave()
    assert Lease(store, key_of(held.record.run, "lease", 0), "another").take() is not None
    store.put(AGENTS + "another", encode_msgpack({"process": msgspec.to_builtins(process)}))
    return held.record


def test_what_is_large_is_summed_up_too(store: Store) -> None:
    """Large results are blobs."""
    big = workflow("x" * 100_000, lambda one, _: one)
    held = opened(store, big)
    done(held, big)
    record = find(store, held.record.run)
    closed = closed_shards(store, record)
    assert closed is not None
    assert (closed[0].results["b"].data, len(closed[0].results["b"].blob)) == (b"", 64)
    report = report_of(store, record, None)
    assert report is not None
    assert report.results == {"b": "x" * 100_000}


def test_a_run_that_was_left_may_be_had_by_another(store: Store) -> None:
    """Not while the process that has it is there; of two that want it one gets it."""
    held = opened(store)
    with pytest.raises(RecordProblem, match="is still going on") as problem:
        resume(store, held.record)
    assert problem.value.code == "R405"
    held.leave()
    assert status_of(store, held.record) == "stopped"
    other, late = resume(store, held.record), resume(store, held.record)
    other.open()
    with pytest.raises(RecordProblem) as problem:
        late.open()
    assert problem.value.code == "R402"
    late.leave()
    with pytest.raises(RecordProblem, match="is still going on"):
        resume(store, held.record)
    taken = resume(store, other.record, takes_over=True)
    taken.open()
    with pytest.raises(RecordProblem) as problem:
        done(other)
    assert problem.value.code == "R402"
    other.leave()
    done(taken)
    assert latest(store).state == "done"


def test_a_run_whose_process_has_just_made_it_is_running(store: Store) -> None:
    """Nobody takes it for stopped before that process has come to its lease; one that died there is stopped."""
    record = new_record(store, "fresh", workflow())
    create(store, record)
    assert (status_of(store, record), is_left(store, record)) == ("running", False)
    old = msgspec.structs.replace(record, created=record.created - 60.0)
    assert (status_of(store, old), is_left(store, old)) == ("stopped", True)


def test_a_holder_elsewhere_may_be_alive(store: Store) -> None:
    """Nobody can see whether a process of another machine is there, so somebody has to say so."""
    record = had_by(store, Holder("another host", 1, "then"))
    with pytest.raises(RecordProblem, match="may still be going on") as problem:
        resume(store, record)
    assert "--take-over" in problem.value.hint
    taken = resume(store, record, takes_over=True)
    taken.open()
    assert holder_of(store, record) == this_process()
    taken.leave()


def test_a_process_that_has_its_own_run_is_not_among_the_agents(store: Store) -> None:
    """It takes no other run, so nobody who looks for agents finds it; when it has left nothing of it stays."""
    held = opened(store)
    assert (see_agents(store, patience=0.0), len(store.keys(AGENTS))) == ([], 1)
    held.leave()
    assert store.keys(AGENTS) == {}


def test_a_run_that_was_ended_meanwhile_is_not_continued(store: Store) -> None:
    """Whoever wanted to continue it is refused, and has not left a trace."""
    held = opened(store)
    held.leave()
    other = resume(store, held.record)
    end(store, held.record.run, "cancelled")
    with pytest.raises(RecordProblem, match="or has ended it") as problem:
        other.open()
    assert (problem.value.code, store.keys(AGENTS)) == ("R402", {})
    assert find(store, held.record.run).state == "cancelled"


def test_processes_are_known_by_when_they_started() -> None:
    """A number that was used again is not the same process; one that ended is not there, also before it is reaped."""
    me = this_process()
    assert (me.process, is_there(me)) == (os.getpid(), True)
    assert is_there(Holder(me.host, me.process, "another time")) is False
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    started = Holder(me.host, child.pid, me.started)
    assert is_there(started) is False
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert is_there(started) is False
    child.communicate()


def test_resources_are_not_resumed(store: Store) -> None:
    """What tasks change in place is not recorded, and the card says so from the beginning."""
    held = opened(store)
    held.leave()
    record = msgspec.structs.replace(held.record, hindrance="it cannot be")
    store.put(key_of(record.run), encode_msgpack(record))
    with pytest.raises(RecordProblem, match="it cannot be") as problem:
        resume(store, record)
    assert problem.value.code == "R406"
    assert new_run(store, workflow(), {"x": len}).record.hindrance.startswith("its inputs are not all data")


def test_names_that_are_taken_are_made_anew(store: Store) -> None:
    """A name of ours gives way to another; one that was asked for does not."""
    first = opened(store)
    second = new_run(store, workflow(), {})
    second.record = msgspec.structs.replace(second.record, run=first.record.run)
    second.open()
    assert second.record.run != first.record.run
    assert second.journal.run == second.record.run
    third = new_run(store, workflow(), {})
    third.name(first.record.run)
    with pytest.raises(RecordProblem, match="already"):
        third.open()


def test_digests_tell_workflows_apart() -> None:
    """By all that can be said of them; functions are the same by name, and objects by their kind."""
    assert digest_of(workflow()) == digest_of(workflow())
    assert digest_of(workflow()) != digest_of(workflow(2))
    assert digest_of(workflow(function=max)) != digest_of(workflow(function=min))
    assert digest_of(workflow(object())) == digest_of(workflow(object()))
    assert digest_of(workflow({"b", "a"})) == digest_of(workflow({"a", "b"}))
    assert document_of(workflow(object())) == ""
    assert '"tasks"' in document_of(workflow(function=max))


def test_a_run_whose_process_is_gone_is_interrupted(store: Store) -> None:
    """Calls without an answer run as long as the process that made them is there."""
    held = opened(store)
    held.journal.note(CallStarted("a", "a", held.record.created))
    held.journal.commit()
    assert view_of(store, held.record).states == {"a": "running", "b": "waiting"}
    held.leave()
    gone = had_by(store, Holder(this_process().host, os.getpid(), "another time"))
    assert status_of(store, gone) == "interrupted"
    taken = resume(store, gone)
    taken.open()
    assert (status_of(store, gone), store.get(AGENTS + "another")) == ("running", None)
    taken.leave()
