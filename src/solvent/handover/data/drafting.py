"""A writing that keeps the version before until the next one is made.

The bytes are changed in a draft, and the changes are done to the file when the writing ends with a version. Everybody
else has the version before until then, and so has whoever comes after a process that died while it wrote.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.handover.data.card import ROOM_BYTES, Redo
from solvent.handover.data.extents import ANOTHER
from solvent.handover.data.redo import MUCH_BYTES, RUNS_ON_CARD, copy, finish, noted, repeat
from solvent.handover.data.writing import Writing, give_room_back

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.handover.data.card import Card
    from solvent.handover.data.memory import Memory
    from solvent.handover.data.redo import Notes
    from solvent.handover.data.writing import Taken

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


__all__ = ["HEAVY", "Drafting"]
