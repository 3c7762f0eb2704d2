"""The journal of a run, or of one place of it: one log of a store, which only one process at a time may write.

Whoever opens it reads all of it and appends that it goes on from here. The store takes a record only from who has seen
the last one (`expected`), so whoever had the journal before, and was only stopped, finds out at its next commit. Where
a lease says who may open it, the epochs in the journal grow: who was stopped between the lease and the journal finds
out when it opens it, however much it reads there.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from solvent.errors import Conflict, RecordProblem
from solvent.runs.records import entries
from solvent.runs.records.entries import (
    Answered,
    Called,
    Elsewhere,
    Ended,
    Entry,
    Failure,
    Opened,
    Retried,
    Withdrawn,
)
from solvent.store import Append
from solvent.values import codec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from solvent.store import Store

MIN_BLOB_BYTES = 64 * 1024
"""Values from this size on are blobs: a log that is read again and again stays short."""
MAX_READ = 1000


class Journal:
    """What a run has done, and does."""

    def __init__(self, store: Store, log: str, agent: str, *, is_read_only: bool = False) -> None:
        self.store = store
        self.agent = agent
        self.run = ""
        self.rename(log)
        #: What is yet to be done again.
        self.past = deque[entries.Any]()
        #: How many of these are of the last record: what they have led to may not have been done.
        self.last_entries = 0
        #: How often each call was begun before.
        self.begun: Counter[str] = Counter()
        #: How many attempts of each call were begun before, but for those that were ended by who had made them.
        self.attempts: Counter[str] = Counter()
        #: How often each call was out when who had made it died.
        self.losses: Counter[str] = Counter()
        self.is_read_only = is_read_only
        #: Whether who has opened it had it before, and nobody else since.
        self.goes_on = False
        self._pending: list[Entry] = []
        self._pending_bytes = 0
        #: The record that is being appended, of which nobody knows whether it is there; nothing is written before it.
        self._sealed = b""
        self._last = 0

    def rename(self, log: str) -> None:
        """Be another log, before it is opened."""
        self.log = log
        #: The name of the run: a log of it is `runs/RUN/...`.
        self.run = log.split("/")[1] if log.startswith("runs/") else log

    def open(self, epoch: int = 0, *, since: Collection[int] = ()) -> None:
        """Read what was done, and go on from here; raise `RecordProblem` R402 if that was done in a later epoch.

        Who had it in the epochs `since`, and does not know how far it came, goes on if nobody else had it after that.
        """
        last_at, epoch_before, out = 0, 0, set[str]()
        for position, entry in read_journal(self.store, self.log):
            self._last = position
            self._count(entry, out)
            if isinstance(entry, Opened):
                epoch_before = max(epoch_before, entry.epoch)
            if isinstance(entry, Opened | Retried | Withdrawn | Ended):
                continue
            if position != last_at:
                last_at, self.last_entries = position, 0
            if not isinstance(entry, Called):
                self.past.append(entry)
                self.last_entries += 1
        self.goes_on = epoch_before in since
        if not self.goes_on:
            self.losses.update(out)
        if self.is_read_only:
            return
        if 0 < epoch <= epoch_before:
            raise self._another()
        self.note(Opened(self.agent, time.time(), epoch, self.goes_on))
        self.commit()

    def _count(self, entry: entries.Any, out: set[str]) -> None:
        """Count calls; `out` are those that are out."""
        match entry:
            case Called(key):
                self.begun[key] += 1
                self.attempts[key] += 1
                out.add(key)
            case Retried(key):
                self.attempts[key] += 1
            case Answered(key):
                out.discard(key)
            case Withdrawn(key):
                self.attempts[key] -= 1
                out.discard(key)
            case Opened(goes_on=False):
                self.losses.update(out)
                out.clear()
            case _:
                pass

    def note(self, entry: Entry) -> None:
        """Write something down; it counts from the next `commit` on."""
        self._pending.append(entry)

    def called(self, key: str) -> None:
        """Note that a call is about to be made."""
        self.note(Called(key, time.time()))

    def retried(self, key: str) -> None:
        """Note that a further attempt of a call is about to be made."""
        self.note(Retried(key, time.time()))

    def answered(self, key: str, attempts: int, value: Any, failure: Failure | None) -> str:
        """Note an answer; say why its value cannot be kept, if so; raise `MemoryError` where that runs out."""
        now, why = time.time(), ""
        if failure is not None:
            self.note(Answered(key, now, attempts, failure=failure))
            return ""
        try:
            data = codec.pieces(value)
            room = self.store.max_record_bytes // 2
            if len(data) < MIN_BLOB_BYTES and self._pending_bytes + len(data) < room:
                # What is noted together is one record, and that may be only so long.
                self._pending_bytes += len(data)
                self.note(Answered(key, now, attempts, b"".join(data)))
            else:
                self.note(Answered(key, now, attempts, blob=self.store.put_blob(data)))
        except codec.Unrecordable as error:
            why = str(error)
            self.note(Answered(key, now, attempts, is_unkept=True))
        return why

    def value_of(self, answer: Answered) -> Any:
        """Give the value of an answer."""
        data = self.store.get_blob(answer.blob) if answer.blob else answer.value
        return codec.decode(data)

    def taken(self) -> list[Append]:
        """Give what was written down, if anything, for somebody who appends it and tells by `kept` where.

        Until that is told nothing more is given: a record behind one that is not there would be read as if nothing had
        happened between them.
        """
        if self._sealed:
            raise RecordProblem("R402", f"nobody knows where `{self.log}` ends", hint="open it again")
        record = self._seal()
        return [Append(self.log, record, self._last)] if record else []

    def _seal(self) -> bytes:
        """Make one record of what was written down, if anything: it counts as a whole, however much it is."""
        if self._sealed or not self._pending:
            return self._sealed
        record = entries.write(self._pending)
        if len(record) > self.store.max_record_bytes // 2:
            record = entries.write([Elsewhere(self.store.put_blob(record))])
        # In one step, here and below: nothing, not even Ctrl-C, comes between two of these assignments.
        self._sealed, self._pending, self._pending_bytes = record, [], 0
        return record

    @property
    def position(self) -> int:
        """Where the last record is."""
        return self._last

    def kept(self, position: int) -> None:
        """Hear where the last record is that was taken."""
        self._last, self._sealed = position, b""

    def commit(self) -> None:
        """Keep what was written down; raise `RecordProblem` if somebody else has the journal now."""
        if self.is_read_only:
            self._pending.clear()
            return
        # One that was being appended when an error came is first, and is as it was.
        while record := self._seal():
            try:
                position = self.store.append(self.log, record, expected=self._last)
            except Conflict as error:
                found = self._position_of(record)
                if found is None:
                    raise self._another() from error
                position = found
            self.kept(position)

    def end(self, state: str) -> bool:
        """Note how it ended, and nothing of what was not kept yet; raise `RecordProblem` R402 as `commit` does."""
        self._sealed = b""
        self._pending = [Ended(state, time.time())]
        self.commit()
        return True

    def _another(self) -> RecordProblem:
        said = f"another process goes on with `{self.log}`"
        return RecordProblem("R402", said, hint="this one stops; nothing is lost")

    def _position_of(self, record: bytes) -> int | None:
        """Give where a record is that was appended, if it is there: one whose answer was lost may have been taken."""
        found = self.store.read(self.log, self._last, 2)
        return found[0].position if len(found) == 1 and found[0].data == record else None


def read_journal(store: Store, log: str) -> Iterator[tuple[int, entries.Any]]:
    """Give the entries of a journal with their positions."""
    after = 0
    while True:
        found = store.read(log, after, MAX_READ)
        for record in found:
            try:
                noted = entries.read(record.data, store.get_blob)
            except ValueError as error:
                raise RecordProblem("R403", f"record {record.position} of `{log}` does not read: {error}") from None
            for entry in noted:
                yield record.position, entry
        if len(found) < MAX_READ:
            return
        after = found[-1].position


__all__ = ["MIN_BLOB_BYTES", "Journal", "read_journal"]
