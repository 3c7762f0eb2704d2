"""Shelves: entries in order, as values."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.capture.vocabulary import MoleculeId
from solvent.protocols.directory import Entry, bounds, entry
from solvent.protocols.directory.keys import rank
from solvent.protocols.directory.shelf import MAX_BLOCK, Shelf
from solvent.protocols.machine import NodeId


def listed(molecule: int, key: int) -> Entry:
    """Make an entry."""
    return entry(MoleculeId(molecule), NodeId(0), "number", key)


def filled(keys: list[int]) -> Shelf:
    """Put one molecule for each key on a shelf."""
    shelf = Shelf()
    for molecule, key in enumerate(keys):
        shelf = shelf.with_entry(rank(key), listed(molecule, key))
    return shelf


def test_a_long_shelf_stays_in_order_and_in_blocks() -> None:
    """Blocks are neither too long nor, after much was taken away, too many."""
    keys = [Random(5).randrange(1000) for _ in range(4 * MAX_BLOCK)]
    shelf = filled(keys)
    assert [one.order for one in shelf.between(bounds())] == sorted(keys)
    assert max(map(len, shelf.blocks)) <= MAX_BLOCK
    for molecule, key in enumerate(keys[:-10]):
        shelf = shelf.without_entry(rank(key), listed(molecule, key))
    assert [one.order for one in shelf.between(bounds())] == sorted(keys[-10:])
    assert len(shelf.blocks) <= 4
    assert len(shelf) == 10


@given(
    st.lists(st.integers(0, 20), max_size=30),
    st.none() | st.integers(-1, 21),
    st.none() | st.integers(-1, 21),
    st.booleans(),
    st.booleans(),
)
def test_bounds_cut_where_they_say(
    keys: list[int],
    lower: int | None,
    upper: int | None,
    is_lower_open: bool,  # noqa: FBT001 - drawn by hypothesis
    is_upper_open: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    """Open bounds do not belong to what they bound, closed ones do; where there is none there is no limit."""
    within = bounds(lower, upper, is_lower_open=is_lower_open, is_upper_open=is_upper_open)
    expected = [
        key
        for key in sorted(keys)
        if (lower is None or key > lower or (key == lower and not is_lower_open))
        and (upper is None or key < upper or (key == upper and not is_upper_open))
    ]
    shelf = filled(keys)
    assert [one.order for one in shelf.between(within)] == expected
    for turn in (0, 1, 7):
        start = turn % len(expected) if expected else 0
        assert [one.order for one in shelf.between_from(within, turn)] == expected[start:] + expected[:start]
