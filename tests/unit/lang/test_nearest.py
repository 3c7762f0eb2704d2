"""Hints for wrong names."""

from __future__ import annotations

from solvent.lang.nearest import nearest


def test_close_name_is_suggested() -> None:
    """A name one letter off is suggested."""
    assert nearest("colur", ["colour", "max"]) == "did you mean `colour`?"


def test_far_names_are_not_suggested() -> None:
    """Without a close name there is no hint."""
    assert nearest("qqq", ["colour", "max"]) == ""
