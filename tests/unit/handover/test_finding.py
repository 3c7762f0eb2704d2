"""What a card says of the data in its memory, for a repair."""

from __future__ import annotations

from solvent.handover.data.card import Sheet
from solvent.handover.data.extents import UNDER_WAY, VOID, Extent
from solvent.handover.finding import found_on
from solvent.handover.words import details_from_text, part_version
from solvent.protocols.elmp.vocabulary import Claim, Part
from solvent.protocols.machine import NodeId

ME, A, B = NodeId(1), NodeId(2), NodeId(3)
OLD, NEW = 1 << 16, 2 << 16
A4, B1 = part_version(A, 4), part_version(B, 1)


def _sheet(*row: tuple[int, int, int, tuple[int, int]], kept: tuple[Extent, ...] = ()) -> Sheet:
    extents = tuple(Extent(start, end, version, 1, origin) for start, end, version, origin in row)
    return Sheet("d", 70, extents[-1].end, extents, stamps=9, kept=kept)


def _claim(start: int, end: int) -> Claim:
    return Claim(first=start, length=end - start)


def test_a_version_is_told_with_the_parts_that_lie_over_it() -> None:
    """Each with its turn and what it was a change of; and since when the version is whole."""
    [data] = found_on(_sheet((0, 5, NEW, (2, 1)), (5, 8, A4, (3, NEW)), (8, 10, NEW, (2, 7))), ME)
    assert (data.version, data.holder, data.since, data.memory, data.gaps) == (NEW, ME, (2, 7), (70, 9), ())
    assert data.parts == (Part(ME, A, 4, _claim(5, 8), 3, NEW),)
    details = details_from_text(data.details)
    assert details is not None
    assert (details.version, details.size, details.birth) == (NEW, 10, 70)


def test_parts_that_lie_over_all_of_a_version_stand_for_it() -> None:
    """They say themselves which one it was, and all of them came later."""
    [data] = found_on(_sheet((0, 5, B1, (6, NEW)), (5, 8, A4, (3, NEW))), ME)
    assert (data.version, data.since, data.gaps) == (NEW, (3, 3), ())


def test_parts_beside_gaps_do_not_tell_since_when_a_version_is_whole() -> None:
    """The parts that belong in the gaps, which are on another host, may have come before them."""
    [data] = found_on(_sheet((0, 5, UNDER_WAY, (0, 0)), (5, 8, A4, (3, NEW))), ME)
    assert (data.version, data.since, data.gaps) == (NEW, (0, 0), (_claim(0, 5),))


def test_a_change_of_an_earlier_version_is_none_of_this_one() -> None:
    """It is told, with what it was a change of; but the version is not there."""
    [data] = found_on(_sheet((0, 5, NEW, (2, 1)), (5, 8, A4, (1, OLD))), ME)
    assert (data.version, data.gaps) == (NEW, (_claim(5, 8),))
    assert [part.base for part in data.parts] == [OLD]


def test_what_is_torn_or_never_was_there_is_a_gap() -> None:
    """Also what is of another version."""
    row = ((0, 2, OLD, (1, 1)), (2, 4, UNDER_WAY, (0, 0)), (4, 6, NEW, (2, 1)), (6, 8, VOID, (0, 0)))
    [data] = found_on(_sheet(*row), ME)
    assert (data.version, data.gaps) == (NEW, (_claim(0, 2), _claim(2, 4), _claim(6, 8)))
    assert found_on(_sheet((0, 8, UNDER_WAY, (0, 0))), ME) == []


def test_what_was_kept_is_told_as_well() -> None:
    """Where it is the version that was there, as that; else to fall back on."""
    kept = (Extent(0, 8, OLD, 1, (1, 1)),)
    [data] = found_on(_sheet((0, 2, OLD, (1, 1)), (2, 8, UNDER_WAY, (0, 0)), kept=kept), ME)
    assert (data.version, data.since, data.gaps) == (OLD, (1, 1), ())
    first, second = found_on(_sheet((0, 2, NEW, (2, 1)), (2, 8, A4, (1, OLD)), kept=kept), ME)
    assert (first.version, first.gaps, len(first.parts)) == (NEW, (_claim(2, 8),), 1)
    assert (second.version, second.gaps, second.parts) == (OLD, (), ())
    shorter = (Extent(0, 4, OLD, 1, (1, 1)),)
    [data] = found_on(_sheet((0, 8, UNDER_WAY, (0, 0)), kept=shorter), ME)
    details = details_from_text(data.details)
    assert details is not None
    assert (data.version, details.size) == (OLD, 4)


def test_what_was_kept_by_who_changes_the_size_is_told_with_its_parts() -> None:
    """All of it has another size meanwhile, or had when its writer died; what was kept has that of before."""
    kept = (Extent(0, 3, OLD, 1, (1, 1)), Extent(3, 4, A4, 1, (3, OLD)))
    [data] = found_on(_sheet((0, 8, UNDER_WAY, (0, 0)), kept=kept), ME)
    details = details_from_text(data.details)
    assert details is not None
    assert (data.version, details.size, data.gaps) == (OLD, 4, ())
    assert data.parts == (Part(ME, A, 4, _claim(3, 4), 3, OLD),)
