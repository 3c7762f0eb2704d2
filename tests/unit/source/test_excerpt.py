"""The marked line under an error."""

from __future__ import annotations

from solvent.source import Source, Span, excerpt


def test_carets_stand_under_the_span() -> None:
    """The line is shown with its number and carets under the span."""
    assert excerpt(Span(Source("<1>\n<2, colour>"), 8, 14), "unknown") == "2 | <2, colour>\n  |     ^^^^^^ unknown"


def test_empty_span_gets_one_caret() -> None:
    """The end of a text is marked by one caret behind it."""
    assert excerpt(Span(Source("<1"), 2, 2)) == "1 | <1\n  |   ^"


def test_span_over_lines_is_marked_on_its_first() -> None:
    """A span of several lines is marked to the end of its first."""
    assert excerpt(Span(Source("<1,\n2>"), 0, 6)) == "1 | <1,\n  | ^^^"


def test_tabs_keep_the_caret_in_place() -> None:
    """A tab before the span stands in the margin too."""
    assert excerpt(Span(Source("\tx"), 1, 2)) == "1 | \tx\n  | \t^"


def test_long_lines_are_cut_around_the_mark() -> None:
    """An error far into a long line shows what is around it."""
    shown, mark = excerpt(Span(Source("a" * 500 + "@" + "b" * 500), 500, 501)).splitlines()
    assert len(shown) <= 104
    assert shown[mark.index("^")] == "@"
