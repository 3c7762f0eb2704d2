"""The data of a resource on this host: attached to, made, written, and found again when its writer has died.

For a repair the card of a memory says which version is there, and how many parts of it were changed.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from solvent.errors import DataLost, DataProblem
from solvent.handover.contents import Access
from solvent.handover.data.card import UNDER_WAY, version_of
from solvent.handover.data.memory import can_draft
from solvent.handover.data.opening import when_files_can_be_opened
from solvent.handover.data.writing import can_have, is_only_kept, restored
from solvent.handover.filling import Filler, ends_of, job_of
from solvent.handover.words import (
    LOST,
    details_from_text,
    is_part,
    lost_data,
    next_version,
    part_version,
    rest_of,
    text_from_details,
)
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data

if TYPE_CHECKING:
    from solvent.handover.contents import Contents
    from solvent.handover.data import Region, Writing
    from solvent.handover.data.card import Sheet
    from solvent.handover.node import SpaceNode
    from solvent.handover.words import Details
    from solvent.protocols.elmp.vocabulary import Granted
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


_STAMPS_OF_MAKING = 1
"""Memory in which nothing but the first version was ever begun has not had any."""


class Keeping:
    """The data of one resource, as one process has it."""

    def __init__(self, node: SpaceNode, name: str) -> None:
        self._node = node
        self._name = name
        self._region: Region | None = None
        #: What is said of the region besides the version: made anew only where something has changed.
        self._said: tuple[int, int, str] = (-1, -1, "")
        self._rest = ""
        #: Whether there ever was data here or elsewhere.
        self._is_known = False
        self._keep_last = True
        self.filler = Filler(node.store, name, node.home_of, node.peers.on_host)

    def expect(self, contents: Contents, *, keep_last: bool) -> None:
        """Note how the data is to be kept here."""
        self._keep_last = keep_last
        if contents.path is not None:
            self.filler.path = contents.path

    # ------------------------------------------------------------------------------------------------- acquiring

    def access(
        self, grant: Granted, claim: Claim, contents: Contents, filled: Region | None, *, is_anew: bool
    ) -> Access:
        """Give the data that is claimed, now that it is the claim's turn."""
        data = grant.data
        if data is not None:
            self._is_known = True
            details = details_from_text(data.details)
            if details is not None:
                if claim.is_plain and not data.has_parts:
                    found = self._at_once(grant, data, details, contents)
                    if found is not None:
                        return found
                try:
                    return self._attached(grant, claim, contents, details, filled)
                except DataProblem:
                    if not (is_anew and claim.is_plain and contents.can_make):
                        raise
                return self._made(grant, contents, since=details.version)
            if not (is_anew and claim.is_plain):
                raise self.lost()
        if not contents.can_make:
            # Nobody has said that there is any data: the lock alone is wanted.
            return Access(contents, seen=memoryview(bytearray()))
        return self._made(grant, contents)

    def _at_once(self, grant: Granted, data: Data, details: Details, contents: Contents) -> Access | None:
        """Take what is in the memory that this process had the last time: the way that must be short."""
        region, version = self._region, details.version
        if region is None or region.birth != details.birth:
            return None
        try:
            region.fence(self._node.epoch)
            sheet = region.sheet
            if version_of(sheet.extents) != version:
                return None
            contents.check(sheet)
            writing = self._begun(region, next_version(grant.turn, version))
        except DataProblem:
            return None
        # Everybody who shares the memory has what is written there. So who was said to have it may go on to be, which
        # saves a message to it; unless it wants to leave.
        holder = None if data.is_urgent or not self._node.is_neighbour(data.holder) else data.holder
        return Access(contents, region=region, writing=writing, over=version, holder=holder, copies=details.copies)

    def _attached(
        self, grant: Granted, claim: Claim, contents: Contents, details: Details, filled: Region | None
    ) -> Access:
        assert grant.data is not None
        data, regions, job = grant.data, [filled], job_of(self._node.max_seconds)
        start, end = ends_of(claim, details.size)

        def begun() -> tuple[Region, Writing | None]:
            self.leave_behind(claim)
            # What was fetched may be something else when another one has written there.
            region = regions.pop() if regions else None
            if region is None or claim.is_shared:
                region = self.filler.fill(data, details, claim, job)
            contents.check(region.sheet)
            if claim.is_shared:
                return region, None
            if claim.is_plain:
                return region, self._begun(region, next_version(grant.turn, details.version))
            version = part_version(self._node.node, grant.use)
            return region, self._begun(region, version, offset=start, length=end - start)

        region, writing = self.filler.patiently(begun, job)
        self._region = region
        if writing is None:
            view = region.look(offset=start, length=end - start)
            return Access(contents, region=region, seen=view, copies=details.copies)
        over = -1 if data.has_parts else details.version
        return Access(contents, region=region, writing=writing, over=over, copies=details.copies)

    def _made(self, grant: Granted, contents: Contents, *, since: int = -1) -> Access:
        """Make the data, since there is none; what an earlier run left here counts only if it was to be kept.

        If there was a version since, which nobody has any more, nothing of it counts.
        """

        def begun() -> tuple[Region, Writing, int]:
            self.leave_behind(WHOLE)
            region, base = self._left(contents, is_counting=self._node.is_keeping and since < 0)
            if region is None:
                region = self._node.store.create(
                    self._name,
                    contents.size,
                    path=contents.path,
                    form=contents.form,
                    keep_last=self._keep_last,
                    copies=contents.copies,
                )
            return region, self._begun(region, next_version(grant.turn, max(base, since, 0))), base

        # Somebody may still have what was left, or be looking at what was made.
        region, writing, base = self.filler.patiently(begun, job_of(self._node.max_seconds))
        self._region = region
        if base < 0 and contents.initial is not None and len(contents.initial):
            writing.view[:] = contents.initial
        return Access(contents, region=region, writing=writing, copies=region.sheet.copies)

    def leave_behind(self, claim: Claim) -> None:
        """See to it that no process of this host that was taken for dead, and lives, changes what is granted here.

        Raises what became of this process if it is that one, or `Fenced` if it is about to hear of that.
        """
        node = self._node
        node.check()
        region = node.store.region(self._name)
        if region is not None:
            region.fence(node.epoch)
            if claim.covers(WHOLE) and region.is_taken() and node.has_stopped():
                node.store.move(self._name)

    def _begun(self, region: Region, version: int, *, offset: int = 0, length: int | None = None) -> Writing:
        """Begin to write, so that no version is made when others have gone on without this process."""
        writing = region.write(version, offset=offset, length=length)
        writing.epoch = self._node.heard
        writing.level = (-1, -1) if is_part(version) else (version, 0)
        return writing

    def _left(self, contents: Contents, *, is_counting: bool) -> tuple[Region | None, int]:
        """Give the memory that was left here, and its version; it is removed if nothing in it counts."""
        region = self._node.store.region(self._name)
        if region is None:
            return None, -1
        found = newest_on(region.sheet) if is_counting else None
        if found is None:
            self._node.store.remove(self._name)
            return None, -1
        contents.check(region.sheet)
        if region.sheet.level[0] == found:
            region.labels(found)
        else:
            region.recover(found)
        return region, found

    def is_quick(self, grant: Granted, contents: Contents) -> bool:
        """Tell whether to get the data takes no longer than a look: it is in memory that this process has."""
        if grant.data is None:
            return not contents.can_make
        if self._region is None:
            return False
        details = details_from_text(grant.data.details)
        return details is not None and details.birth == self._region.birth and (not details.keep_last or can_draft())

    # --------------------------------------------------------------------------------------------------- telling

    def data_of(self, access: Access) -> Data | None:
        """Say what was released; nothing if nothing was changed."""
        writing, region = access.writing, access.region
        if writing is None or region is None:
            return None
        version = writing.version
        self._is_known = True
        if is_part(version):
            # It is with the data already.
            return None
        holder = self._node.node if access.holder is None else access.holder
        return Data(version, holder, self.details(region, version))

    def details(self, region: Region, version: int) -> str:
        """Say which version is here."""
        sheet = region.sheet
        said = (sheet.birth, sheet.size, sheet.form)
        if said != self._said:
            self._said = said
            self._rest = rest_of(
                sheet.size, sheet.birth, keep_last=sheet.keep_last, form=sheet.form, copies=sheet.copies
            )
        return text_from_details(version, self._rest)

    def lost(self, gone: DataLost | None = None) -> DataLost:
        """Say that data is lost, and what is known of how."""
        if gone is not None and gone.code == "S205":
            return gone
        hint = "`acquire(anew=True)` of the whole makes it anew; `keep_last=True` lets data survive its writer"
        hint += ", and copies on other hosts the loss of one (`copies`)"
        why = self._torn() or ("nobody who is left has a version of it" if gone is None else gone.message)
        return DataLost("S205", f"the data of `{self._name}` is lost: {why}", hint=hint)

    def _torn(self) -> str:
        """Say which bytes somebody of this host was writing when it died, if there is nothing to put back there."""
        with suppress(DataProblem):
            region = self._node.store.region(self._name)
            sheet = None if region is None else region.sheet
            torn = [] if sheet is None else [one for one in sheet.extents if one.version == UNDER_WAY]
            if sheet is not None and torn and not sheet.keep_last:
                which = f"bytes {torn[0].start:,} to {torn[-1].end - 1:,} of {sheet.size:,}"
                return f"a process died while it wrote {which}, and with `keep_last=False` no version before is kept"
        return ""

    def has_newer(self, version: int) -> bool:
        """Tell whether a later version of the whole is on this host: then what is missing is not lost."""
        try:
            region = self._node.store.region(self._name)
            newest = None if region is None else newest_on(region.sheet)
        except DataProblem:
            return False
        return newest is not None and newest > version

    def inventory(self, *, until: float, epoch: int, is_released: bool = False) -> Data | None:
        """Tell which version can be had on this host, whoever wrote it; or that there was one.

        There was one also if some process has released it (`is_released`): its host may be gone, with all that it had.
        That is also said where nobody could look, since too many files are open. From then on no part is changed here
        by who has not heard of the epoch that is about to begin.
        """
        me, is_known = self._node.node, self._is_known or is_released
        looked = when_files_can_be_opened(partial(self._looked, epoch), until=until)
        if looked is None:
            return lost_data(me)
        was_there, found = looked
        return found or (lost_data(me) if is_known or was_there else None)

    def _looked(self, epoch: int) -> tuple[bool, Data | None]:
        """Tell whether there was a version on this host, and what can be had."""
        try:
            with self._node.store.glance(self._name) as region:
                if region is None:
                    return False, None
                with suppress(DataProblem):
                    # If a process was stopped while it changed the card, it changes nothing else.
                    region.bar(epoch)
                sheet = region.sheet
                was_written = version_of(sheet.extents) in (None, UNDER_WAY)
                found = found_on(sheet, self._node.node, is_torn=region.is_torn())
                return sheet.stamps > _STAMPS_OF_MAKING and was_written, found
        except DataProblem:
            return False, None


__all__ = ["Keeping", "found_on", "newest_on"]
