"""What the entries of journals tell."""

from __future__ import annotations

from solvent.runs.records.entries import Opened
from solvent.runs.records.history import AT_PLACE, happenings


def test_who_opens_a_place_first_begins_however_late() -> None:
    """Only who has a place after another one goes on with it."""
    noted = [Opened(f"{who}{AT_PLACE}{place}", at) for who, place, at in (("a", 0, 1.0), ("b", 0, 9.0), ("b", 1, 9.0))]
    assert [one.is_again for one in happenings(noted, frozenset())] == [False, True, False]
