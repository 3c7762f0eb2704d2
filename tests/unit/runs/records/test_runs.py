"""Runs in a store: who has one, who may go on with it, and how it ended."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from solvent.errors import RecordProblem
from solvent.runs.records import recorded_run
from solvent.runs.records.cards import digest_of, document_of, read_card, report_of, summary_of, write_card
from solvent.runs.records.history import states_of, task_of
from solvent.runs.records.holders import Holder, is_there, this_process
from solvent.runs.records.runs import find, key_of, latest, new_run, resume
from solvent.store import Store, open_store
from solvent.workflows.model import Result, Service, Task, Value, Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.runs.records.runs import HeldRun


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a new store."""
    with open_store(str(tmp_path / "store.db"), is_durable=False) as store:
        yield store


def _add(one: Any, other: Any) -> Any:
    return one + other


def workflow(first: Any = 1, function: Any = _add) -> Workflow:
    """Give a small workflow."""
    tasks = (Task("a", "add", (Value(first), Value(2))), Task("b", "add", (Result("a"), Value(3))))
    return Workflow("Sum of two!", tasks, (Service("add", function=function),))


def opened(store: Store, made: Workflow | None = None) -> HeldRun:
    """Give a run that has begun."""
    held = new_run(store, made or workflow(), {})
    held.open()
    return held


def done(held: HeldRun, made: Workflow | None = None) -> None:
    """Run it to its end."""
    held.end(recorded_run(made or workflow(), {}, journal=held.journal, should_stop=held.is_cancelled).run())


def test_what_is_large_or_no_data_is_summed_up_too(store: Store) -> None:
    """Large results are blobs; of others there is the Python form."""
    made = workflow("x" * 100_000, lambda one, other: one if other == 2 else [one, len])
    held = opened(store, made)
    done(held, made)
    card = find(store, held.card.run)
    summary = summary_of(store, card)
    assert summary is not None
    assert report_of(card, summary).results["b"].endswith("x")
    big = workflow("x" * 100_000, lambda one, _: one)
    held = opened(store, big)
    done(held, big)
    card = find(store, held.card.run)
    assert (card.summary, len(card.summary_blob)) == (b"", 64)


def test_a_run_that_was_left_may_be_had_by_another(store: Store) -> None:
    """Not while the process that has it is there; of two that want it one gets it."""
    held = opened(store)
    with pytest.raises(RecordProblem, match="is still going on") as problem:
        resume(store, held.card)
    assert problem.value.code == "R405"
    held.leave()
    assert find(store, held.card.run).state == "stopped"
    other = resume(store, held.card)
    with pytest.raises(RecordProblem, match="is still going on"):
        resume(store, held.card)
    taken = resume(store, other.card, takes_over=True)
    taken.open()
    with pytest.raises(RecordProblem) as problem:
        done(other)
    assert problem.value.code == "R402"
    done(taken)
    assert latest(store).state == "done"


def test_a_holder_elsewhere_may_be_alive(store: Store) -> None:
    """Nobody can see whether a process of another machine is there, so somebody has to say so."""
    held = opened(store)
    card = msgspec.structs.replace(held.card, holder=Holder("another host", 1, "then"))
    store.put(key_of(card.run), write_card(card))
    with pytest.raises(RecordProblem, match="may still be going on") as problem:
        resume(store, card)
    assert "--take-over" in problem.value.hint
    assert resume(store, card, takes_over=True).card.holder == this_process()


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
    card = msgspec.structs.replace(held.card, hindrance="it cannot be", holder=None)
    store.put(key_of(card.run), write_card(card))
    with pytest.raises(RecordProblem, match="it cannot be") as problem:
        resume(store, card)
    assert problem.value.code == "R406"
    assert new_run(store, workflow(), {"x": len}).card.hindrance.startswith("its inputs are not all data")


def test_names_that_are_taken_are_made_anew(store: Store) -> None:
    """A name of ours gives way to another; one that was asked for does not."""
    first = opened(store)
    second = new_run(store, workflow(), {})
    second.card = msgspec.structs.replace(second.card, run=first.card.run)
    second.open()
    assert second.card.run != first.card.run
    assert second.journal.run == second.card.run
    third = new_run(store, workflow(), {})
    third.name(first.card.run)
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


def test_a_damaged_card_is_named() -> None:
    """Bytes that are no card raise R403."""
    with pytest.raises(RecordProblem, match="the card of the run `x` does not read") as problem:
        read_card("x", b"\x93")
    assert problem.value.code == "R403"


def test_tasks_are_found_by_their_calls(store: Store) -> None:
    """Several calls of a task have numbers; a name that ends like that is a name."""
    tasks = {"a", "b#2", "c[1]"}
    calls = {
        "a": "a",
        "a[3]": "a",
        "a#2": "a",
        "a[3]#2": "a",
        "b#2": "b#2",
        "b#2#3": "b#2",
        "c[1][0]": "c[1]",
        "z": "z",
    }
    assert {key: task_of(key, tasks) for key in calls} == calls
    held = opened(store)
    held.journal.called("a")
    held.journal.commit()
    assert states_of(store, held.card, is_alive=True) == {"a": "running", "b": "waiting"}
    assert states_of(store, held.card, is_alive=False) == {"a": "interrupted", "b": "waiting"}
