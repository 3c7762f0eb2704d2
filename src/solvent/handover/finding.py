"""What the card of a memory says of the data in it, for a repair: which version counts there, and which parts.

Nobody need be left who wrote any of it. Each stretch says where it comes from (`Extent.origin`, see `words`): whole
versions since when, parts in which turn they were written, and over which version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.handover.data.extents import UNKNOWN, version_of
from solvent.handover.data.kept import can_have, is_only_kept, restored
from solvent.handover.words import is_part, lost_data, rest_of, text_from_details, writer_of
from solvent.protocols.elmp.vocabulary import Claim, Data, Part

if TYPE_CHECKING:
    from solvent.handover.data.card import Sheet
    from solvent.handover.data.extents import Extent
    from solvent.protocols.machine import NodeId


def found_on(sheet: Sheet, me: NodeId) -> list[Data]:
    """Give the version that lies under everything else, with all parts; and another one if that is not all there."""
    if is_only_kept(sheet):
        sheet = replace(sheet, size=sheet.kept[-1].end, extents=sheet.kept)
    row = restored(sheet)
    parts = tuple(_part(one, me) for one in row if is_part(one.version))
    version = max((*(one.version for one in row if not is_part(one.version)), *(one.base for one in parts)), default=0)
    memory = sheet.birth, sheet.stamps
    kept, told = newest_on(sheet), list[Data]()
    if version > 0 and version != kept:
        lower = [one for one in row if version not in (one.version, one.origin[1] if is_part(one.version) else -1)]
        gaps = tuple(_claim(one) for one in lower)
        here = [one.origin for one in row if one.version == version]
        # Where parts lie over all of it, all came later than it; those that belong in gaps may be the first of them.
        over = [(one.turn, one.use - 1) for one in parts if one.base == version]
        since = max(here) if here else UNKNOWN if gaps else min(over)
        data = Data(version, me, _details(sheet, version, sheet.size), since=since, parts=parts, memory=memory)
        told.append(replace(data, gaps=gaps))
    elif parts and kept is None:
        told.append(replace(lost_data(me), parts=parts, memory=memory))
    if kept is not None:
        is_here = version == kept or version_of(sheet.extents) == kept
        size = sheet.size if is_here else sheet.kept[-1].end
        since = max(one.origin for one in (*sheet.extents, *sheet.kept) if one.version == kept)
        data = Data(kept, me, _details(sheet, kept, size), since=since)
        told.append(data if told else replace(data, parts=parts, memory=memory))
    return told


def _part(one: Extent, holder: NodeId) -> Part:
    turn, base = one.origin
    return Part(holder, *writer_of(one.version), _claim(one), turn, base)


def _claim(one: Extent) -> Claim:
    return Claim(first=one.start, length=one.end - one.start)


def _details(sheet: Sheet, version: int, size: int) -> str:
    rest = rest_of(size, sheet.birth, keep_last=sheet.keep_last, form=sheet.form, copies=sheet.copies)
    return text_from_details(version, rest)


def newest_on(sheet: Sheet) -> int | None:
    """Give the newest version of the whole that is there, or can be put together."""
    versions = {one.version for one in (*sheet.extents, *sheet.kept) if one.version > 0 and not is_part(one.version)}
    return max((version for version in versions if can_have(sheet, version)), default=None)


__all__ = ["found_on", "newest_on"]
