"""One end of the line between two nodes."""

from __future__ import annotations

from immutables import Map

from solvent.protocols.link.line import (
    MAX_PATIENCE,
    MAX_RESENT,
    MAX_WINDOW,
    Line,
    acknowledged,
    older,
)


def test_a_window_bounds_what_is_under_way() -> None:
    """A line is open while fewer messages than the window are under way."""
    assert not Line().is_open
    assert Line(next=1).is_open
    assert not Line(next=MAX_WINDOW + 1, sent=MAX_WINDOW).is_open


def test_patience_grows_up_to_a_limit() -> None:
    """Attempts are made after longer and longer pauses, but never given up."""
    line, pauses = Line(next=1, sent=1), []
    for _ in range(7):
        ticks, is_due = 0, False
        while not is_due:
            line, is_due = older(line)
            ticks += 1
        pauses.append(ticks - 1)
    assert pauses == [1, 2, 4, 8, MAX_PATIENCE, MAX_PATIENCE, MAX_PATIENCE]


def test_an_answer_restores_patience_and_widens_the_window() -> None:
    """When the peer takes something again, more may be under way and the next attempt comes soon."""
    line = Line(queue=Map({0: "a", 1: "b"}), next=2, sent=1, window=MAX_RESENT, age=3, patience=8)
    assert acknowledged(line, 1) == Line(
        queue=Map({1: "b"}), next=2, sent=1, acked=1, window=2 * MAX_RESENT, age=0, patience=1
    )
