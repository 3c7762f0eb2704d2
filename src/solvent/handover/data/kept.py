"""The last version, copied before it is overwritten: the way to keep it where no drafts can be made.

What is going to be overwritten is copied to a file of its own first, so that a process that dies while it writes takes
nothing along but its own work. The copy costs memory and time in proportion to the stretch that is written; a draft
costs them in proportion to what is changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.handover.data.extents import (
    NO_LEVEL,
    UNDER_WAY,
    VOID,
    Extent,
    Extents,
    Level,
    marked,
    part,
    raised,
    resized,
    version_of,
    whole,
)

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.handover.data.card import Card, Sheet
    from solvent.handover.data.memory import Memory


def stamped(sheet: Sheet, start: int, end: int, version: int, level: Level = NO_LEVEL) -> Sheet:
    """Give a stretch a version and a new stamp; the version belongs to a level."""
    stamp = sheet.stamps + 1
    row = marked(sheet.extents, Extent(start, end, version, stamp))
    return replace(sheet, stamps=stamp, extents=row, level=raised(sheet.level, level))


def can_have(sheet: Sheet, version: int, stretch: tuple[int, int] | None = None) -> bool:
    """Tell whether a version, or a stretch of it, is there or can be put together from what was kept."""
    row = sheet.extents if stretch is None else part(sheet.extents, *stretch)
    if version_of(row) == version:
        return True
    kept = sheet.kept
    if not kept or kept[-1].end != sheet.size:
        return bool(kept) and stretch is None and version_of(kept) == version
    others = (one for one in row if one.version != version)
    return all(version_of(part(kept, one.start, one.end)) == version for one in others)


def is_only_kept(sheet: Sheet) -> bool:
    """Tell whether who writes everything, or did when it died, has changed the size: all there was is what was kept."""
    return bool(sheet.kept) and sheet.kept[-1].end != sheet.size and version_of(sheet.extents) == UNDER_WAY


def restored(sheet: Sheet) -> Extents:
    """Give what each stretch is, or can be made again where somebody writes, or did when it died."""
    if not sheet.kept or sheet.kept[-1].end != sheet.size:
        return sheet.extents
    return tuple(
        piece
        for one in sheet.extents
        for piece in (part(sheet.kept, one.start, one.end) if one.version == UNDER_WAY else (one,))
    )


def newest(sheet: Sheet) -> int | None:
    """Give the newest version that can be had."""
    versions = {one.version for one in (*sheet.extents, *sheet.kept) if one.version >= 0}
    return max((version for version in versions if can_have(sheet, version)), default=None)


def keep(card: Card, memory: Memory, path: Path, start: int, end: int) -> None:
    """Copy what of a stretch has a version, unless that is kept already."""
    sheet = card.sheet()
    kept = resized(sheet.kept or whole(sheet.size, VOID, 0), sheet.size)
    for one in part(sheet.extents, start, end):
        if one.version < 0 or version_of(part(kept, one.start, one.end)) == one.version:
            continue
        # Void first: killed in the middle of the copy, it must not be taken for the version that was kept before.
        _note(card, marked(kept, Extent(one.start, one.end, VOID, 0)))
        memory.copy_out(path, one.start, one.end)
        kept = marked(kept, one)
        _note(card, kept)


def restore(card: Card, memory: Memory, path: Path, version: int, stretch: tuple[int, int] | None) -> None:
    """Put together a version, or a stretch of it, that can be had; whoever calls this has it to itself."""
    row = card.sheet().extents if stretch is None else part(card.sheet().extents, *stretch)
    if version_of(row) == version:
        return
    if stretch is None:
        row = _resized(card, memory).extents
    for one in row:
        if one.version != version:
            _copy_in(card, memory, path, one.start, one.end)


def put_back(card: Card, memory: Memory, path: Path, start: int, end: int) -> None:
    """Put back what was kept of a stretch, if it was."""
    sheet = card.sheet()
    if (start, end) == (0, sheet.size) and sheet.kept:
        end = _resized(card, memory).size
    _copy_in(card, memory, path, start, end)


def _resized(card: Card, memory: Memory) -> Sheet:
    """Give the memory the size that it had when it was kept."""
    sheet = card.sheet()
    size = sheet.kept[-1].end
    if size == sheet.size:
        return sheet
    memory.resize(sheet.size, size)
    return card.change(
        lambda old: replace(old, size=size, stamps=old.stamps + 1, extents=whole(size, UNDER_WAY, old.stamps + 1))
    )


def _copy_in(card: Card, memory: Memory, path: Path, start: int, end: int) -> None:
    for one in part(card.sheet().kept, start, end):
        if one.version >= 0:
            _mark(card, one.start, one.end, UNDER_WAY)
            memory.copy_in(path, one.start, one.end)
            _mark(card, one.start, one.end, one.version)


def _note(card: Card, kept: Extents) -> None:
    card.change(lambda sheet: replace(sheet, kept=kept))


def _mark(card: Card, start: int, end: int, version: int) -> None:
    card.change(lambda sheet: stamped(sheet, start, end, version))


__all__ = ["can_have", "is_only_kept", "keep", "newest", "put_back", "restore", "restored", "stamped"]
