"""Values with large texts or bytes in them, written in pieces: what is large is not copied.

What comes out is, byte for byte, what the encoder of `values` makes of the whole value. Lists, tuples, dictionaries and
instances of classes are looked into. Elements of arrays are copied once, since an array may change; all else goes
through that encoder.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any

from solvent.values import arrays, classes, tables
from solvent.values.encoding import Pieces, utf8_size
from solvent.values.pickles import Pickled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

MIN_LARGE_BYTES = 1 << 16
"""From this size on the header of a text, of bytes and of an extension has 32 bits for the length."""
_MAX_BYTES = (1 << 32) - 1
_SMALL = frozenset({int, float, bool, type(None)})
_BYTE, _SHORT, _LONG, _EXT = Struct(">B"), Struct(">BH"), Struct(">BI"), Struct(">BIb")
_BIN32, _STR32, _EXT32 = 0xC6, 0xDB, 0xC9
INSTANCE = 43
"""The code of an extension that is an instance of a class."""
_ARRAY, _MAP = (0x90, 0xDC), (0x80, 0xDE)


@dataclass(frozen=True, slots=True)
class Bulk:
    """An array, a table or a pickle as an extension: its code, a header, and what may be large."""

    code: int
    header: bytes
    content: bytes | memoryview


def find_large(value: Any, holders: set[int], max_depth: int) -> bool:
    """Return whether something large is in a value, and note (by `id`) which lists, tuples and dictionaries hold it.

    Raise `RecursionError` for a value that is nested more deeply than `max_depth`.
    """
    kind = type(value)
    if kind is str or kind is bytes or kind is Pieces:
        return len(value) >= MIN_LARGE_BYTES
    if kind is list or kind is tuple:
        inner = value
    elif kind is dict:
        inner = value.values()
    elif kind in _SMALL:
        return False
    elif arrays.is_array(kind):
        return bool(value.nbytes >= MIN_LARGE_BYTES)
    elif kind is Pickled:
        return len(value.data) >= MIN_LARGE_BYTES
    elif tables.form_of(kind) is not None:
        return True
    else:
        described = classes.describe(value)
        if described is None:
            return False
        # The state is made anew when it is written; what stands in it is not.
        state = described[3]
        inner = state.values() if type(state) is dict else state if type(state) is list else ()
    if max_depth == 0:
        raise RecursionError
    is_large = False
    for one in inner:
        # All of them are looked at: each that holds something large has to be noted.
        is_large = find_large(one, holders, max_depth - 1) or is_large
    if is_large:
        holders.add(id(value))
    return is_large


class LargeWriter:
    """Writes one value.

    `encode` encodes a part of it that holds nothing large, `bulk` what is an array or a table; `codes` are those of
    extensions.
    """

    def __init__(
        self,
        holders: set[int],
        encode: Callable[[Any, int], bytes],
        bulk: Callable[[Any, int], Bulk | None],
        codes: Mapping[type, int],
    ) -> None:
        self._holders = holders
        self._encode = encode
        self._bulk = bulk
        self._codes = codes
        self._parts: list[bytes | memoryview | str] = []
        self._small = bytearray()
        self._size = 0

    def write(self, value: Any) -> Pieces:
        """Write the value."""
        self._write(value, 0)
        self._flush()
        return Pieces(self._parts, self._size)

    def _write(self, value: Any, depth: int) -> None:
        kind = type(value)
        if kind is str and len(value) >= MIN_LARGE_BYTES:
            self._add_large(_STR32, (value,), utf8_size(value))
        elif kind is bytes and len(value) >= MIN_LARGE_BYTES:
            self._add_large(_BIN32, (value,), len(value))
        elif kind is Pieces:
            self._add_large(_BIN32, value.parts, len(value))
        elif arrays.is_array(kind) or kind is Pickled or tables.form_of(kind) is not None:
            self._write_bulk(value, depth)
        elif id(value) not in self._holders:
            self._add(self._encode(value, depth))
        elif kind is list:
            self._add(_count(_ARRAY, len(value)))
            for one in value:
                self._write(one, depth + 1)
        elif kind is dict and all(type(key) is str for key in value):
            self._add(_count(_MAP, len(value)))
            for key, one in value.items():
                self._write(key, depth + 1)
                self._write(one, depth + 1)
        elif kind is dict:
            pairs = [[key, one] for key, one in value.items()]
            self._holders.update(id(pair) for pair in pairs)
            self._write_extension(self._codes[dict], pairs, depth)
        elif kind is tuple:
            self._write_extension(self._codes[tuple], value, depth)
        else:
            described = classes.describe(value)
            assert described is not None, "it was noted as one that holds something"
            self._holders.add(id(described[3]))
            self._write_extension(INSTANCE, described, depth)

    def _write_bulk(self, value: Any, depth: int) -> None:
        bulk = (
            self._bulk(value, depth + 1)
            if not arrays.is_array(type(value)) or value.nbytes >= MIN_LARGE_BYTES
            else None
        )
        size = 0 if bulk is None else len(bulk.header) + len(bulk.content)
        if bulk is None or size < MIN_LARGE_BYTES:
            self._add(self._encode(value, depth))
            return
        _check_size(size)
        self._add(_EXT.pack(_EXT32, size, bulk.code) + bulk.header)
        self._flush()
        self._parts.append(bulk.content)
        self._size += len(bulk.content)

    def _write_extension(self, code: int, inner: Any, depth: int) -> None:
        """Write a tuple, pairs or an instance: the length of all of it comes first."""
        writer = LargeWriter(self._holders, self._encode, self._bulk, self._codes)
        writer._add(_count(_ARRAY, len(inner)))
        for one in inner:
            writer._write(one, depth + 1)
        writer._flush()
        _check_size(writer._size)
        self._add(_EXT.pack(_EXT32, writer._size, code))
        self._flush()
        self._parts += writer._parts
        self._size += writer._size

    def _add(self, data: bytes) -> None:
        self._small += data
        if len(self._small) >= MIN_LARGE_BYTES:
            self._flush()

    def _add_large(self, code: int, parts: Iterable[bytes | memoryview | str], size: int) -> None:
        _check_size(size)
        self._add(_LONG.pack(code, size))
        self._flush()
        self._parts += parts
        self._size += size

    def _flush(self) -> None:
        if self._small:
            self._parts.append(bytes(self._small))
            self._size += len(self._small)
            self._small = bytearray()


def _check_size(size: int) -> None:
    if size > _MAX_BYTES:
        raise ValueError(f"{size:,} bytes in one piece are too many: at most {_MAX_BYTES:,}")


def _count(codes: tuple[int, int], number: int) -> bytes:
    """Write how many parts a list or a dictionary has, as briefly as possible."""
    if number < 16:
        return _BYTE.pack(codes[0] + number)
    if number < 1 << 16:
        return _SHORT.pack(codes[1], number)
    return _LONG.pack(codes[1] + 1, number)


__all__ = ["MIN_LARGE_BYTES", "LargeWriter", "find_large"]
