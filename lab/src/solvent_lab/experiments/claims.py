"""What a paper says beside what we measure: statements, how they are judged, and the table of them.

A statement is judged where all cells it needs have been measured. Explanations of differences were found at the paper's
scale.
"""

from __future__ import annotations

from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

AS_SAID = "none"
"""The difference where there is none."""
WANTED = "wanted"
"""The place of a statement that is ours and not the paper's."""
# Student's t for 95 %, two-sided, by degrees of freedom from 1 on; beyond, that of 16, which is a little too wide.
_STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131)
_STUDENT_BEYOND = 2.12


class Estimate(NamedTuple):
    """A mean over runs, and half the width of its 95 % confidence interval; zero if there is one run only."""

    mean: float
    half: float

    @property
    def low(self) -> float:
        """The lower end of the interval."""
        return self.mean - self.half

    @property
    def high(self) -> float:
        """The upper end of the interval."""
        return self.mean + self.half

    def __str__(self) -> str:
        return f"{self.mean:,.2f} ± {self.half:.2f}"


def estimate(values: list[float]) -> Estimate:
    """Estimate the mean of what values were drawn from, one for each run."""
    count = len(values)
    if count < 2:
        return Estimate(fmean(values), 0.0)
    student = _STUDENT[count - 2] if count - 2 < len(_STUDENT) else _STUDENT_BEYOND
    return Estimate(fmean(values), student * stdev(values) / count**0.5)


class Verdict(NamedTuple):
    """What became of a statement."""

    measured: str
    difference: str = AS_SAID
    why: str = ""


class Statement(NamedTuple):
    """Something that can be measured."""

    #: Where the paper says it: experiment and figure (zero: none), or a place in words, or `WANTED`.
    where: tuple[int | str, ...]
    says: str
    needs: tuple[str, ...]
    judge: Callable[[Mapping[str, Any]], Verdict]


class Claim(NamedTuple):
    """A statement and what became of it, in words."""

    where: tuple[int | str, ...]
    paper: str
    measured: str
    difference: str
    why: str


def judged(statements: Iterable[Statement], cells: Mapping[str, Any], *, explains: bool = True) -> list[Claim]:
    """Judge those statements whose cells have been measured, and explain differences."""
    claims = []
    for where, says, needs, judge in statements:
        if all(name in cells for name in needs):
            measured, difference, why = judge(cells)
            claims.append(Claim(where, says, measured, difference, why if explains and difference != AS_SAID else ""))
    return claims


def unless(is_so: bool, otherwise: str) -> str:  # noqa: FBT001 - reads as a sentence
    """Return no difference if it is so, else the one given."""
    return AS_SAID if is_so else otherwise


def within(value: float, said: float, tolerance: float, unit: str) -> str:
    """Return by how much a value differs from what was said, if it does by more than a tolerance."""
    off = value - said
    if abs(off) <= tolerance:
        return AS_SAID
    return f"{abs(off):.0f} {unit}s {'more' if off > 0 else 'less'}"


def percent(share: float) -> str:
    """Return a share as per cent."""
    return f"{100 * share:.0f} %"


def claims_table(head: Sequence[str], claims: Sequence[Claim]) -> str:
    """Return the claims as Markdown; explanations stand under the table once, so that its lines stay short."""
    notes: list[str] = []
    rows = []
    for where, paper, measured, difference, why in claims:
        note = ""
        if why and difference != AS_SAID:
            if why not in notes:
                notes.append(why)
            note = f" ({notes.index(why) + 1})"
        rows.append((*_place(where), paper, measured, difference + note))
    text = markdown_table((*head, "we measure", "difference"), rows)
    return "\n".join([text, "", *[f"{number}. {note}" for number, note in enumerate(notes, 1)]]).rstrip()


def _place(where: tuple[int | str, ...]) -> tuple[str, ...]:
    """Return the cells of a place; experiment zero is ours, figure zero is none."""
    first, *rest = where
    return str(first or "ours"), *[str(part or "") for part in rest]


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table as Markdown."""
    lines = [[cell.replace("|", "\\|") for cell in row] for row in (head, *rows)]
    first, *others = [f"| {' | '.join(line)} |" for line in lines]
    return "\n".join([first, "|" + "---|" * len(head), *others])
