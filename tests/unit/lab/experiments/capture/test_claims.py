"""Judging what a paper says, and the table of it."""

from __future__ import annotations

import pytest

from solvent_lab.experiments.capture.claims import (
    AS_SAID,
    Claim,
    Statement,
    Verdict,
    first_step,
    judged,
    slope,
    straightness,
    within,
)
from solvent_lab.experiments.capture.tables import table_as_markdown, table_as_values

CELL: dict[str, object] = {"there": None}


def statement(verdict: Verdict, *needs: str) -> Statement:
    """Make a statement that becomes this verdict."""
    return Statement(1, 3, "says so", needs, lambda _cells: verdict)


def test_only_what_was_measured_is_judged() -> None:
    """A statement about a cell that is not there is left out."""
    claims = judged([statement(Verdict("7"), "there"), statement(Verdict("8"), "there", "missing")], CELL)
    assert [claim.measured for claim in claims] == ["7"]


def test_only_a_difference_is_explained() -> None:
    """The explanation of a difference is not given where there is none."""
    same, other = judged([statement(Verdict("7", AS_SAID, "why")), statement(Verdict("7", "more", "why"))], CELL)
    assert (same.why, other.why) == ("", "why")


@pytest.mark.parametrize("value, says", [(44, "none"), (30, "12 points less"), (50.4, "8 points more")])
def test_numbers_may_differ_a_little(value: float, says: str) -> None:
    """Within a tolerance there is no difference; beyond it, it is said with its direction."""
    assert within(value, 42, 5, "point") == says


def test_straight_lines_are_recognised() -> None:
    """Points on a line are explained by it; its slope is found."""
    assert straightness([9, 7, 5, 3]) == pytest.approx(1)
    assert straightness([9, 1, 9, 1]) < 0.5
    assert slope([1, 2, 4], [10, 20, 40]) == pytest.approx((10, 1))


def test_the_first_step_at_which_something_holds() -> None:
    """The first step from a start on is found; the last one if there is none."""
    assert first_step([5, 1, 5, 1], lambda value: value < 2) == 1
    assert first_step([5, 1, 5, 1], lambda value: value < 2, start=2) == 3
    assert first_step([5, 5], lambda value: value < 2) == 1


def test_the_table_numbers_its_explanations() -> None:
    """An explanation stands once under the table, and rows refer to it."""
    rows = [Claim(1, 3, "a|b", "1", "more", "Because."), Claim(3, 0, "c", "2", "less", "Because.")]
    rows.append(Claim(0, 3, "ours", "3", "none", ""))
    assert table_as_markdown(rows).splitlines() == [
        "| experiment | figure | paper says | we measure | difference |",
        "|---|---|---|---|---|",
        "| 1 | 3 | a\\|b | 1 | more (1) |",
        "| 3 |  | c | 2 | less (1) |",
        "| ours | 3 | ours | 3 | none |",
        "",
        "1. Because.",
    ]
    assert table_as_values(rows)[0]["difference"] == "more"
