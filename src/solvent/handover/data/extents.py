"""Which version each stretch of a resource has: a row of extents, without gaps, in order.

Nearly always there is one extent, the whole resource. There are more of them while a version is being fetched (what
has arrived, and the rest), and where processes write different stretches at the same time.

A version is a number from zero, and never names two different contents: that is promised by whoever gives the numbers.
Each change of an extent also gives it a new *stamp*, so that somebody who has looked before and looks again sees that
it was written in between, even if it has the same version again.

Parts that were changed have numbers of their own, so a row does not tell whether all of it belongs together. The
*level* of a memory does: of which version of the whole it has everything, and how many parts were changed since.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import attrgetter
from typing import TypeAlias

from msgspec.structs import replace

from solvent.protocols.machine import Value

Level: TypeAlias = tuple[int, int]
"""The newest version of the whole of which anything is here; and how many parts were changed since, or one of these."""
NO_LEVEL: Level = (-1, -1)
SOME = -1
"""Instead of a number of parts: not everything of that version is here, as far as is known."""
ANOTHER = -2
"""Instead of a number of parts: one more than there were."""
VOID = -1
"""The version of what was never filled."""
UNDER_WAY = -2
"""The version of what is being written. It stays, if the process that writes dies: the stretch is torn."""


class Extent(Value, frozen=True, gc=False, array_like=True):
    """A stretch of a resource, from `start` to before `end`."""

    start: int
    end: int
    version: int
    stamp: int


Extents: TypeAlias = tuple[Extent, ...]
_start_of, _end_of = attrgetter("start"), attrgetter("end")


def whole(size: int, version: int, stamp: int) -> Extents:
    """Make the row of a resource that is the same everywhere."""
    return (Extent(0, size, version, stamp),)


def raised(level: Level, to: Level) -> Level:
    """Return the level of a memory when something was written that belongs to another level."""
    version, parts = to
    if version < level[0] or to == NO_LEVEL:
        return level
    if parts >= 0:
        return to
    if version > level[0]:
        return version, SOME
    return (version, level[1] + 1) if parts == ANOTHER and level[1] >= 0 else level


def part(extents: Extents, start: int, end: int) -> Extents:
    """Cut out what lies between two places."""
    if len(extents) == 1 and extents[0].start == start and extents[0].end == end:
        return extents
    if start >= end:
        return ()
    # There may be thousands, and only those at the two ends have to be looked at.
    row = extents[bisect_right(extents, start, key=_end_of) : bisect_left(extents, end, key=_start_of)]
    if row and row[0].start < start:
        row = (replace(row[0], start=start), *row[1:])
    if row and row[-1].end > end:
        row = (*row[:-1], replace(row[-1], end=end))
    return row


def marked(extents: Extents, changed: Extent) -> Extents:
    """Give a stretch another version."""
    start, end, size = changed.start, changed.end, extents[-1].end
    if start == 0 and end == size:
        return (changed,)
    assert 0 <= start < end <= size
    first = max(bisect_right(extents, start, key=_end_of) - 1, 0)
    last = bisect_left(extents, end, key=_start_of) + 1
    around = extents[first:last]
    changes = _joined((*part(around, around[0].start, start), changed, *part(around, end, around[-1].end)))
    return (*extents[:first], *changes, *extents[last:])


def resized(extents: Extents, size: int) -> Extents:
    """Cut a row, or lengthen it by something void."""
    end = extents[-1].end
    if size <= end:
        return part(extents, 0, size) if size else whole(0, extents[0].version, extents[0].stamp)
    kept = extents if end else ()
    return _joined((*kept, Extent(end, size, VOID, 0)))


def version_of(extents: Extents) -> int | None:
    """Give the version that all of a row has, or none."""
    version = extents[0].version
    if len(extents) == 1:
        return version
    return version if all(one.version == version for one in extents) else None


def first_other(extents: Extents, version: int) -> Extent | None:
    """Give the first stretch that has another version, or none."""
    return next((one for one in extents if one.version != version), None)


def _joined(extents: Extents) -> Extents:
    row = list[Extent]()
    for one in extents:
        if row and row[-1].version == one.version:
            last = row.pop()
            one = Extent(last.start, one.end, one.version, max(last.stamp, one.stamp))  # noqa: PLW2901
        row.append(one)
    return tuple(row)


__all__ = [
    "ANOTHER",
    "NO_LEVEL",
    "SOME",
    "UNDER_WAY",
    "VOID",
    "Extent",
    "Extents",
    "Level",
    "first_other",
    "marked",
    "part",
    "raised",
    "resized",
    "version_of",
    "whole",
]
