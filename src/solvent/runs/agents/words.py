"""What places of a run say to each other: molecules that are meant for a task of another place.

A letter is appended to the log of the run's letters; those that one agent has at a time are one record, since records
cost more than what is in them. What one place says to another is numbered, so that what is said again, because nobody
knows whether it was said, is taken once.
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

_PASS = Symbol("PASS")
_FRAME_BYTES = 32
"""What one molecule takes besides its parts, at most."""


class Said(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """One molecule: its parts, and of a result that is passed on the value, or the blob that has it."""

    parts: bytes
    value: bytes = b""
    blob: str = ""


class Letter(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What one place says to another at a time, numbered from `first` on."""

    sender: int
    first: int
    said: tuple[Said, ...]


_ENVELOPE = Struct(">HI")
"""The place that a letter is for, and its size."""
_ENCODE = encoder()
_DECODE = msgspec.msgpack.Decoder(Letter).decode


def write(letter: Letter) -> bytes:
    """Make a record of a letter."""
    return _ENCODE(letter)


def read(data: bytes) -> Letter:
    """Give the letter of a record; `ValueError` if it is none."""
    try:
        return _DECODE(data)
    except UNREADABLE as error:
        raise ValueError(str(error)) from error


def addressed(to: int, letter: Letter) -> bytes:
    """Put a letter into an envelope; envelopes may stand one behind the other."""
    data = write(letter)
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


def dealt(record: Record, places: Collection[int]) -> Iterator[tuple[int, Record]]:
    """Give the letters of a record that are for these places; of what does not read each gets all, and will say so."""
    data, at = record.data, 0
    found: list[tuple[int, Record]] = []
    while at < len(data):
        begin = at + _ENVELOPE.size
        to, size = _ENVELOPE.unpack_from(data, at) if begin <= len(data) else (0, len(data))
        at = begin + size
        if at > len(data):
            return ((place, record) for place in places)
        if to in places:
            found.append((to, record._replace(data=data[begin:at])))
    return iter(found)


def parted(said: list[Said], max_bytes: int) -> Iterator[tuple[Said, ...]]:
    """Divide what is said into letters of at most so many bytes, unless one molecule alone has more."""
    if len(said) * MIN_BLOB_BYTES <= max_bytes:
        yield tuple(said)
        return
    some, size = list[Said](), 0
    for one in said:
        own = len(one.parts) + len(one.value) + len(one.blob) + _FRAME_BYTES
        if some and size + own > max_bytes:
            yield tuple(some)
            some, size = [], 0
        some.append(one)
        size += own
    yield tuple(some)


class Writer:
    """Puts molecules into words; a value that goes to several places is written once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._last: tuple[Any, bytes, str] | None = None

    def said(self, molecule: Molecule) -> Said:
        """Put a molecule into words; raise `values.Unrecordable` if its value is no data."""
        if molecule[0] is not _PASS:
            return Said(codec.encode(tuple(molecule)))
        *parts, result = molecule
        if self._last is None or self._last[0] is not result:
            data = codec.pieces(value_of(result))
            blob = self._store.put_blob(data) if len(data) >= MIN_BLOB_BYTES else ""
            self._last = result, b"" if blob else b"".join(data), blob
        return Said(codec.encode(tuple(parts)), *self._last[1:])


def molecule_from(said: Said, store: Store) -> Molecule:
    """Give the molecule that was put into words."""
    parts = codec.decode(said.parts)
    if not (isinstance(parts, tuple) and parts and isinstance(parts[0], Symbol)):
        raise ValueError("no molecule")
    if parts[0] is not _PASS:
        return parts
    data = store.get_blob(said.blob) if said.blob else said.value
    return (*parts, molecule_of(codec.decode(data)))


__all__ = ["Letter", "Said", "Writer", "addressed", "dealt", "molecule_from", "packed", "parted", "read", "write"]
