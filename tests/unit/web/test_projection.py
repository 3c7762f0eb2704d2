"""What has happened in a run, as viewers hear of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st

from solvent.runs.records.entries import Answered, Called, Ended, Failure, Opened, Retried, Withdrawn
from solvent.web.projection import RunProjection
from tests.unit.runs.agents.flows import adaptive

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.runs.records import entries

NAMES = ("one", "two", "spare", "sum")
BROKEN = Answered("two", 12.0, 1, failure=Failure("FAILED", "ValueError: no such column"))


def projection(*noted: entries.Any) -> RunProjection:
    """Take entries of a run that began at 10."""
    found = RunProjection(NAMES, adaptive(), 10.0)
    for entry in noted:
        found.take(entry)
    return found


def test_tasks_of_alternatives_are_asleep_at_first() -> None:
    """Before anything happens, a task that stands by is asleep and all others wait."""
    assert projection().states == ["waiting", "waiting", "asleep", "waiting"]


def test_a_call_runs_until_it_is_answered() -> None:
    """A task runs from its call to its answer, and times count from the run's beginning."""
    found = projection(Called("one", 10.5))
    assert found.states[0] == "running"
    found.take(Answered("one", 11.0, 2))
    assert found.states[0] == "done"
    call = found.calls[0]
    assert (call.began, call.ended, call.state, call.attempts) == (0.5, 1.0, "done", 2)


def test_the_first_call_of_an_alternative_tells_that_it_applies() -> None:
    """When a task that stood by is called, what it stands in for is replaced, because of what has failed."""
    found = projection(Called("two", 11.0), BROKEN)
    assert found.states[1:3] == ["failed", "asleep"]
    told = found.take(Called("spare", 12.5))
    assert told[0] == {
        "e": "adapt", "at": 2.5, "name": "instead", "because": 1, "replaced": [1], "woken": [2], "exits": [(1, 2)],
    }  # fmt: skip
    assert found.states[1:3] == ["replaced", "running"]


def test_what_was_replaced_stays_so() -> None:
    """An answer that comes when its task was given up changes the call and not the task."""
    found = projection(
        Called("two", 11.0), BROKEN, Called("two#2", 12.2), Called("spare", 12.5), Answered("two#2", 13.0, 1)
    )
    assert found.states[1] == "replaced"
    assert [call.state for call in found.calls] == ["failed", "done", "running"]


def test_a_task_of_several_calls_is_done_with_the_last() -> None:
    """A task runs while one of its calls is out, and has failed when one of them has."""
    found = projection(Called("one[0]", 11.0), Called("one[1]", 11.0), Answered("one[0]", 12.0, 1))
    assert found.states[0] == "running"
    found.take(Answered("one[1]", 12.0, 1, failure=Failure("TIMEOUT", "after 1 s")))
    assert (found.states[0], found.calls[1].text) == ("failed", "TIMEOUT: after 1 s")


def test_further_attempts_are_kept_with_their_call() -> None:
    """When a call was tried again is known, and how often."""
    found = projection(Called("one", 11.0), Retried("one", 11.5), Retried("one", 12.0))
    assert (found.calls[0].tries, found.calls[0].attempts) == ([1.5, 2.0], 3)


def test_calls_of_a_process_that_is_gone_are_interrupted() -> None:
    """Who opens a journal anew knows that the calls before have nobody who waits for them."""
    found = projection(Opened("first", 10.0), Called("one", 11.0), Opened("second", 20.0))
    assert (found.states[0], found.calls[0].state, found.calls[0].ended) == ("waiting", "interrupted", 10.0)
    assert [one["who"] for one in found.openings] == ["first", "second"]


def test_a_call_that_was_given_back_waits_again() -> None:
    """A call that its agent has ended in order to leave is not counted as failed."""
    found = projection(Called("one", 11.0), Withdrawn("one", 12.0))
    assert (found.states[0], found.calls[0].state) == ("waiting", "withdrawn")


def test_the_end_says_what_calls_do_not() -> None:
    """At the end, states are what the run came to, and alternatives that applied without a call are told of."""
    found = projection(Called("two", 11.0), BROKEN, Ended("failed", 13.0))
    told = found.finish({"one": "done", "two": "replaced", "spare": "waiting"}, ["instead"], ["sum waits"])
    assert [one["e"] for one in told] == ["adapt", "task", "task", "task", "stuck"]
    assert found.states == ["done", "replaced", "waiting", "waiting"]


def test_entries_of_unknown_tasks_are_left_out() -> None:
    """A journal that does not fit the workflow breaks nothing."""
    assert projection().take(Called("nobody", 11.0)) == []
    assert projection().take(Answered("nobody", 11.0, 1)) == []


KEYS = st.sampled_from(["one", "two", "spare", "sum", "one#2", "two[3]", "other"])
TIMES = st.floats(5, 50)
ENTRIES = st.one_of(
    st.builds(Called, KEYS, TIMES),
    st.builds(Retried, KEYS, TIMES),
    st.builds(Withdrawn, KEYS, TIMES),
    st.builds(Answered, KEYS, TIMES, st.integers(0, 3)),
    st.builds(lambda key, at: Answered(key, at, 1, failure=Failure("FAILED", "x")), KEYS, TIMES),
    st.builds(Opened, st.sampled_from(["a", "b"]), TIMES),
)


@given(st.lists(ENTRIES, max_size=30), st.integers(0, 30))
def test_a_snapshot_and_what_follows_is_all(noted: Sequence[entries.Any], cut: int) -> None:
    """Whoever has a snapshot, and then each message, knows what the last snapshot says."""
    found = RunProjection(NAMES, adaptive(), 10.0)
    for entry in noted[:cut]:
        found.take(entry)
    viewer = _Viewer(found.snapshot())
    for entry in noted[cut:]:
        for message in found.take(entry):
            viewer.take(message)
    after = found.snapshot()
    assert (viewer.states, viewer.calls, viewer.adaptations) == (after["states"], after["calls"], after["adaptations"])


class _Viewer:
    """Does what the page does with messages."""

    def __init__(self, snapshot: dict[str, Any]) -> None:
        self.states = list(snapshot["states"])
        self.calls = list(snapshot["calls"])
        self.adaptations = list(snapshot["adaptations"])

    def take(self, message: dict[str, Any]) -> None:
        if message["e"] == "task":
            self.states[message["t"]] = message["s"]
        elif message["e"] == "call":
            self.calls[message["n"] : message["n"] + 1] = [message]
        elif message["e"] == "adapt":
            self.adaptations.append(message)
