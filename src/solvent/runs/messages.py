"""Messages between the shards of a run: molecules that are meant for a task of another shard.

A message is appended to the log of the run's messages; those that one agent has at a time are one record, since records
cost more than what is in them. What one shard sends to another is numbered, so that what is sent again, because nobody
knows whether it was sent, is taken once.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.lang.molecule import Symbol
from solvent.runs.kept import MIN_BLOB_BYTES
from solvent.values import codec
from solvent.values.encoding import encoder
from solvent.values.limits import UNREADABLE
from solvent.workflows.rule_functions import molecule_of, value_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

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


class Message(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one shard sends to another at a time: molecules, numbered from `first` on."""

    sender: int
    first: int
    molecules: tuple[Encoded, ...]


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
            self._last = result, b"" if blob else b"".join(data), blob
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


__all__ = ["Encoded", "Message", "Writer", "addressed", "dealt", "molecule_from", "packed", "parted", "read", "write"]
