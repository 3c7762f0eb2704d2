"""A stretch of memory while one process writes it.

It ends by `commit`, which makes it a version that others can have; by `abandon`, which leaves it torn or puts back what
was kept; or by the death of the process, which is the same as to abandon it.

The view is withdrawn when the writing ends, and arrays become read-only, so that a late write is an error here and not
a riddle elsewhere. What was derived from them (slices, other arrays) cannot be withdrawn: whoever keeps such a thing
writes into what is no longer his.

Where the last version is kept, it is mostly written as a *draft* (`Drafting`): the changes are done to the file when
the writing ends with a version. Everybody else has the version before until then, and so has whoever comes after a
process that died while it wrote. The changes are put into the file in three steps: the changed runs are written to a
file beside it; the card says that they are there, and from then on the version is made; they are copied to their
places, and the card says that this was done. A process that dies before the second step leaves the version before, one
that dies after it leaves what anybody can finish, as often as it takes. A few changes have room on the card itself,
which saves the first step.

Where no drafts can be made, what is going to be overwritten is copied to a file of its own first, so that a process
that dies while it writes takes nothing along but its own work. The copy costs memory and time in proportion to the
stretch that is written; a draft costs them in proportion to what is changed.
"""

from __future__ import annotations

import mmap
import os
import weakref
from array import array
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec.structs import replace

from solvent.errors import DataProblem, Misuse
from solvent.handover.data.arrays import array_of, form_of
from solvent.handover.data.card import (
    ANOTHER,
    NO_LEVEL,
    ROOM_BYTES,
    TO_THE_END,
    UNDER_WAY,
    VOID,
    Extent,
    Extents,
    Level,
    Redo,
    marked,
    part,
    raised,
    resized,
    version_of,
    whole,
)
from solvent.handover.data.opening import opening

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType

    from solvent.handover.data.card import Card, Sheet
    from solvent.handover.data.memory import Draft, Memory


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


MAX_FORM_CHARACTERS = 400
MAX_BYTES = 1 << 36
"""How many bytes a resource may have."""


class Taken(NamedTuple):
    """A stretch that one process has to itself."""

    start: int
    end: int
    is_whole: bool

    @property
    def locked(self) -> int:
        """The length of the lock: who has everything also has what may be added."""
        return TO_THE_END if self.is_whole else self.end - self.start


def give_room_back(card: Card, memory: Memory) -> None:
    """Give back the room that was asked for and is not used, by this process or by one that died; for who is alone."""
    sheet = card.sheet()
    if sheet.reach:
        memory.resize(max(sheet.reach, sheet.size), sheet.size)
        card.change(lambda old: replace(old, reach=0), is_alone=True)


class Writing:
    """What `Region.write` gives: a stretch from `start` to before `end` that will be `version`."""

    def __init__(
        self,
        card: Card,
        memory: Memory,
        kept: Path | None,
        *,
        taken: Taken,
        version: int,
        on_end: Callable[[Taken], None],
        on_begin: Callable[[], None] | None = None,
    ) -> None:
        """Call `on_begin` before somebody gets the bytes to change them, and `on_end` when nobody may any more."""
        self.start, self.end, self._is_whole = taken
        self.version = version
        #: The level that it belongs to; and the one that the memory has reached by it.
        self.level = self.reached = NO_LEVEL
        #: The last epoch that its process has heard of, where that matters.
        self.epoch: Callable[[], int] | None = None
        self.is_over = False
        #: The runs of bytes that were changed, when it is over; none if that is not known.
        self.changes: list[tuple[int, int]] | None = None
        self._taken = taken
        self._card = card
        self._memory = memory
        self._kept = kept
        self._on_end = on_end
        self._on_begin = on_begin
        self._view: memoryview | None = None
        #: What the bytes are going to be, if that was said.
        self._form: str | None = None
        self._arrays = list[weakref.ref[Any]]()

    @property
    def is_whole(self) -> bool:
        """Whether it is everything."""
        return self._is_whole

    @property
    def view(self) -> memoryview:
        """The bytes, mapped and not copied, to be changed as long as this writing goes on."""
        self._go_on()
        if self._view is None:
            self._begin()
            self._view = self._mapped()
        return self._view

    @property
    def form(self) -> str:
        """What the bytes are, or are going to be."""
        return self._card.sheet().form if self._form is None else self._form

    def array(self, dtype: Any = None, shape: Any = None, *, is_told: bool = True) -> Any:
        """Give a NumPy array over the bytes; without a type, the one that was last written here.

        Those that read them are told the type, unless it is only how this process wants to see them.
        """
        array = array_of(self.view, self.form, dtype, shape)
        self._arrays.append(weakref.ref(array))
        if self._is_whole and dtype is not None and is_told:
            self._form = form_of(array)
        return array

    def resize(self, size: int) -> None:
        """Change the size of the resource. What lies beyond the old one is zero; views and arrays are given anew."""
        self._go_on()
        if not self._is_whole:
            raise Misuse("D102", "only who writes all of a resource can change its size")
        if not 0 <= size <= MAX_BYTES:
            raise Misuse("D102", f"{size:,} bytes is no size: from 0 to {MAX_BYTES:,} are allowed")
        self._withdraw()
        self._begin()
        self._to_size(size)
        self.end = size

    def describe(self, form: str) -> None:
        """Say what the bytes are, for those that read the version that is made here."""
        self._go_on()
        if len(form) > MAX_FORM_CHARACTERS:
            raise Misuse("D102", f"a form has at most {MAX_FORM_CHARACTERS} characters")
        self._form = form

    def commit_until(self, place: int) -> None:
        """Make a version of the first part, and go on with the rest."""
        self._go_on()
        assert self.start < place < self.end
        self._withdraw()
        self._card.change(lambda sheet: stamped(sheet, self.start, place, self.version, self.level))
        self.start = place

    def commit(self, version: int | None = None) -> None:
        """Make a version of it: the one that was said at the beginning, or another.

        Raises `Fenced` if a later epoch than `epoch` gives is on the card: it can be tried again.
        """
        ended = self._ended(version)
        self._withdraw()
        self._mark(ended)
        self._over()

    def abandon(self) -> None:
        """End without a version: what was kept is put back; where nothing was, the stretch is torn."""
        if not self.is_over:
            self._withdraw()
            try:
                if self._kept is not None and self._on_begin is None and not self._card.sheet().is_removed:
                    put_back(self._card, self._memory, self._kept, self.start, self.end)
            finally:
                self._over()

    def leave(self) -> None:
        """End without a version, and put nothing back: somebody will go on here."""
        if not self.is_over:
            self._withdraw()
            self._over()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            self.abandon()
        elif not self.is_over:
            self.commit()

    def _go_on(self) -> None:
        if self.is_over:
            raise Misuse("D103", "this writing is over; begin another one")

    def _begin(self) -> None:
        if self._on_begin is not None:
            self._on_begin()
            # Not before: where the card could not be changed, nobody gets the bytes the next time either.
            self._on_begin = None

    def _ended(self, version: int | None) -> int:
        """Give the version that is made."""
        self._go_on()
        ended = self.version if version is None else version
        if ended < VOID:
            raise Misuse("D101", f"{ended} is no version; they count from 0")
        return ended

    def _mark(self, version: int) -> None:
        """Put the version on the card."""
        form = self._form

        def done(sheet: Sheet) -> Sheet:
            marked = stamped(sheet, self.start, self.end, version, self.level)
            return marked if form is None else replace(marked, form=form)

        self.reached = self._card.change(
            done, is_alone=self._is_whole, epoch=self._heard(), is_part=self.level[1] == ANOTHER
        ).level

    def _heard(self) -> int | None:
        """Give the last epoch that its process has heard of, if that matters."""
        return None if self.epoch is None else self.epoch()

    def _mapped(self) -> memoryview:
        """Map the bytes."""
        return self._memory.view(self.start, self.end)

    def _to_size(self, size: int) -> None:
        """See to it that there are so many bytes."""
        old = self._card.sheet().size
        if size > old:
            self._reserve(size)
        else:
            self._memory.resize(old, size)
        self._card.change(
            lambda sheet: replace(
                sheet, size=size, reach=0, stamps=sheet.stamps + 1, extents=whole(size, UNDER_WAY, sheet.stamps + 1)
            )
        )

    def _reserve(self, size: int) -> None:
        """See to it that there is room for more bytes, which is given back if they never come."""
        self._card.change(lambda sheet: replace(sheet, reach=size), is_alone=True)
        self._memory.reserve(size)

    def _withdraw(self) -> None:
        if self._view is not None:
            view, self._view = self._view, None
            # A `with` for every writing would cost more than the rest of this.
            try:  # noqa: SIM105
                view.release()
            except BufferError:
                pass
        if self._arrays:
            for reference in self._arrays:
                array = reference()
                if array is not None:
                    array.setflags(write=False)
            self._arrays.clear()

    def _over(self) -> None:
        self.is_over = True
        self._on_end(self._taken)


HEAVY = 4
"""A version that changes more than one byte in so many is heavy: to copy what it changes would have been cheaper."""


class Drafting(Writing):
    """What `Region.write` gives where the last version is kept."""

    def __init__(
        self,
        card: Card,
        memory: Memory,
        notes: Notes,
        *,
        taken: Taken,
        version: int,
        on_end: Callable[[Taken], None],
    ) -> None:
        super().__init__(card, memory, None, taken=taken, version=version, on_end=on_end)
        self._notes = notes
        self._draft = memory.draft(taken.start, taken.end, is_whole=taken.is_whole)
        #: How far the bytes of the draft have ever reached.
        self._most = taken.end

    def commit(self, version: int | None = None) -> None:
        """Make a version of it: note the changes down, do them, and say so."""
        ended = self._ended(version)
        if not self._memory.is_own:
            # What is noted down must have a place to be put into.
            self._memory.check(max(self.end, self._taken.end))
        self._withdraw()
        own = self._draft.changed(self.end)
        size = sum([last - first for first, last in own])
        is_few = self._is_whole and size <= ROOM_BYTES and len(own) <= RUNS_ON_CARD
        if is_few:
            self._do_few(own, ended)
        else:
            self._do_many(own, ended, size)
        self.changes = own if self.end == self._taken.end == self._most else None
        # Pages behind the end are this process's own as well, and nobody would bring them up to date.
        self._over(own if is_few and self.end == self._draft.end else None)

    def _do_few(self, own: list[tuple[int, int]], version: int) -> None:
        """Note a few changes down on the card, do them, and say so."""
        card, draft, memory = self._card, self._draft, self._memory
        pieces = [(first, draft.bytes_of(first, last)) for first, last in own]
        if self.end == self._taken.end == self._most:
            # What was changed earlier is still the process's own.
            pieces = [piece for piece in pieces if memory.bytes_of(piece[0], piece[0] + len(piece[1])) != piece[1]]
            if not pieces:
                self._mark(version)
                return
        card.note(b"".join([data for _, data in pieces]))
        runs = tuple([(first, first + len(data)) for first, data in pieces])
        entry = Redo(0, self._taken.end, self.end, version, self._form, runs, self.level)
        is_part = self.level[1] == ANOTHER
        card.change(lambda sheet: noted(sheet, entry), is_alone=True, epoch=self._heard(), is_part=is_part)
        for first, data in pieces:
            memory.put(first, data)
        self.reached = finish(card, memory, entry, is_alone=True).level

    def _do_many(self, runs: list[tuple[int, int]], version: int, size: int) -> None:
        """Note the changes down in a file, do them, and say so."""
        card, is_alone = self._card, self._is_whole
        is_heavy, is_much = self._is_whole and HEAVY * size > self.end, size > MUCH_BYTES
        self._notes.write(self._draft, runs, is_dropped=is_much)
        entry = Redo(self.start, self._taken.end, self.end, version, self._form, level=self.level)
        is_part = self.level[1] == ANOTHER
        card.change(lambda sheet: noted(sheet, entry), is_alone=is_alone, epoch=self._heard(), is_part=is_part)
        if is_much:
            repeat(card, self._memory, self._notes, entry)
        else:
            copy(self._draft, runs, self._memory)
        self.reached = finish(card, self._memory, entry, is_alone=is_alone, is_heavy=is_heavy).level
        self._notes.clear(self.start)

    def abandon(self) -> None:
        """End without a version: what was there is still there."""
        self.leave()

    def leave(self) -> None:
        """End without a version: what was there is still there."""
        if not self.is_over:
            self._withdraw()
            if self._most > self._taken.end:
                give_room_back(self._card, self._memory)
            self._over()

    def _over(self, own: list[tuple[int, int]] | None = None) -> None:
        self._memory.end_draft(self._draft, own)
        super()._over()

    def _mapped(self) -> memoryview:
        return self._draft.view(self.start, self.end) if self.end else memoryview(bytearray())

    def _to_size(self, size: int) -> None:
        most, self._most = self._most, max(self._most, size)
        if size > self._draft.end:
            old, runs = self._draft, self._draft.changed(self.end)
            self._reserve(size)
            self._draft = self._memory.draft(0, size, is_whole=True)
            for first, last in runs:
                with self._draft.view(first, last) as place, old.view(first, last) as view:
                    place[:] = view
            old.close()
        if self.end < size and self.end < most:
            # It was made shorter before.
            with self._draft.view(self.end, min(size, most)) as view:
                view[:] = bytes(len(view))


__all__ = [
    "HEAVY",
    "MAX_BYTES",
    "MAX_FORM_CHARACTERS",
    "MUCH_BYTES",
    "RUNS_ON_CARD",
    "Drafting",
    "Notes",
    "Taken",
    "Writing",
    "can_have",
    "copy",
    "finish",
    "give_room_back",
    "is_only_kept",
    "keep",
    "newest",
    "noted",
    "put_back",
    "repeat",
    "restore",
    "restored",
    "stamped",
]
