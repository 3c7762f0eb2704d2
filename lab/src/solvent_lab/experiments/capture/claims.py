"""What the paper says, beside what we measure.

A statement of the paper is judged where all cells it speaks of have been measured. Where the outcome differs, `why`
explains it. Explanations were found at the paper's scale, so they are given there alone, and only where there is a
difference to explain; what they assert of variants has been tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from solvent_lab.experiments.capture.measurement import Measured

if TYPE_CHECKING:
    from collections.abc import Sequence

Cells = Mapping[str, Measured]
AS_SAID = "none"
"""The difference where there is none."""


class Verdict(NamedTuple):
    """What became of a statement."""

    measured: str
    difference: str = AS_SAID
    why: str = ""


class Statement(NamedTuple):
    """Something the paper says that can be measured."""

    #: Zero for what is ours and not the paper's.
    experiment: int
    #: Zero for what is said without a figure.
    figure: int
    says: str
    needs: tuple[str, ...]
    judge: Callable[[Cells], Verdict]


class Claim(NamedTuple):
    """A statement and what became of it, in words."""

    experiment: int
    figure: int
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
            claims.append(
                Claim(
                    statement.experiment,
                    statement.figure,
                    statement.says,
                    verdict.measured,
                    verdict.difference,
                    why,
                )
            )
    return claims


# ------------------------------------------------------------------------------------------------------- words


def percent(share: float) -> str:
    """Write a share."""
    return f"{100 * share:.0f} %"


def within(value: float, said: float, tolerance: float, unit: str) -> str:
    """Say by how much a value differs from what was said, if it does by more than a tolerance."""
    off = value - said
    if abs(off) <= tolerance:
        return AS_SAID
    return f"{abs(off):.0f} {unit}s {'more' if off > 0 else 'less'}"


def unless(is_so: bool, otherwise: str) -> str:  # noqa: FBT001 - reads as a sentence
    """Give no difference if it is so."""
    return AS_SAID if is_so else otherwise


# ------------------------------------------------------------------------------------------------------ curves


def first_step(curve: Sequence[float], holds: Callable[[float], bool], *, start: int = 0) -> int:
    """Give the first step from `start` on whose value is so, or the last step."""
    return next((at for at in range(start, len(curve)) if holds(curve[at])), len(curve) - 1)


def straightness(ys: Sequence[float]) -> float:
    """Give the coefficient of determination of the best straight line over the steps: 1 for a straight one."""
    count = len(ys)
    middle_x, middle_y = (count - 1) / 2, sum(ys) / count
    over_x = sum((x - middle_x) ** 2 for x in range(count))
    over_y = sum((y - middle_y) ** 2 for y in ys)
    both = sum((x - middle_x) * (y - middle_y) for x, y in enumerate(ys))
    return both * both / (over_x * over_y) if over_x and over_y else 1.0


def slope(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float]:
    """Give the slope of the best straight line through points, and its coefficient of determination."""
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    over_x = sum((x - middle_x) ** 2 for x in xs)
    over_y = sum((y - middle_y) ** 2 for y in ys)
    both = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys, strict=True))
    return both / over_x, both * both / (over_x * over_y)


__all__ = [
    "AS_SAID",
    "Cells",
    "Claim",
    "Statement",
    "Verdict",
    "first_step",
    "judged",
    "percent",
    "slope",
    "straightness",
    "unless",
    "within",
]
