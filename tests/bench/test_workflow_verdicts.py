"""What the workflow benchmark makes of its figures."""

from __future__ import annotations

import pytest

from bench.cell import Ending
from bench.verdicts import Verdict
from bench.workflow.cell import Cell, Mode, Question
from bench.workflow.figures import Figures
from bench.workflow.verdicts import (
    Demand,
    judge_growth,
    judge_memory,
    judge_recovery,
    judge_time,
    verdicts_on,
)

HALF_OF_PARSL = Demand("solvent", "parsl", "fan", 10_000, 0.5)


def _figures(*cells: Cell) -> Figures:
    figures = Figures(max_seconds=60.0)
    for cell in cells:
        figures.add(cell)
    return figures


def _timed(system: str, shape: str, size: int, *times: float, ending: Ending = Ending.MEASURED) -> Cell:
    return Cell(Question(system, Mode.TIME, shape, size), ending, times)


@pytest.mark.parametrize("ours, is_met", [(0.9, True), (1.0, True), (1.1, False)])
def test_half_of_the_time_is_demanded(ours: float, is_met: bool) -> None:  # noqa: FBT001 - a case of the table
    """At most half of Parsl's best time meets the demand."""
    figures = _figures(_timed("solvent", "fan", 10_000, ours + 1, ours), _timed("parsl", "fan", 10_000, 3.0, 2.0))
    assert judge_time(figures, HALF_OF_PARSL).is_met is is_met


def test_a_late_peer_counts_with_the_limit() -> None:
    """A peer that ran out of time took at least the limit."""
    late = _timed("parsl", "fan", 10_000, ending=Ending.OUT_OF_TIME)
    verdict = judge_time(_figures(_timed("solvent", "fan", 10_000, 6.0), late), HALF_OF_PARSL)
    assert (verdict.is_met, verdict.figures) == (True, "< 0.1 of it")


def test_our_own_failure_is_a_miss() -> None:
    """A demand is missed when Solvent fails, whatever the peer does."""
    failed = Cell(Question("solvent", Mode.TIME, "fan", 10_000), Ending.FAILED, note="WrongResult")
    verdict = judge_time(_figures(failed, _timed("parsl", "fan", 10_000, 2.0)), HALF_OF_PARSL)
    assert (verdict.is_met, verdict.figures) == (False, "failed WrongResult")


def test_growth_leaves_out_small_and_huge_graphs() -> None:
    """The exponent is taken from 100 to 10,000 tasks."""
    times = [(10, 9.0), (100, 0.1), (10_000, 100.0), (100_000, 100.0)]
    figures = _figures(*(_timed("solvent", "layers", size, seconds) for size, seconds in times))
    verdict = judge_growth(figures, "solvent", "layers")
    assert (verdict.is_met, verdict.figures) == (False, "1.500")


def test_memory_and_recovery_are_compared_with_parsl() -> None:
    """Less memory and a shorter way out of a failure meet their demands."""
    figures = _figures(
        Cell(Question("solvent", Mode.MEMORY, "fan", 10_000), Ending.MEASURED, (1.0,), peak_bytes=50 << 20),
        Cell(Question("parsl", Mode.MEMORY, "fan", 10_000), Ending.MEASURED, (1.0,), peak_bytes=60 << 20),
        Cell(Question("solvent", Mode.FAILURE, "-", 200), Ending.MEASURED, (0.001, 0.001, 0.009)),
        Cell(Question("parsl", Mode.FAILURE, "-", 200), Ending.MEASURED, (0.002,)),
    )
    assert [judge_memory(figures, "solvent", "parsl", "fan").figures, judge_recovery(figures, "solvent", "parsl")] == [
        "50 MiB, theirs 60",
        Verdict(
            "failure to the alternative's result: Solvent, threads, less than by hand in Parsl, threads",
            is_met=True,
            figures="median 1 ms, theirs 2",
        ),
    ]


def test_nothing_measured_decides_nothing() -> None:
    """Without cells every demand is open."""
    assert {verdict.is_met for verdict in verdicts_on(_figures())} == {None}
