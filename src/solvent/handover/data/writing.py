"""A stretch of memory while one process writes it.

It ends by `commit`, which makes it a version that others can have; by `abandon`, which leaves it torn or puts back what
was kept; or by the death of the process, which is the same as to abandon it.

The view is withdrawn when the writing ends, and arrays become read-only, so that a late write is an error here and not
a riddle elsewhere. What was derived from them (slices, other arrays) cannot be withdrawn: whoever keeps such a thing
writes into what is no longer his.
"""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec.structs import replace

from solvent.errors import Misuse
from solvent.handover.data.arrays import array_of, form_of
from solvent.handover.data.card import TO_THE_END
from solvent.handover.data.extents import ANOTHER, NO_LEVEL, UNDER_WAY, VOID, whole
from solvent.handover.data.kept import put_back, stamped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from types import TracebackType

    from solvent.handover.data.card import Card, Sheet
    from solvent.handover.data.memory import Memory

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


__all__ = ["MAX_BYTES", "MAX_FORM_CHARACTERS", "Taken", "Writing", "give_room_back"]
