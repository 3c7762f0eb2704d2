"""Rows of extents, beside a plain list with a version for each byte."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from solvent.handover.data.card import (
    ANOTHER,
    NO_LEVEL,
    SOME,
    VOID,
    Extent,
    first_other,
    marked,
    part,
    raised,
    resized,
    version_of,
    whole,
)

MAX_SIZE = 24


def _bytes(extents: tuple[Extent, ...]) -> list[int]:
    return [one.version for one in extents for _ in range(one.start, one.end)]


@st.composite
def _changes(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int]]]:
    size = draw(st.integers(1, MAX_SIZE))
    stretches = []
    for version in range(1, 1 + draw(st.integers(0, 6))):
        start = draw(st.integers(0, size - 1))
        stretches.append((start, draw(st.integers(start + 1, size)), draw(st.sampled_from((version, 1)))))
    return size, stretches


@given(_changes(), st.data())
def test_a_row_tells_the_version_of_every_byte(
    changes: tuple[int, list[tuple[int, int, int]]], data: st.DataObject
) -> None:
    """Whatever stretches were marked, a row says of each byte what was said of it last, without gaps or doubles."""
    size, stretches = changes
    row, plain = whole(size, 0, 0), [0] * size
    for stamp, (start, end, version) in enumerate(stretches, 1):
        row = marked(row, Extent(start, end, version, stamp))
        plain[start:end] = [version] * (end - start)
    assert _bytes(row) == plain
    assert [one.start for one in row] == [0, *(one.end for one in row[:-1])]
    assert all(one.version != other.version for one, other in itertools.pairwise(row))
    start = data.draw(st.integers(0, size - 1))
    end = data.draw(st.integers(start + 1, size))
    cut = part(row, start, end)
    assert (_bytes(cut), cut[0].start, cut[-1].end) == (plain[start:end], start, end)
    assert version_of(cut) == (plain[start] if len(set(plain[start:end])) == 1 else None)
    other = first_other(row, plain[0])
    assert (other is None) == (set(plain) == {plain[0]})
    longer = data.draw(st.integers(1, MAX_SIZE))
    assert _bytes(resized(row, longer)) == (plain + [VOID] * MAX_SIZE)[:longer]


@given(_changes())
def test_writing_anything_changes_the_stamps_of_what_was_written(
    changes: tuple[int, list[tuple[int, int, int]]],
) -> None:
    """Who looks before and after sees that something was written in between, even if the version is the same."""
    size, stretches = changes
    row = whole(size, 1, 0)
    for stamp, (start, end, _) in enumerate(stretches, 1):
        before = part(row, start, end)
        row = marked(row, Extent(start, end, 1, stamp))
        assert part(row, start, end) != before


def test_nothing_has_a_version_too() -> None:
    """A resource of no bytes has one extent, which has a version like any other."""
    row = whole(0, 3, 1)
    assert version_of(row) == 3
    assert marked(row, Extent(0, 0, 4, 2)) == (Extent(0, 0, 4, 2),)
    assert part(row, 0, 0) == row
    assert resized(row, 0) == row
    assert resized(row, 5) == (Extent(0, 5, VOID, 0),)
    assert resized(whole(5, 3, 1), 0) == row


def test_a_memory_never_seems_to_have_more_than_it_has() -> None:
    """A part of a later version makes it incomplete, a part of its own version is counted, an older one is nothing."""
    assert raised((4, 2), (5, 0)) == (5, 0)
    assert raised((4, 2), (5, SOME)) == raised((4, 2), (5, ANOTHER)) == (5, SOME)
    assert raised((4, 2), (4, ANOTHER)) == (4, 3)
    assert raised((4, SOME), (4, ANOTHER)) == (4, SOME)
    assert raised((4, 2), (4, SOME)) == raised((4, 2), (3, 0)) == raised((4, 2), NO_LEVEL) == (4, 2)
