"""Spans: stretches of a source."""

from __future__ import annotations

from solvent.source import Source, Span

SPAN = Span(Source("ab\ncde", "a.hocl"), 4, 6)


def test_span_knows_its_place() -> None:
    """A span gives file, line and column."""
    assert (SPAN.place, SPAN.line, SPAN.column) == ("a.hocl:2:2", 2, 2)


def test_span_knows_its_text() -> None:
    """A span gives the characters it covers."""
    assert SPAN.text == "de"
