"""The record of a run: what it costs, and what it holds of a run that was stopped."""

from __future__ import annotations

import pytest

import solvent
from solvent import hocl
from tests.growth import executed_lines


def test_what_moves_between_solutions_is_recorded_in_time_that_grows_with_it() -> None:
    """Each molecule that comes out of another solution is found without going through all others."""

    def recorded(count: int) -> int:
        some, others = (", ".join(map(str, range(first, first + count))) for first in (0, count))
        text = f"<A : <{some}>, B : <{others}>, replace-one A : <?v>, B : <?w> by C : <v, w>>"
        solution = hocl.parse(text).solution()
        return executed_lines(lambda: hocl.record(solution))

    assert recorded(500) < 10 * recorded(100)


def test_run_that_is_stopped_while_it_is_recorded() -> None:
    """The reaction has happened and is recorded, with all that it made, if not with what is inside that."""
    solution = hocl.parse("<A, replace-one A by <1^5000>, B, C>").solution()
    recorder = hocl.Recorder(solution)
    with pytest.raises(solvent.LimitReached, match="H504"):
        hocl.react(solution, observe=recorder, should_stop=lambda: bool(recorder.records))
    (record,) = recorder.records
    inside = ", ".join(["1"] * 5000)
    assert (record.before, record.after) == (["A"], [f"<{inside}>", "B", "C"])
    assert len(recorder.molecules) < 1000
    assert hocl.show(solution) == f"<B, C, <{inside}>>"
