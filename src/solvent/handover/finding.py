"""What the card of a memory says of the data in it, for a repair: which version is there, and how many parts of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.handover.data.kept import can_have, is_only_kept, restored
from solvent.handover.words import LOST, is_part, rest_of, text_from_details
from solvent.protocols.elmp.vocabulary import Data

if TYPE_CHECKING:
    from solvent.handover.data.card import Sheet
    from solvent.protocols.machine import NodeId


def found_on(sheet: Sheet, me: NodeId, *, is_torn: bool = False) -> Data | None:
    """Return the newest version that a memory has, or had until a process died that wrote there."""
    version, parts = sheet.level
    if version <= 0 or parts < 0:
        version, parts, is_torn = newest_on(sheet) or 0, 0, False
    if version <= 0:
        return None
    if is_torn:
        return Data(version, me, LOST, parts=parts, is_torn=True)
    size = sheet.kept[-1].end if is_only_kept(sheet) else sheet.size
    rest = rest_of(size, sheet.birth, keep_last=sheet.keep_last, form=sheet.form, copies=sheet.copies)
    return Data(version, me, text_from_details(version, rest), parts=parts)


def newest_on(sheet: Sheet) -> int | None:
    """Return the newest version of the whole that is there, or can be put together."""
    version, parts = sheet.level
    row = sheet.kept if is_only_kept(sheet) else restored(sheet)
    if version > 0 and parts >= 0 and all(one.version >= 0 for one in row):
        return version
    versions = {one.version for one in (*sheet.extents, *sheet.kept) if one.version > 0 and not is_part(one.version)}
    return max((version for version in versions if can_have(sheet, version)), default=None)


__all__ = ["found_on", "newest_on"]
