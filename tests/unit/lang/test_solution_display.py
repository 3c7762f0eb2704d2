"""What a notebook shows of solutions."""

from __future__ import annotations

import re
import sys

from hypothesis import given

import solvent
from tests.growth import executed_lines
from tests.property.amounts import examples
from tests.property.strategies import programs


def _text(html: str) -> str:
    """Give what a reader sees."""
    from html import unescape

    return unescape(re.sub(r"<[^>]*>", "", html))


def test_a_solution_is_shown_in_order_with_what_is_inside() -> None:
    """Molecules stand in canonical order; sub-solutions, tuples and lists are seen as what they are."""
    solution = solvent.hocl.parse("let max = replace x, y by x if x >= y in <9, T:<2, 1>:3, (1, 2), max>").solution()
    assert _text(solution._repr_html_()) == "9, T:1, 2:3, (1, 2), max4 molecules, not inert"


def test_nothing_of_a_molecule_is_markup() -> None:
    """A string that would be markup is shown as it is."""
    html = solvent.hocl.Solution(['<img src=x onerror="alert(1)">', "</div>&amp;"])._repr_html_()
    assert "<img" not in html
    assert "&lt;img src=x" in html
    assert html.count("</div>") == 3


@examples(60)
@given(programs())
def test_any_solution_is_shown_as_markup_that_closes(text: str) -> None:
    """Whatever is in a solution, every element is closed, and nothing is left to the page around it."""
    from xml.etree import ElementTree as ET

    ET.fromstring(solvent.hocl.parse(text).solution()._repr_html_())  # noqa: S314 - our own text


def test_a_large_solution_is_shown_in_short() -> None:
    """Of many molecules, long lists, texts and integers only a part is shown, and it is said how much is left out."""
    large = [solvent.hocl.List(range(100_000)), "x" * 1_000_000, 10**50_000, solvent.hocl.Solution(range(100_000))]
    for molecules in (range(200_000), large, [solvent.hocl.Solution(large)] * 100):
        html = solvent.hocl.Solution(molecules)._repr_html_()
        assert len(html) < 60_000
        assert "more" in html


def test_showing_a_large_solution_takes_no_longer_than_a_small_one() -> None:
    """The work of showing a solution does not grow with it."""

    def lines(count: int) -> int:
        return executed_lines(solvent.hocl.Solution(range(count))._repr_html_)

    assert lines(500_000) < 2 * lines(5_000)


def test_a_deep_solution_is_shown() -> None:
    """Solutions nested as deeply as programs may nest them are shown."""
    before = sys.getrecursionlimit()
    solution = solvent.hocl.Solution([1])
    for _ in range(150):
        solution = solvent.hocl.Solution([solution])
    assert solution._repr_html_().count("<span") == 151
    assert sys.getrecursionlimit() == before
