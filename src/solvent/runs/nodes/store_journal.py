"""The journal of a node as a log of a store: whoever can reach the store can go on from it.

It is used like a journal in a file (`net.journal`): `append` takes note, `commit` writes everything noted, and
when that returns it is as safe as the store makes it. A burst of records is one record of the log; a burst that is too
large becomes several, one after the other, and a process that dies in between leaves the first of them, as a torn file
would. A record that is too large by itself is a blob, and the log has its name.

Each burst is appended with the position of the one before as `expected`. Opening the journal appends the number of
the new life. So the process that had the journal before, and was only stopped, cannot append any more: it gets
`Conflict` (E410), says nothing of what it wanted to save, and must stop. It might also have something to say that needs
no record; `is_sure` tells whether nobody can have taken the journal over since a moment at which it was this process's,
by `time.monotonic`; where it does not, the log is looked at first.
"""

from __future__ import annotations

import math
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import msgspec

from solvent.errors import Conflict, NodeProblem, StoreError
from solvent.store.interface import MAX_READ, check_name
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.store.interface import Store

_MAX_BURST_BYTES = 1 << 20
_ROOM = 64
"""What a burst has besides its records."""
_ROOM_EACH = 5
"""What a record has besides its bytes."""


class _Burst(msgspec.Struct, frozen=True, array_like=True):
    """What one commit has written: in which life, and the records; a large one is a blob."""

    life: int
    records: tuple[bytes, ...] = ()
    blob: str = ""


class StoreJournal:
    """The journal of one node in a store.

    `record_type` is what the machine saves. After `open`, `life` is the number of the life that begins (0 at first)
    and `saved` the records of all lives before. With `is_read_only`, `open` only reads: no life begins, and `life` is
    that of whoever has the journal (-1: nobody ever had).
    """

    def __init__(
        self,
        store: Store,
        log: str,
        record_type: Any = Any,
        *,
        is_sure: Callable[[float], bool] = lambda _: True,
        is_read_only: bool = False,
    ) -> None:
        self._store = store
        self._log = check_name(log)
        self._decode = msgspec.msgpack.Decoder(record_type).decode
        self._encode = encoder()
        self._read_burst = msgspec.msgpack.Decoder(_Burst).decode
        self._is_sure = is_sure
        self._is_read_only = is_read_only
        self._noted = list[bytes]()
        self._last = 0
        self._certain_at = -math.inf
        self._is_lost = False
        self.is_open = False
        self.life = 0
        self.saved: tuple[Any, ...] = ()
        self.notes: tuple[str, ...] = ()

    def open(self) -> Self:
        """Read what was saved, and begin a new life; raise `Conflict` if another process did at the same time."""
        saved, life = list[Any](), -1
        for burst in self._bursts():
            life = max(life, burst.life)
            saved.extend(self._records(burst))
        self.saved, self.life = tuple(saved), life
        if not self._is_read_only:
            self.life += 1
            self._write(_Burst(self.life))
            self.is_open = True
        return self

    def append(self, record: Any) -> None:
        """Take note of a record, to be written by the next `commit`."""
        self._noted.append(self._encode(record))

    @property
    def is_pending(self) -> bool:
        """Whether something is noted and not yet written."""
        return bool(self._noted)

    def commit(self) -> None:
        """Write everything noted; when this returns it is safe, and this process still has the journal."""
        if self._is_lost:
            raise Conflict(self._log, expected=self._last, last=self._store.last(self._log))
        if self._noted:
            noted, self._noted = self._noted, []
            # Until all of it is there: after an error, whichever, it may be there or not, or a part of it, and only who
            # reads it again knows. What was noted later must not stand behind a hole.
            self._is_lost = True
            for burst in self._put_together(noted):
                self._write(burst)
            self._is_lost = False
        elif not self._is_sure(self._certain_at):
            self.check()

    def check(self) -> None:
        """Raise `Conflict` if another process has the journal."""
        began = time.monotonic()
        last = self._store.last(self._log)
        if self._is_lost or last != self._last:
            self._is_lost = True
            raise Conflict(self._log, expected=self._last, last=last)
        self._certain_at = began

    def close(self) -> None:
        """Write what is noted, unless the journal is somebody else's; nothing that is lost here was ever said."""
        if self.is_open:
            self.is_open = False
            if self._noted and not self._is_lost:
                with suppress(StoreError):
                    self.commit()

    # ---------------------------------------------------------------------------------------------------- writing

    def _write(self, burst: _Burst) -> None:
        began = time.monotonic()
        self._last = self._store.append(self._log, self._encode(burst), expected=self._last)
        self._certain_at = began

    def _put_together(self, noted: list[bytes]) -> Iterator[_Burst]:
        max_bytes = min(_MAX_BURST_BYTES, self._store.max_record_bytes) - _ROOM
        together, size = list[bytes](), 0
        for record in noted:
            if together and size + len(record) + _ROOM_EACH > max_bytes:
                yield _Burst(self.life, tuple(together))
                together, size = [], 0
            if len(record) + _ROOM_EACH > max_bytes:
                yield _Burst(self.life, blob=self._store.put_blob(record))
            else:
                together.append(record)
                size += len(record) + _ROOM_EACH
        if together:
            yield _Burst(self.life, tuple(together))

    # ---------------------------------------------------------------------------------------------------- reading

    def _bursts(self) -> Iterator[_Burst]:
        self._last = 0
        while True:
            found = self._store.read(self._log, self._last, MAX_READ)
            for record in found:
                try:
                    burst = self._read_burst(record.data)
                except UNREADABLE as error:
                    raise NodeProblem("N112", f"the log {self._log} is no journal: {error}") from error
                self._last = record.position
                yield burst
            if len(found) < MAX_READ:
                return

    def _records(self, burst: _Burst) -> Iterator[Any]:
        records = (self._store.get_blob(burst.blob),) if burst.blob else burst.records
        for record in records:
            try:
                yield self._decode(record)
            except UNREADABLE as error:
                hint = "it was written by another protocol, or by another version of it"
                said = f"the journal {self._log} holds a record that does not fit, at position {self._last}: {error}"
                raise NodeProblem("N113", said, hint=hint) from error


__all__ = ["StoreJournal"]
