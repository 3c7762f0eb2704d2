"""What a card says of the data in its memory, for a repair."""

from __future__ import annotations

from solvent.handover.data.card import NO_LEVEL, SOME, UNDER_WAY, VOID, Extent, Level, Sheet
from solvent.handover.keeping import found_on, newest_on
from solvent.handover.words import LOST, details_from_text, part_version
from solvent.protocols.elmp.vocabulary import Data
from solvent.protocols.machine import NodeId

ME, A, B = NodeId(1), NodeId(2), NodeId(3)
OLD, NEW = 1 << 16, 2 << 16
A4, B1 = part_version(A, 4), part_version(B, 1)
OF_OLD = (Extent(0, 8, OLD, 1),)


def _sheet(*row: tuple[int, int, int], level: Level = NO_LEVEL, kept: tuple[Extent, ...] = ()) -> Sheet:
    extents = tuple(Extent(start, end, version, 1) for start, end, version in row)
    return Sheet("d", 70, extents[-1].end, extents, level, stamps=9, kept=kept)


def _found(sheet: Sheet, *, is_torn: bool = False) -> tuple[int, int, int]:
    """Give the version, the number of parts, and the size."""
    data = found_on(sheet, ME, is_torn=is_torn)
    assert data is not None
    details = details_from_text(data.details)
    assert details is not None
    assert (data.holder, details.version, details.birth) == (ME, data.version, 70)
    return data.version, data.parts, details.size


def test_a_version_is_told_with_the_number_of_its_parts() -> None:
    """Which parts they are need not be said, also where they lie over all of it."""
    assert _found(_sheet((0, 5, NEW), (5, 8, A4), (8, 10, NEW), level=(NEW, 3))) == (NEW, 3, 10)
    assert _found(_sheet((0, 5, B1), (5, 8, A4), level=(NEW, 2))) == (NEW, 2, 8)
    assert _found(_sheet((0, 8, NEW), level=(NEW, 0))) == (NEW, 0, 8)


def test_a_version_of_which_not_everything_is_here_is_not_told() -> None:
    """A part of a later one may be here, and nothing else of that; what can be put together counts."""
    assert found_on(_sheet((0, 5, OLD), (5, 8, A4), level=(NEW, SOME)), ME) is None
    assert found_on(_sheet((0, 5, NEW), (5, 8, VOID), level=(NEW, SOME)), ME) is None
    assert found_on(_sheet((0, 8, UNDER_WAY)), ME) is None
    assert _found(_sheet((0, 5, NEW), (5, 8, NEW), level=(NEW, SOME))) == (NEW, 0, 8)
    assert _found(_sheet((0, 2, OLD), (2, 8, UNDER_WAY), level=(NEW, SOME), kept=OF_OLD)) == (OLD, 0, 8)


def test_what_is_torn_is_told_as_that() -> None:
    """Another host that has as much of the same version has more; and one that has less has lost something."""
    torn = _sheet((0, 5, NEW), (5, 8, UNDER_WAY), level=(NEW, 3))
    assert found_on(torn, ME, is_torn=True) == Data(NEW, ME, LOST, parts=3, is_torn=True)
    assert newest_on(torn) is None


def test_what_was_kept_is_there() -> None:
    """Also where who changes the size has died: then it has the size of before."""
    parts = (Extent(0, 3, OLD, 1), Extent(3, 4, A4, 1))
    assert _found(_sheet((0, 2, OLD), (2, 8, UNDER_WAY), level=(OLD, 0), kept=OF_OLD)) == (OLD, 0, 8)
    resized = _sheet((0, 8, UNDER_WAY), level=(OLD, 1), kept=parts)
    assert _found(resized) == (OLD, 1, 4)
    assert newest_on(resized) == OLD
