"""Nodes of the tree."""

from __future__ import annotations

import math

from solvent.lang.syntax import Literal, LiteralPattern, Name


def test_places_take_no_part_in_equality() -> None:
    """Two texts that read the same are the same."""
    assert Name("x", start=1, end=2) == Name("x", start=5, end=6)


def test_literals_compare_by_kind() -> None:
    """Literals of different kinds differ though Python holds them equal."""
    assert Literal(1) != Literal(1.0)
    assert LiteralPattern(1) != LiteralPattern(True)
    assert Literal(1) != LiteralPattern(1)
    assert Literal(math.nan) == Literal(math.nan)
