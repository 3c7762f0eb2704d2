"""One end of the line between two nodes."""

from __future__ import annotations

from immutables import Map

from solvent.protocols.link.line import (
    MAX_PATIENCE,
    MAX_RESENT,
    MAX_WINDOW,
    Line,
    acknowledged,
    enqueued,
    older,
    restarted,
)


def test_a_message_waits_until_it_is_taken() -> None:
    """A message is kept from when it is said until the peer has taken it."""
    line = enqueued(enqueued(Line(), "a"), "b")
    assert (line.queue, line.waiting) == (Map({0: "a", 1: "b"}), 2)
    line = acknowledged(line, 1)
    assert (line.queue, line.waiting) == (Map({1: "b"}), 1)


def test_a_window_bounds_what_is_under_way() -> None:
    """A line is open while fewer messages than the window are under way."""
    assert not Line().is_open
    assert Line(next=1).is_open
    assert not Line(next=MAX_WINDOW + 1, sent=MAX_WINDOW).is_open


def test_a_message_is_sent_again_after_a_full_wait() -> None:
    """The first tick may come at once, so only the second makes a message overdue."""
    line = Line(next=40, sent=40)
    line, is_due = older(line)
    assert (line.age, is_due) == (1, False)
    line, is_due = older(line)
    assert is_due
    assert (line.age, line.patience, line.sent, line.window) == (0, 2, 0, MAX_RESENT)


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


def test_an_answer_to_an_earlier_attempt_counts() -> None:
    """The peer may have taken what is about to be sent again; then it is not."""
    line = Line(queue=Map({0: "a", 1: "b"}), next=2, sent=0)
    assert acknowledged(line, 2).sent == 2


def test_a_line_with_nothing_to_do_does_not_age() -> None:
    """Nothing waits and the peer knows this life: no tick counts."""
    assert older(Line()) == (Line(), False)


def test_a_new_life_begins_with_nothing() -> None:
    """What was under way to a former life is gone; a timer that will look at the line still will."""
    line = Line(queue=Map({0: "a"}), next=1, taken=7, owed=2, is_listed=True)
    assert restarted(line, 3, is_met=False) == Line(life=3, is_met=False, is_listed=True)
