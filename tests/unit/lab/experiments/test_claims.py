"""Judging what a paper says, the table of it, and how sure a mean over runs is."""

from __future__ import annotations

import pytest

from solvent_lab.experiments.claims import (
    AS_SAID,
    Claim,
    Statement,
    Verdict,
    claims_table,
    estimate,
    judged,
    within,
)

CELL: dict[str, object] = {"there": None}


def statement(verdict: Verdict, *needs: str) -> Statement:
    """Make a statement that becomes this verdict."""
    return Statement((1, 3), "says so", needs, lambda _cells: verdict)


def test_only_what_was_measured_is_judged() -> None:
    """A statement about a cell that is not there is left out."""
    claims = judged([statement(Verdict("7"), "there"), statement(Verdict("8"), "there", "missing")], CELL)
    assert [claim.measured for claim in claims] == ["7"]


def test_only_a_difference_is_explained() -> None:
    """The explanation of a difference is not given where there is none, nor where it was not found."""
    said = [statement(Verdict("7", AS_SAID, "why")), statement(Verdict("7", "more", "why"))]
    assert [claim.why for claim in judged(said, CELL)] == ["", "why"]
    assert [claim.why for claim in judged(said, CELL, explains=False)] == ["", ""]


@pytest.mark.parametrize("value, says", [(44, "none"), (30, "12 points less"), (50.4, "8 points more")])
def test_numbers_may_differ_a_little(value: float, says: str) -> None:
    """Within a tolerance there is no difference; beyond it, it is said with its direction."""
    assert within(value, 42, 5, "point") == says


def test_the_table_numbers_its_explanations() -> None:
    """An explanation stands once under the table, and rows refer to it; none where there is no difference."""
    rows = [Claim((1, 3), "a|b", "1", "more", "Because."), Claim((3, 0), "c", "2", "less", "Because.")]
    rows.append(Claim((0, 3), "ours", "3", "none", "Not needed."))
    assert claims_table(("experiment", "figure", "paper says"), rows).splitlines() == [
        "| experiment | figure | paper says | we measure | difference |",
        "|---|---|---|---|---|",
        "| 1 | 3 | a\\|b | 1 | more (1) |",
        "| 3 |  | c | 2 | less (1) |",
        "| ours | 3 | ours | 3 | none |",
        "",
        "1. Because.",
    ]


def test_an_interval_is_student_s() -> None:
    """The half width of two values 1 apart is 12.706 standard errors of a half; equal values have none."""
    found = estimate([1.0, 2.0])
    assert found.mean == 1.5
    assert found.half == pytest.approx(12.706 * 0.5)
    assert (found.low, found.high) == (found.mean - found.half, found.mean + found.half)
    assert estimate([3.0, 3.0, 3.0]).half == 0
