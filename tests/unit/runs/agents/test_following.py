"""What happens in a run of agents, as events."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from solvent.errors import RecordProblem
from solvent.runs.agents.following import Following
from solvent.runs.agents.plans import log_at
from solvent.runs.records import entries
from solvent.runs.records.entries import Answered, Called, Entry, Failure, Opened, Withdrawn
from solvent.runs.report import Event
from tests.unit.runs.agents.flows import adaptive

if TYPE_CHECKING:
    from solvent.store import Store


def noted(store: Store, place: int, *some: Entry) -> None:
    """Write a record of a place's journal."""
    store.append(log_at("r1", place), entries.write(list(some)))


def test_calls_and_answers_are_events(store: Store) -> None:
    """What agents note becomes what a run in one process tells, with seconds since it was submitted."""
    following = Following(store, "r1", adaptive(), began=100.0)
    noted(store, 0, Opened("a1", 100.5), Called("one", 101.0))
    assert list(following.news()) == [Event("started", "one", 1.0)]
    assert following.out == {"one": (0, 101.0)}
    noted(store, 0, Answered("one", 103.0, 1))
    noted(store, 1, Called("two", 104.0), Answered("two", 105.0, 1, failure=Failure("FAILED", "no")))
    assert list(following.news()) == [
        Event("done", "one", 3.0),
        Event("started", "two", 4.0),
        Event("failed", "two", 5.0, "no"),
    ]
    assert (following.out, following.ends) == ({}, {"one": "done", "two": "failed"})
    assert list(following.news()) == []


def test_an_alternative_is_told_when_its_tasks_begin(store: Store) -> None:
    """Nobody notes that an alternative applies; its first call shows it, once."""
    following = Following(store, "r1", adaptive(), began=0.0)
    noted(store, 0, Called("two", 1.0), Answered("two", 2.0, 1, failure=Failure("FAILED", "no")), Called("spare", 3.0))
    assert list(following.news())[2:] == [Event("adapted", "two", 3.0, "instead"), Event("started", "spare", 3.0)]


def test_a_call_that_is_made_again_begins_once(store: Store) -> None:
    """A call whose agent died, or has left, and that another makes, is one call to who watches."""
    following = Following(store, "r1", adaptive(), began=0.0)
    noted(store, 0, Called("one", 1.0))
    noted(store, 0, Opened("a2", 2.0), Called("one", 2.0), Withdrawn("one", 3.0))
    assert list(following.news()) == [Event("started", "one", 1.0)]
    assert (following.out, following.again.total()) == ({}, 1)
    noted(store, 0, Opened("a3", 4.0), Called("one", 4.0), Answered("one", 5.0, 1))
    assert list(following.news()) == [Event("done", "one", 5.0)]
    assert following.again.total() == 2
    assert following.had == {0: ["a2", "a3"]}


def test_calls_of_a_list_are_their_task(store: Store) -> None:
    """The calls of one task have a number; the task is the same."""
    following = Following(store, "r1", adaptive(), began=0.0)
    noted(store, 0, Called("one[0]", 1.0), Called("one[1]#2", 1.0))
    assert [event.task for event in following.news()] == ["one", "one"]


def test_nonsense_in_a_journal_says_so(store: Store) -> None:
    """A record that is none is named."""
    store.append(log_at("r1", 0), b"nonsense")
    with pytest.raises(RecordProblem, match="runs/r1/at/0"):
        list(Following(store, "r1", adaptive(), 0.0).news())
