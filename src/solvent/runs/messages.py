"""Messages between the shards of a run: molecules that are meant for a task of another shard.

A message is appended to the log of the run's messages; those that one agent has at a time are one record, since records
cost more than what is in them. What one shard sends to another is numbered, so that what is sent again, because nobody
knows whether it was sent, is taken once.
"""

from __future__ import annotations

from collections import Counter, deque
from struct import Struct
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import RecordProblem
from solvent.lang.molecule import Symbol
from solvent.runs.kept import MIN_BLOB_BYTES, Kept
from solvent.runs.registry import messages_of, run_at
from solvent.store import Append
from solvent.values import codec
from solvent.values.encoding import encoder, whole
from solvent.values.limits import UNREADABLE
from solvent.workflows.rule_functions import molecule_of, value_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from solvent.lang.molecule import Molecule
    from solvent.store import Record, Store

_WITH_VALUE = frozenset((Symbol("PASS"), Symbol("SIGNAL")))
"""The kinds of molecules whose last part is a value of the user's."""
_FRAME_BYTES = 32
"""What one molecule takes besides its parts, at most."""


class Encoded(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One molecule: its parts, and of a result that is passed on or signalled the value, or the blob that has it."""

    parts: bytes
    value: bytes = b""
    blob: str = ""


class SentSignal(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A signal from outside; its id is the sender's, so that it is heard once however often it is sent."""

    id: str
    name: str
    at: float
    value: Kept = Kept()


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one shard sends to another at a time: molecules, numbered from `first` on; or a signal from outside."""

    sender: int
    first: int
    molecules: tuple[Encoded, ...]
    signal: SentSignal | None = None


_ENVELOPE = Struct(">HI")
"""The shard that a message is for, and its size."""
_ENCODE = encoder()
_DECODE = msgspec.msgpack.Decoder(Message).decode


def write(message: Message) -> bytes:
    """Make a record of a message."""
    return _ENCODE(message)


def read(data: bytes) -> Message:
    """Give the message of a record; `ValueError` if it is none."""
    try:
        return _DECODE(data)
    except UNREADABLE as error:
        raise ValueError(str(error)) from error


def addressed(to: int, message: Message) -> bytes:
    """Put a message into an envelope; envelopes may stand one behind the other."""
    data = write(message)
    return _ENVELOPE.pack(to, len(data)) + data


def packed(envelopes: Iterable[bytes], max_bytes: int) -> Iterator[bytes]:
    """Make records of envelopes, of at most so many bytes unless one alone has more."""
    some, size = list[bytes](), 0
    for one in envelopes:
        if some and size + len(one) > max_bytes:
            yield b"".join(some)
            some, size = [], 0
        some.append(one)
        size += len(one)
    if some:
        yield b"".join(some)


def dealt(record: Record, shards: Collection[int]) -> Iterator[tuple[int, Record]]:
    """Give the messages of a record that are for these shards; of what does not read each gets all, and will say so."""
    data, at = record.data, 0
    found: list[tuple[int, Record]] = []
    while at < len(data):
        begin = at + _ENVELOPE.size
        to, size = _ENVELOPE.unpack_from(data, at) if begin <= len(data) else (0, len(data))
        at = begin + size
        if at > len(data):
            return ((shard, record) for shard in shards)
        if to in shards:
            found.append((to, record._replace(data=data[begin:at])))
    return iter(found)


def parted(molecules: list[Encoded], max_bytes: int) -> Iterator[tuple[Encoded, ...]]:
    """Divide molecules into messages of at most so many bytes, unless one molecule alone has more."""
    if len(molecules) * MIN_BLOB_BYTES <= max_bytes:
        yield tuple(molecules)
        return
    some, size = list[Encoded](), 0
    for one in molecules:
        own = len(one.parts) + len(one.value) + len(one.blob) + _FRAME_BYTES
        if some and size + own > max_bytes:
            yield tuple(some)
            some, size = [], 0
        some.append(one)
        size += own
    yield tuple(some)


class Writer:
    """Encodes molecules; a value that goes to several shards is written once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: tuple[Any, bytes, str] | None = None

    def encode(self, molecule: Molecule) -> Encoded:
        """Encode a molecule; raise `values.Unrecordable` if its value is no data."""
        if molecule[0] not in _WITH_VALUE:
            return Encoded(codec.encode(tuple(molecule)))
        *parts, result = molecule
        if self._last is None or self._last[0] is not result:
            data = codec.pieces(value_of(result))
            blob = self._store.put_blob(data) if len(data) >= MIN_BLOB_BYTES else ""
            self._last = result, b"" if blob else whole(data), blob
        return Encoded(codec.encode(tuple(parts)), *self._last[1:])


def molecule_from(encoded: Encoded, store: Store) -> Molecule:
    """Give the molecule that was encoded."""
    parts = codec.decode(encoded.parts)
    if not (isinstance(parts, tuple) and parts and isinstance(parts[0], Symbol)):
        raise ValueError("no molecule")
    if parts[0] not in _WITH_VALUE:
        return parts
    data = store.get_blob(encoded.blob) if encoded.blob else encoded.value
    return (*parts, molecule_of(codec.decode(data)))


class Mailbox:
    """The messages of one shard of a run; `shard_of` says at which shard each task is."""

    def __init__(self, store: Store, prefix: str, shard: int, shard_of: Mapping[Molecule, int]) -> None:
        self.run = run_at(prefix)
        self.shard = shard
        #: How many molecules were sent to each shard, and heard of each.
        self.sent: Counter[int] = Counter()
        self.heard: Counter[int] = Counter()
        #: Up to where messages have come here.
        self.position = 0
        #: The signals among the messages that were taken.
        self.signals: list[SentSignal] = []
        self.store = store
        self._log = messages_of(prefix)
        self._shard_of = shard_of
        self._writer = Writer(store)
        self._outgoing: dict[int, list[Encoded]] = {}
        self._arrived = deque["Record"]()
        # What has come before something that was sent before it, by sender and number.
        self._ahead: dict[tuple[int, int], Molecule] = {}

    def has(self, task: Molecule) -> bool:
        """Whether a task is at this shard."""
        return self._shard_of[task] == self.shard

    def send(self, task: Molecule, molecule: Molecule, *, was_sent: bool = False) -> None:
        """Send something to a task of another shard; what was sent before is only counted."""
        to = self._shard_of[task]
        self.sent[to] += 1
        if not was_sent:
            self._outgoing.setdefault(to, []).append(self._writer.encode(molecule))

    def outgoing(self) -> list[Append]:
        """Give what is to be appended, once."""
        found = []
        max_bytes = self.store.max_record_bytes // 2
        for to, molecules in self._outgoing.items():
            first = self.sent[to] - len(molecules) + 1
            for some in parted(molecules, max_bytes):
                found.append(Append(self._log, addressed(to, Message(self.shard, first, some))))
                first += len(some)
        self._outgoing = {}
        return found

    def arrive(self, records: Iterable[Record]) -> None:
        """Take messages that were read, but for those that have come before."""
        new = [one for one in records if one.position > self.position]
        if new:
            self._arrived.extend(new)
            self.position = new[-1].position

    @property
    def has_arrived(self) -> bool:
        """Whether there are messages to take."""
        return bool(self._arrived)

    def take(self, position: int) -> Iterator[Molecule]:
        """Yield the molecules of messages up to a position, each once and in order."""
        while self._arrived and self._arrived[0].position <= position:
            record = self._arrived.popleft()
            try:
                message = read(record.data)
                molecules = [molecule_from(one, self.store) for one in message.molecules]
            except ValueError as error:
                raise RecordProblem(
                    "R403", f"record {record.position} of `{record.log}` does not read: {error}"
                ) from None
            if message.signal is not None:
                self.signals.append(message.signal)
                continue
            sender = message.sender
            for number, molecule in enumerate(molecules, message.first):
                # What was sent again has been heard; what a server has put before another waits for that.
                if number > self.heard[sender]:
                    self._ahead[sender, number] = molecule
            while (sender, self.heard[sender] + 1) in self._ahead:
                self.heard[sender] += 1
                yield self._ahead.pop((sender, self.heard[sender]))


__all__ = [
    "Encoded",
    "Mailbox",
    "Message",
    "SentSignal",
    "Writer",
    "addressed",
    "dealt",
    "molecule_from",
    "packed",
    "parted",
    "read",
    "write",
]
