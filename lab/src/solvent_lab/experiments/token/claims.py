"""What the paper says, and what is wanted of us, beside what we measure.

A statement is judged where all cells it speaks of have been measured. `why` explains a difference; explanations were
found at the paper's scale, and are given there alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent_lab.experiments.token.measurement import Cells, Estimate

AS_SAID = "none"
"""The difference where there is none."""
WANTED = "wanted"
"""Where a statement stands that is no statement of the paper."""


class Verdict(NamedTuple):
    """What became of a statement."""

    measured: str
    difference: str = AS_SAID
    why: str = ""


class Statement(NamedTuple):
    """Something said that can be measured."""

    #: Where the paper says it, or `WANTED`.
    where: str
    says: str
    needs: tuple[str, ...]
    judge: Callable[[Cells], Verdict]


class Claim(NamedTuple):
    """A statement and what became of it, in words."""

    where: str
    paper: str
    measured: str
    difference: str
    why: str


def judged(statements: Sequence[Statement], cells: Cells, *, explains: bool = True) -> list[Claim]:
    """Judge those statements whose cells are there, and explain differences."""
    claims = []
    for statement in statements:
        if all(name in cells for name in statement.needs):
            verdict = statement.judge(cells)
            why = verdict.why if explains and verdict.difference != AS_SAID else ""
            claims.append(Claim(statement.where, statement.says, verdict.measured, verdict.difference, why))
    return claims


def unless(is_so: bool, otherwise: str) -> str:  # noqa: FBT001 - reads as a sentence
    """Give no difference if it is so."""
    return AS_SAID if is_so else otherwise


def sure(value: Estimate, digits: int = 2) -> str:
    """Write a mean with half the width of its interval."""
    return f"{value.mean:,.{digits}f} ± {value.half:.{digits}f}"


__all__ = ["AS_SAID", "WANTED", "Claim", "Statement", "Verdict", "judged", "sure", "unless"]
