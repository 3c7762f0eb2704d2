"""Lines that cross, counted."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from solvent.pictures.crossings import crossings, ordered


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(6, 11)), max_size=20))
def test_crossings_are_counted_as_one_would_by_hand(lines: set[tuple[int, int]]) -> None:
    """Two lines cross if one begins before the other and ends behind it."""
    below = [[lower for upper, lower in sorted(lines) if upper == item] for item in range(12)]
    by_hand = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(lines, 2))
    assert crossings([[*range(6)], [*range(6, 12)]], below) == by_hand


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(6, 11)), max_size=20))
def test_an_order_is_never_worse_than_the_first(lines: set[tuple[int, int]]) -> None:
    """Of all orders seen the best is kept, and each layer keeps its items."""
    below = [[lower for upper, lower in sorted(lines) if upper == item] for item in range(12)]
    layers = [[*range(6)], [*range(6, 12)]]
    found = ordered(layers, sorted(lines))
    assert [sorted(layer) for layer in found] == layers
    assert crossings(found, below) <= crossings(layers, below)
