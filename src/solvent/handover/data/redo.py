"""What a writing changed, noted down before it is done to the bytes that others have.

A version that is released is put into the file in three steps: the changed runs are written to a file beside it; the
card says that they are there, and from then on the version is made; they are copied to their places, and the card says
that this was done. A process that dies before the second step leaves the version before, one that dies after it leaves
what anybody can finish, as often as it takes. A few changes have room on the card itself, which saves the first step.
"""

from __future__ import annotations

import mmap
import os
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.errors import DataProblem
from solvent.handover.data.extents import UNDER_WAY, Extent, Extents, marked, raised, whole
from solvent.handover.data.opening import opening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.handover.data.card import Card, Redo, Sheet
    from solvent.handover.data.draft import Draft
    from solvent.handover.data.memory import Memory

_RUNS_AT_ONCE = 512
RUNS_ON_CARD = 16
"""How many runs are noted down on the card, if their bytes have room there."""
_COPY_BYTES = 4 * 1024 * 1024
MUCH_BYTES = 8 * 1024 * 1024
"""Changes that are more than this are not kept twice: what is noted down is dropped from the draft."""
#: A file that is no longer than this keeps its memory, so that the next one need not ask for it.
_KEPT_BYTES = 64 * 1024
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class Notes:
    """The files of one memory in which changes are noted down: one for each stretch that is being released."""

    def __init__(self, folder: Path, stem: str) -> None:
        self._folder = folder
        self._stem = stem
        #: That of the whole memory stays open.
        self._file = -1

    def path(self, start: int) -> Path:
        """Give the file of the stretch that begins there."""
        return self._folder / (f"{self._stem}.redo" if start == 0 else f"{self._stem}.{start:x}.redo")

    def write(self, draft: Draft, runs: list[tuple[int, int]], *, is_dropped: bool = False) -> None:
        """Note down the runs of a draft; raise `DataProblem` where there is no room.

        What is noted down need not stay in the draft; then there is never more than one copy of what was changed.
        """
        file = self._opened(draft.start)
        try:
            numbers = array("Q", [len(runs)])
            for run in runs:
                numbers.extend(run)
            place = os.pwrite(file, numbers, 0)
            if is_dropped:
                for first, last in _pieces(runs):
                    place = _written(file, [draft.view(first, last)], place)
                    draft.drop(first, last)
                return
            for number in range(0, len(runs), _RUNS_AT_ONCE):
                views = [draft.view(*run) for run in runs[number : number + _RUNS_AT_ONCE]]
                place = _written(file, views, place)
        except OSError as error:
            with suppress(OSError):
                os.ftruncate(file, 0)
            raise DataProblem("D211", f"there is no room for what was changed: {error.strerror}") from error
        finally:
            if file != self._file:
                os.close(file)

    def repeat(self, start: int, memory: Memory) -> None:
        """Do to the memory what is noted down."""
        with opening():
            file = os.open(self.path(start), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            count = array("Q", os.pread(file, 8, 0))[0]
            runs = array("Q", _read(file, 8, 16 * count))
            place = 8 + 16 * count
            for first, last in zip(runs[::2], runs[1::2], strict=True):
                with memory.view(first, last) as view:
                    place = _filled(file, view, place)
        except (IndexError, ValueError) as error:
            raise DataProblem("D206", "what was noted down of a version is damaged") from error
        finally:
            os.close(file)

    def clear(self, start: int) -> None:
        """Forget what was noted down: it was done."""
        if start:
            self.path(start).unlink(missing_ok=True)
            return
        file = self._opened(0)
        if os.fstat(file).st_size > _KEPT_BYTES:
            os.ftruncate(file, 0)

    def files(self) -> list[Path]:
        """Give all that are there."""
        return [self.path(0), *self._folder.glob(f"{self._stem}.*.redo")]

    def close(self) -> None:
        """Let go of them."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _opened(self, start: int) -> int:
        if self._file >= 0 and not start:
            return self._file
        with opening():
            file = os.open(self.path(start), _FLAGS, 0o600)
        if not start:
            self._file = file
        return file


def repeat(card: Card, memory: Memory, notes: Notes, entry: Redo) -> None:
    """Do to the memory what is noted down, on the card or in a file."""
    if entry.runs is None:
        notes.repeat(entry.start, memory)
        return
    noted_down = card.room(sum(last - first for first, last in entry.runs))
    for first, last in entry.runs:
        memory.put(first, noted_down[: last - first])
        noted_down = noted_down[last - first :]


def copy(draft: Draft, runs: list[tuple[int, int]], memory: Memory) -> None:
    """Copy runs of a draft to their places."""
    # In parts, so that other threads get a chance in between.
    for start, end in _pieces(runs):
        with memory.view(start, end) as place, draft.view(start, end) as view:
            place[:] = view


def _pieces(runs: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Cut long runs, at ends of pages."""
    for first, last in runs:
        start = first
        while start < last:
            end = min(last, (start + _COPY_BYTES) // mmap.PAGESIZE * mmap.PAGESIZE)
            yield start, end
            start = end


def noted(sheet: Sheet, entry: Redo) -> Sheet:
    """Say on a card that changes are noted down; with them the version is made."""
    row = _marked(sheet, entry, sheet.size, UNDER_WAY)
    return replace(sheet, stamps=sheet.stamps + 1, extents=row, redo=(*sheet.redo, entry))


def finish(card: Card, memory: Memory, entry: Redo, *, is_alone: bool, is_heavy: bool = False) -> Sheet:
    """Say that what was noted down is done, and whether it was much; give the memory its new size."""
    old = card.sheet()
    is_whole = (entry.start, entry.end) == (0, old.size)
    size = entry.size if is_whole else old.size
    if is_whole:
        memory.resize(max(old.size, old.reach), size)

    def done(sheet: Sheet) -> Sheet:
        row = _marked(sheet, entry, size, entry.version)
        rest = tuple(one for one in sheet.redo if one != entry)
        form = sheet.form if entry.form is None else entry.form
        heavy = sheet.heavy + 1 if is_heavy else 0
        kept = sheet.kept if is_heavy else ()
        sheet = replace(sheet, extents=row, form=form, redo=rest, heavy=heavy, kept=kept, stamps=sheet.stamps + 1)
        sheet = replace(sheet, level=raised(sheet.level, entry.level))
        return replace(sheet, size=size, reach=0) if is_whole else sheet

    return card.change(done, is_alone=is_alone)


def _marked(sheet: Sheet, entry: Redo, size: int, version: int) -> Extents:
    stamp = sheet.stamps + 1
    if (entry.start, entry.end) == (0, sheet.extents[-1].end):
        return whole(size, version, stamp)
    return marked(sheet.extents, Extent(entry.start, entry.end, version, stamp))


def _written(file: int, views: list[memoryview], place: int) -> int:
    """Write views one after the other; give the place behind them."""
    rest = views
    while rest:
        count = os.pwritev(file, rest, place)
        place += count
        while rest and count >= len(rest[0]):
            count -= len(rest[0])
            rest[0].release()
            rest = rest[1:]
        if rest and count:
            rest = [rest[0][count:], *rest[1:]]
    return place


def _read(file: int, place: int, length: int) -> bytes:
    data = bytearray(length)
    with memoryview(data) as view:
        _filled(file, view, place)
    return bytes(data)


def _filled(file: int, view: memoryview, place: int) -> int:
    """Read into a view; give the place behind what was read."""
    done = 0
    while done < len(view):
        with view[done:] as rest:
            count = os.preadv(file, [rest], place + done)
        if not count:
            raise ValueError("too short")
        done += count
    return place + done


__all__ = ["MUCH_BYTES", "RUNS_ON_CARD", "Notes", "copy", "finish", "noted", "repeat"]
