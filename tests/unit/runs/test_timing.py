"""When the calls of a run began and ended."""

from __future__ import annotations

from solvent.runs.records.history import Happening
from solvent.runs.records.timing import Span, timeline_of, times_of

TOLD = [
    Happening(100.0, "opened", "host:1"),
    Happening(100.5, "called", "a", "a"),
    Happening(101.0, "retried", "a", "a"),
    Happening(101.5, "failed", "a", "a", "exit code 3", 2),
    Happening(102.0, "called", "b", "b"),
    Happening(103.0, "called", "b", "b", is_again=True),
    Happening(103.5, "signal", "go"),
    Happening(104.0, "done", "b", "b", attempts=1),
    Happening(104.0, "ended", "done"),
]


def test_calls_with_their_attempts_and_ends() -> None:
    """Times are seconds from the beginning; a call that is made again was interrupted before."""
    assert times_of(TOLD, 100.0).spans == [
        Span("a", "a", 0.5, 1.5, "failed", [1.0], 2, "exit code 3"),
        Span("b", "b", 2.0, 3.0, "interrupted"),
        Span("b", "b", 3.0, 4.0, "done"),
    ]


def test_what_still_runs_reaches_to_the_end() -> None:
    """A call without an answer has no end, and its bar goes on to the last moment."""
    times = times_of(TOLD[:5], 100.0)
    assert times.spans[-1].ended is None
    assert timeline_of("run", times, ["a", "b"], {}, []).rows[-1].bars[0].ended == times.seconds


def test_what_is_said_of_a_task() -> None:
    """A row says how long a task took, in how many calls and attempts, and why it failed."""
    rows = timeline_of("run", times_of(TOLD, 100.0), ["a", "b", "c"], {"a": "replaced"}, []).rows
    assert [row.note for row in rows] == ["replaced, 1 s, 2 attempts: exit code 3", "2 s, 2 calls"]


def test_alternatives_and_signals_are_moments() -> None:
    """They stand in the order in which they came; tasks that were never called are counted."""
    adapted = {"alternative": "off", "because": "a", "cause": "FAILED", "replaced": ["a"], "seconds": 1.5}
    drawn = timeline_of("run", times_of(TOLD, 100.0), ["a", "b", "c"], {}, [adapted])
    assert [one.text for one in drawn.moments] == ["off: instead of a, because of a", "signal go"]
    assert drawn.title == "run; 1 of 3 tasks were not called"
