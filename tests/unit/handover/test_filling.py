"""What counts in each stretch of what is claimed."""

from __future__ import annotations

from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from solvent.handover.filling import Row, ends_of, rows_of
from solvent.handover.words import Details, part_version
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data, Part, Source
from solvent.protocols.machine import NodeId

Stretch: TypeAlias = tuple[int, int | None]
A, B, C = NodeId(1), NodeId(2), NodeId(3)
DATA = Data(9, A, since=(2, 1))
DETAILS = Details(9, 100, 1, False, "")


def _part(first: int, length: int | None) -> Claim:
    return Claim(first=first, length=length)


@given(
    st.lists(st.tuples(st.integers(0, 110), st.none() | st.integers(1, 60))),
    st.tuples(st.integers(0, 99), st.none() | st.integers(1, 60)),
)
def test_rows_say_of_every_byte_what_counts_there(changes: list[Stretch], wanted: Stretch) -> None:
    """However many changes lie over each other, each byte is what was last said of it, without gaps or doubles."""
    sources = tuple(Source(B, number, _part(*one)) for number, one in enumerate(changes, 1))
    expected = [DETAILS.version] * DETAILS.size
    for source in sources:
        first, last = ends_of(source.claim, DETAILS.size)
        expected[first:last] = [part_version(B, source.use)] * (last - first)
    rows = rows_of(DATA, DETAILS, sources, _part(*wanted))
    first, last = ends_of(_part(*wanted), DETAILS.size)
    assert [version for row in rows for version in [row.version] * (row.end - row.start)] == expected[first:last]
    assert [row.start for row in rows] == [first, *(row.end for row in rows[:-1])]


def test_what_lies_behind_the_end_is_not_there() -> None:
    """A claim that begins behind the end says where, so that who fills it can."""
    assert rows_of(DATA, DETAILS, (Source(B, 4, _part(10, 30)),), _part(200, 20)) == [Row(200, 200, 9, A, (2, 1))]


def test_claims_end_where_the_data_ends() -> None:
    """What lies beyond the data is not there."""
    assert ends_of(WHOLE, 0) == (0, 0)
    assert ends_of(_part(50, 100), 60) == (50, 60)
    assert ends_of(_part(70, 10), 60) == (60, 60)


def test_parts_of_the_dead_lie_between_the_base_and_later_changes() -> None:
    """They are at who has them now, under the version that their writer gave them."""
    data = replace(DATA, parts=(Part(B, C, 4, _part(10, 30), 3),))
    assert rows_of(data, DETAILS, (Source(A, 2, _part(20, None), 4),), WHOLE) == [
        Row(0, 10, 9, A, (2, 1)),
        Row(10, 20, part_version(C, 4), B, (3, 9)),
        Row(20, 100, part_version(A, 2), A, (4, 9)),
    ]
