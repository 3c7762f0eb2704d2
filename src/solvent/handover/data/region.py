"""A region: the memory of one resource, as one process sees it.

All processes of a host have the same bytes before them. Who may write them and when is not decided here; but what can
go wrong is noticed:

* While a stretch is written, the process has it locked, and the card says so as soon as it has got the bytes. The
  version is put on the card when the writing is done. A process that dies in between leaves a stretch that is under
  way, and a lock that is free: it is *torn*, and nobody gets it as any version.
* If the resource keeps its last version (`keep_last`), it is written as a draft, and what was changed gets to the
  others' bytes when the writing is done: a process that dies leaves the version before. Where the system cannot tell
  what was changed, and where several versions in a row changed much, what is going to be overwritten is copied first,
  and a torn stretch is put right from the copy.
* Two that write the same stretch at the same time are an error for the second.

Whoever makes or removes something has the folder to itself. The card is written last and removed first in effect, by
what it says, so a process that is killed in the middle leaves something that nobody takes for a resource, and that the
next one that makes it clears away.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.errors import DataLost, DataProblem, Misuse
from solvent.handover.data.arrays import array_of
from solvent.handover.data.card import (
    MAX_PIECES,
    TO_THE_END,
    UNDER_WAY,
    VOID,
    Card,
    Extent,
    Extents,
    Level,
    Sheet,
    first_other,
    part,
    raised,
    too_many_pieces,
    version_of,
    whole,
)
from solvent.handover.data.memory import Memory, can_draft
from solvent.handover.data.writing import (
    Drafting,
    Notes,
    Taken,
    Writing,
    can_have,
    finish,
    give_room_back,
    is_only_kept,
    keep,
    newest,
    put_back,
    repeat,
    restore,
    restored,
    stamped,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_MIN_HEAVY, _HEAVY_LOOK = 3, 16
_CLOSED = -1
"""The birth of memory that was let go of: that of no other."""


class Region:
    """The memory of one resource, shared with the other processes of this host."""

    def __init__(self, card: Card, *, folder: Path, stem: str) -> None:
        sheet = card.sheet()
        name = name_of(stem, sheet)
        own = folder / f"{name}.data"
        self.resource = sheet.resource
        self.birth = sheet.birth
        self._card = card
        self._memory = Memory(Path(sheet.path) if sheet.path else own, is_own=not sheet.path)
        self._kept = folder / f"{name}.kept"
        self._notes = Notes(folder, name)
        self._path = folder / f"{stem}.card"
        #: What this process writes just now.
        self._written = list[Taken]()
        #: And what it fetches.
        self._turns = list[tuple[int, int]]()
        self._guard = threading.RLock()

    @property
    def sheet(self) -> Sheet:
        """What the card says now; raise `DataLost` if the memory was removed."""
        sheet = self._card.sheet()
        if sheet.is_removed:
            raise DataLost("D201", f"`{self.resource}` was removed")
        return self._mended(sheet) if sheet.redo or (sheet.kept and is_only_kept(sheet)) else sheet

    def _mended(self, sheet: Sheet) -> Sheet:
        """Do what was noted down by a process that died before it could do it, or undo what it had not noted."""
        with self._guard:
            for entry in sheet.redo:
                taken = Taken(entry.start, entry.end, (entry.start, entry.end) == (0, sheet.size))
                if self._is_mine(taken) or not self._card.try_take(taken.start, taken.locked):
                    continue
                try:
                    if entry in self._card.sheet().redo:
                        repeat(self._card, self._memory, self._notes, entry)
                        finish(self._card, self._memory, entry, is_alone=taken.is_whole)
                        if entry.runs is None:
                            self._notes.clear(entry.start)
                finally:
                    self._card.give_back(taken.start, taken.locked)
            if is_only_kept(self._card.sheet()):
                self._put_back(Taken(0, sheet.size, is_whole=True))
            return self._card.sheet()

    def _put_back(self, taken: Taken) -> None:
        """Give all stretches back the versions that were kept of them: with another size, none can be had by itself."""
        if not self._is_mine(taken) and self._card.try_take(taken.start, taken.locked):
            try:
                if is_only_kept(self._card.sheet()):
                    put_back(self._card, self._memory, self._kept, 0, self._card.sheet().size)
            finally:
                self._card.give_back(taken.start, taken.locked)

    @property
    def path(self) -> Path:
        """The file of the bytes: one of this memory, or the user's."""
        return self._memory.path

    @property
    def size(self) -> int:
        """How many bytes there are."""
        return self.sheet.size

    @property
    def version(self) -> int | None:
        """The version of all bytes; none if some have another, or are being written."""
        version = version_of(self.sheet.extents)
        return None if version is None or version < 0 else version

    @property
    def newest(self) -> int | None:
        """The newest version that is here, or was kept: the one to go on with if the others died."""
        return newest(self.sheet)

    def is_removed(self) -> bool:
        """Tell whether somebody has removed this memory from the host."""
        return self._card.sheet().is_removed

    def is_busy(self) -> bool:
        """Tell whether a process that is alive writes here just now, this one or another."""
        return bool(self._written) or self._card.is_taken(0, TO_THE_END)

    @property
    def is_used(self) -> bool:
        """Whether this process writes or fetches something here just now."""
        return bool(self._written or self._turns)

    def check(self, version: int, *, offset: int = 0, length: int | None = None) -> None:
        """Raise `DataLost` unless a stretch, or everything, has this version."""
        sheet = self.sheet
        row = part(sheet.extents, *stretch_of(sheet, offset, length))
        other = first_other(row, version)
        if other is not None:
            raise self._gone(version, other)

    def labels(self, version: int, *, offset: int = 0, length: int | None = None) -> tuple[Extents, int]:
        """Return which version each part of a stretch has that is here as a whole, and how many parts were changed.

        What a process that died has left torn is put right. Raises `DataLost` if not everything of it is here.
        """
        sheet = self.sheet
        start, end = stretch_of(sheet, offset, length)
        if sheet.level[0] != version or sheet.level[1] < 0:
            raise DataLost("D201", f"version {version} of `{self.resource}` is not here as a whole")
        if any(one.version < 0 for one in _cut(sheet.extents, start, end)):
            for one in _cut(restored(sheet), start, end):
                if one.version < 0:
                    raise self._gone(version, one)
                self.recover(one.version, offset=one.start, length=one.end - one.start)
            sheet = self.sheet
        return _cut(sheet.extents, start, end), sheet.level[1]

    def reach(self, level: Level, *, is_next: bool = False) -> bool:
        """Note that everything of a level is here, or the last part of it, if it is the next; tell whether it is."""

        def reached(sheet: Sheet) -> Sheet:
            version, parts = sheet.level
            is_due = not is_next or (parts >= 0 and (version, parts + 1) == level)
            return replace(sheet, level=level) if is_due and sheet.level < level else sheet

        return self._card.change(reached).level >= level

    def count(self, level: Level, epoch: int) -> Level:
        """Count a part that was written here before; raise `Fenced` as a writing would. Return the level."""
        return self._card.change(
            lambda sheet: replace(sheet, level=raised(sheet.level, level)), epoch=epoch, is_part=True
        ).level

    def bar(self, epoch: int) -> None:
        """Let nobody change a part here any more who has not heard of an epoch that is about to begin."""
        self._card.bar(epoch)

    def is_torn(self) -> bool:
        """Tell whether something is missing that no living process writes."""
        sheet = self.sheet
        row = sheet.kept if is_only_kept(sheet) else restored(sheet)
        torn = [one for one in row if one.version < 0]
        return bool(torn) and not self._written and not any(_is_taken(self._card, one) for one in torn)

    def read(self, version: int, *, offset: int = 0, length: int | None = None) -> memoryview:
        """Give a read-only view of a version, mapped and not copied; it holds until the next one is written."""
        self.check(version, offset=offset, length=length)
        return self.look(offset=offset, length=length)

    def look(self, *, offset: int = 0, length: int | None = None) -> memoryview:
        """Give a read-only view without a look at versions, for who knows which stretch has which."""
        return self._memory.view(*stretch_of(self.sheet, offset, length)).toreadonly()

    def array(self, version: int, dtype: Any = None, shape: Any = None) -> Any:
        """Give a read-only NumPy array of a version; without a type, the one that was last written here."""
        return array_of(self.read(version), self.sheet.form, dtype, shape)

    def write(self, version: int, *, offset: int = 0, length: int | None = None) -> Writing:
        """Begin to write what will be `version`: everything, or a stretch."""
        writing = self.write_if(None, version, offset=offset, length=length)
        assert writing is not None
        return writing

    def write_if(
        self,
        is_needed: Callable[[Sheet], bool] | None,
        version: int,
        *,
        offset: int = 0,
        length: int | None = None,
        is_kept: bool = True,
    ) -> Writing | None:
        """Begin to write, unless it turns out not to be needed when nobody else writes.

        Where something newer takes the place of what is here, that need not be kept, whatever the resource demands.
        """
        if version < 0:
            raise Misuse("D101", f"{version} is no version; they count from 0")
        with self._guard:
            taken = self._take(offset, length)
            try:
                sheet = self.sheet
                if is_needed is None or is_needed(sheet):
                    return self._begun(taken, version, is_kept=is_kept and sheet.keep_last)
            except BaseException:
                self._give_back(taken)
                raise
            self._give_back(taken)
            return None

    def _begun(self, taken: Taken, version: int, *, is_kept: bool) -> Writing:
        if not taken.is_whole and len(self.sheet.extents) > MAX_PIECES:
            # Said now, and not when the work is done.
            raise too_many_pieces(self.sheet)
        if not self._memory.is_own:
            self._memory.check(taken.end)
        if taken.is_whole and self.sheet.reach:
            give_room_back(self._card, self._memory)
        if is_kept and can_draft() and not (taken.is_whole and _is_rewritten(self.sheet)):
            # What cannot be mapped (too much, or a file of no bytes) is kept as it is where no drafts can be made.
            with suppress(OSError, ValueError):
                return Drafting(
                    self._card, self._memory, self._notes, taken=taken, version=version, on_end=self._give_back
                )
        if is_kept:
            keep(self._card, self._memory, self._kept, taken.start, taken.end)

        def begun(sheet: Sheet) -> Sheet:
            heavy = sheet.heavy + (is_kept and sheet.heavy > 0)
            return stamped(replace(sheet, heavy=heavy), taken.start, taken.end, UNDER_WAY)

        def begin() -> None:
            self._card.change(begun, is_alone=taken.is_whole)

        return Writing(
            self._card,
            self._memory,
            self._kept,
            taken=taken,
            version=version,
            on_begin=begin,
            on_end=self._give_back,
        )

    def recover(
        self, version: int, *, offset: int = 0, length: int | None = None, check: Callable[[], None] | None = None
    ) -> None:
        """Put a version together from what is here and what was kept; raise `DataLost` where that is not possible.

        Whoever may have thought better of it is asked when nobody else writes.
        """
        with self._guard:
            taken = self._take(offset, length)
            try:
                if check is not None:
                    check()
                sheet = self.sheet
                stretch = None if taken.is_whole else (taken.start, taken.end)
                if not can_have(sheet, version, stretch):
                    other = first_other(part(sheet.extents, taken.start, taken.end), version)
                    assert other is not None
                    raise self._gone(version, other, is_free=True)
                restore(self._card, self._memory, self._kept, version, stretch)
            finally:
                self._give_back(taken)

    def mend(self, version: int, *, offset: int, length: int) -> Sheet:
        """Put a stretch right that a process has left torn, if this version was kept of it; nothing newer is lost.

        Give what the card says then.
        """
        sheet, end = self.sheet, offset + length
        if version_of(sheet.extents) == version:
            return sheet
        is_whole = offset == 0 and bool(sheet.kept) and end == sheet.kept[-1].end
        if not is_whole and end > sheet.size:
            return sheet
        row = sheet.extents if is_whole else part(sheet.extents, offset, end)
        if {UNDER_WAY} <= {one.version for one in row} <= {UNDER_WAY, version}:
            stretch = None if is_whole else (offset, end)
            if can_have(sheet, version, stretch):
                self.recover(version, offset=offset, length=None if is_whole else length)
                return self.sheet
        return sheet

    def try_turn(self, start: int, end: int) -> bool:
        """Take the turn to fetch a stretch: one process of a host does, and the others wait for what it gets."""
        with self._guard:
            is_mine = bool(self._turns) and any(one[0] < end and start < one[1] for one in self._turns)
            if not is_mine and self._card.try_turn(start, end):
                self._turns.append((start, end))
                return True
            return False

    def end_turn(self, start: int, end: int) -> None:
        """Let others fetch a stretch."""
        with self._guard:
            self._turns.remove((start, end))
            self._card.end_turn(start, end)

    def is_taken(self) -> bool:
        """Tell whether another process that is alive has some of it to write to."""
        return self._card.is_taken(0, TO_THE_END)

    def move(self, folder: Path, stem: str) -> None:
        """Move what is here to files of its own, away from a process that has it to write to and never ends that.

        Whatever that one writes from now on reaches nobody. Whoever calls this has the folder to itself, and knows that
        no other process may write here. What is torn stays so.
        """
        sheet = self._card.change(lambda sheet: sheet)
        if sheet.path or sheet.redo:
            raise DataProblem("D203", f"`{self.resource}` is being written by a process that was stopped")
        is_kept = is_only_kept(sheet)
        size, row = (sheet.kept[-1].end, sheet.kept) if is_kept else (sheet.size, restored(sheet))
        moved = replace(
            sheet, size=size, extents=row, stamps=sheet.stamps + 1, moves=sheet.moves + 1, kept=(), heavy=0, reach=0
        )
        name = name_of(stem, moved)
        for left in folder.glob(f"{name}.*"):
            # Of who died while it did the same.
            left.unlink()
        memory = Memory(folder / f"{name}.data", is_own=True, is_new=True)
        try:
            memory.reserve(size)
            with self._memory.view(0, min(size, sheet.size)) as old, memory.view(0, len(old)) as new:
                new[:] = old
            for one in row:
                if one.version >= 0 and (is_kept or UNDER_WAY in _versions(sheet, one)):
                    memory.copy_in(self._kept, one.start, one.end)
        finally:
            memory.close()
        card = Card(folder / f"{name}.new", is_new=True)
        card.begin(moved)
        card.fence(self._card.epoch)
        card.bar(self._card.barred)
        card.close()
        (folder / f"{name}.new").rename(self._path)
        self._card.change(lambda sheet: replace(sheet, is_removed=True))
        for file in (self.path, self._kept, *self._notes.files()):
            file.unlink(missing_ok=True)

    def fence(self, epoch: int) -> None:
        """Let nobody make a version here who has not heard of an epoch; raise `Fenced` if there is a later one."""
        self._card.fence(epoch)

    def forget_epoch(self) -> None:
        """Forget the epoch of an earlier run, of which nobody is there any more."""
        self._card.forget_epoch()

    def flush(self) -> None:
        """Wait until a file of the user's is on its disk; memory has none."""
        self._memory.flush()

    def remove(self) -> None:
        """Remove the memory, for all processes of this host; a file of the user's stays."""
        with self._guard:
            taken = self._take(0, None)
            self._card.change(lambda sheet: replace(sheet, is_removed=True), is_alone=True)
            self._memory.remove()
            for file in (self._kept, *self._notes.files(), self._path):
                file.unlink(missing_ok=True)
            self._give_back(taken)

    def close(self) -> None:
        """Let go of it; what is being written is torn then. Nobody takes it for the memory that is there any more."""
        self.birth = _CLOSED
        self._memory.close()
        self._notes.close()
        self._card.close()

    def abandon(self) -> None:
        """Let go of it in a copy of the process."""
        self._memory.close()
        self._notes.close()
        self._card.abandon()

    def _take(self, offset: int, length: int | None) -> Taken:
        """Get the right to write a stretch, or raise `DataProblem`."""
        while True:
            sheet = self.sheet
            start, end = stretch_of(sheet, offset, length)
            taken = Taken(start, end, start == 0 and end == sheet.size)
            if self._is_mine(taken) or not self._card.try_take(start, taken.locked):
                raise DataProblem("D203", f"`{self.resource}` is being written by somebody else")
            if self._card.sheet() is sheet and not _is_unmended(sheet, taken):
                self._written.append(taken)
                return taken
            # Somebody had changed the size just before, and another end may be meant; or has died, and what it left is
            # to be mended, which ends with no lock.
            self._card.give_back(start, taken.locked)

    def _is_mine(self, taken: Taken) -> bool:
        """Tell whether this process has a part of it already; the system would not mind."""
        return bool(self._written) and (
            taken.is_whole or any(one.start < taken.end and taken.start < one.end for one in self._written)
        )

    def _give_back(self, taken: Taken) -> None:
        with self._guard:
            self._written.remove(taken)
            self._card.give_back(taken.start, taken.locked)

    def _gone(self, wanted: int, found: Extent, *, is_free: bool = False) -> DataProblem:
        name = f"version {wanted} of `{self.resource}`"
        if found.version == VOID:
            return DataLost("D201", f"{name} is not here: it was never filled")
        if found.version != UNDER_WAY:
            return DataLost("D201", f"{name} is not here: it is version {found.version}")
        if not is_free and (self._written or _is_taken(self._card, found)):
            return DataProblem("D203", f"{name} is not here: another one is being written just now")
        hint = "fetch it from another host that has it; `keep_last` keeps a copy of the last version"
        return DataLost("D202", f"{name} is not here: it is torn, a process died while it wrote", hint=hint)


def _is_taken(card: Card, stretch: Extent) -> bool:
    return card.is_taken(stretch.start, max(1, stretch.end - stretch.start))


def _cut(row: Extents, start: int, end: int) -> Extents:
    """Cut out a stretch; data of no bytes has a row all the same."""
    return part(row, start, end) if end else row


def _versions(sheet: Sheet, stretch: Extent) -> set[int]:
    return {one.version for one in part(sheet.extents, stretch.start, stretch.end)}


def name_of(stem: str, sheet: Sheet) -> str:
    """Give the name of the files of the bytes; that of the card stays."""
    return f"{stem}-{sheet.moves}" if sheet.moves else stem


def _is_rewritten(sheet: Sheet) -> bool:
    """Tell whether one version after the other changes much: then a copy costs less than a draft.

    Now and then a draft is made all the same, to see whether it is still so.
    """
    return sheet.heavy >= _MIN_HEAVY and sheet.heavy % _HEAVY_LOOK != 0


def _is_unmended(sheet: Sheet, taken: Taken) -> bool:
    """Tell whether who has died has left something to be done in a stretch."""
    left = any(taken.is_whole or (one.start < taken.end and taken.start < one.end) for one in sheet.redo)
    return left or is_only_kept(sheet)


def stretch_of(sheet: Sheet, offset: int, length: int | None) -> tuple[int, int]:
    """Make sure that a stretch lies inside and is not empty, and give its two ends."""
    end = sheet.size if length is None else offset + length
    if not 0 <= offset <= end <= sheet.size or (offset == end and sheet.size):
        raise Misuse("D102", f"{offset} to {end} is no stretch of `{sheet.resource}`, which has {sheet.size} bytes")
    return offset, end


def make(folder: Path, stem: str, sheet: Sheet, *, size: int | None) -> None:
    """Make the files of a resource; without a size, it is as long as the user's file."""
    try:
        _make(folder, stem, sheet, size=size)
    except OSError as error:
        if not sheet.path:
            raise
        # Not all that has a path can be mapped, or be given a length.
        raise DataProblem("D213", f"the file `{sheet.path}` cannot be used: {error.strerror or error}") from error


def _make(folder: Path, stem: str, sheet: Sheet, *, size: int | None) -> None:
    for left in folder.glob(f"{stem}[.-]*"):
        left.unlink()
    own = folder / f"{stem}.data"
    path = Path(sheet.path) if sheet.path else own
    is_new = not sheet.path or (size is not None and not path.exists())
    memory = Memory(path, is_own=not sheet.path, is_new=is_new)
    try:
        if size is None:
            size = memory.length()
        elif sheet.path:
            memory.resize(memory.length(), size)
        else:
            memory.reserve(size)
        card = Card(folder / f"{stem}.card", is_new=True)
        card.begin(replace(sheet, size=size, extents=whole(size, sheet.extents[0].version, 0)))
        card.close()
    except BaseException:
        own.unlink(missing_ok=True)
        raise
    finally:
        memory.close()


def opened(folder: Path, stem: str) -> Region | None:
    """Open what is there; none if nothing is, or if it was never finished or is being removed."""
    try:
        card = Card(folder / f"{stem}.card")
    except FileNotFoundError:
        return None
    except DataProblem:
        return None
    try:
        if not card.is_finished() or card.sheet().is_removed:
            card.close()
            return None
        return Region(card, folder=folder, stem=stem)
    except FileNotFoundError:
        card.close()
        return None
    except BaseException:
        card.close()
        raise


def names_in(folder: Path) -> list[str]:
    """Give the names of the resources that are there."""
    return sorted(sheet.resource for sheet in _sheets(folder))


def owner_of(folder: Path, path: str) -> str | None:
    """Give the name of the resource whose data is in a file of the user's; none if there is none."""
    return next((one.resource for one in _sheets(folder) if one.path and _is_same(one.path, path)), None)


def _sheets(folder: Path) -> Iterator[Sheet]:
    """Read the cards of all that is there, one after the other."""
    for path in folder.glob("*.card"):
        with suppress(FileNotFoundError, DataProblem):
            card = Card(path)
            try:
                sheet = card.sheet() if card.is_finished() else None
            finally:
                card.close()
            if sheet is not None and not sheet.is_removed:
                yield sheet


def _is_same(one: str, other: str) -> bool:
    try:
        return Path(one).samefile(other)
    except OSError:
        return Path(one).resolve() == Path(other).resolve()


__all__ = ["Region", "make", "name_of", "names_in", "opened", "owner_of", "stretch_of"]
