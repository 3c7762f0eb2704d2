"""Values as bytes and back, exactly as they were: what a call was answered, kept across processes and machines.

Only data is written, never code: who reads a record runs nothing of who wrote it. What cannot be said so
(`Unrecordable`) is not kept.
"""

from __future__ import annotations

import datetime as dt
import sys
import threading
from decimal import Decimal
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from uuid import UUID

import msgspec

from solvent.errors import exception_text
from solvent.lang.molecule import Symbol
from solvent.values.encoding import Pieces, encoder, whole
from solvent.values.large import LargeWriter, find_large
from solvent.values.limits import UNREADABLE, is_nested_too_deeply

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NESTED = 200
_OPENING = bytes((*range(0x80, 0xA0), *range(0xC7, 0xCA), *range(0xD4, 0xD9), *range(0xDC, 0xE0)))
"""First bytes of lists, mappings and extensions in msgpack."""
_MIN_INT, _MAX_INT = -(1 << 63), (1 << 64) - 1
_SCALARS = frozenset((type(None), bool, float))
_SIMPLE = _SCALARS | {str, bytes}
_HOLDERS = frozenset((list, tuple, dict, set, frozenset))
_HALVES = "surrogatepass"
Ext = msgspec.msgpack.Ext


class Unrecordable(Exception):
    """A value that cannot be written as data; the text says which."""


class _Odd(str):
    """A text with half characters (lone surrogates), such as the name of a file that is no UTF-8."""

    __slots__ = ()


def encode(value: Any) -> bytes:
    """Write a value; raise `Unrecordable` for one that cannot be, and `MemoryError` where there is too little."""
    return whole(pieces(value))


def pieces(value: Any) -> bytes | Pieces:
    """Write a value, one with large texts or bytes in pieces, which are not copied; raise as `encode` does."""
    kind = type(value)
    if kind in _SCALARS or (kind is int and _MIN_INT <= value <= _MAX_INT):
        return _ENCODE(value)
    try:
        try:
            return _pieces(value)
        except UnicodeEncodeError:
            return _pieces(_marked(value, 0))
    except (Unrecordable, MemoryError):
        raise
    except Exception as error:
        # A value may be of any size, and its parts (a time zone, say) may be anybody's code.
        raise Unrecordable(f"it cannot be written: {exception_text(error)}") from error


def _pieces(value: Any) -> bytes | Pieces:
    holders = set[int]()
    try:
        is_large = find_large(value, holders, MAX_NESTED)
    except RecursionError:
        is_large = False  # `_plain` says what is wrong with it.
    if not is_large:
        return _ENCODE(_plain(value, 0))
    return LargeWriter(holders, lambda one, depth: _ENCODE(_plain(one, depth)), _CODES).write(value)


def decode(data: bytes) -> Any:
    """Read a value; `ValueError` if that is none."""
    try:
        value = _DECODE(data)
    except (*UNREADABLE, TypeError, LookupError, ArithmeticError) as error:
        raise ValueError(f"not a value: {error}") from error
    # Each level has a byte of these at least, so few values have to be looked through.
    if (
        type(value) in _HOLDERS
        and len(data) - len(data.translate(None, _OPENING)) > MAX_NESTED
        and is_nested_too_deeply(value, MAX_NESTED)
    ):
        raise ValueError(f"not a value: it is nested more than {MAX_NESTED} deep")
    return value


def _plain(value: Any, depth: int) -> Any:
    """Return a value with all that msgpack would change, or does not know, in extensions."""
    kind = type(value)
    if kind in _SIMPLE:
        return value
    if kind is int:
        return value if _MIN_INT <= value <= _MAX_INT else Ext(_CODES[int], hex(value).encode())
    if depth >= MAX_NESTED:
        raise Unrecordable(f"it is nested more than {MAX_NESTED} deep, or in itself")
    if kind is list:
        return [one if type(one) in _SIMPLE else _plain(one, depth + 1) for one in value]
    if kind is dict:
        if all(type(key) is str for key in value):
            return {key: one if type(one) in _SIMPLE else _plain(one, depth + 1) for key, one in value.items()}
        pairs = [[_plain(key, depth + 1), _plain(one, depth + 1)] for key, one in value.items()]
        return Ext(_CODES[dict], _ENCODE(pairs))
    if kind in _WRITERS:
        return Ext(_CODES[kind], _WRITERS[kind](value, depth + 1))
    if isinstance(value, PurePath):
        return Ext(_CODES[PurePath], str(value).encode("utf-8", "surrogateescape"))
    numpy = sys.modules.get("numpy")
    if numpy is not None and kind is numpy.ndarray:
        return _array(value)
    raise Unrecordable(f"a value of the type `{kind.__module__}.{kind.__qualname__}` is no data that can be kept")


def _marked(value: Any, depth: int) -> Any:
    """Return a value with each text marked that has half characters: seldom there are any, so nobody looks before."""
    kind = type(value)
    if kind is str:
        return value if value.isascii() or _is_whole(value) else _Odd(value)
    if kind not in _HOLDERS or depth >= MAX_NESTED:
        return value
    if kind is dict:
        return {_marked(key, depth + 1): _marked(one, depth + 1) for key, one in value.items()}
    return kind(_marked(one, depth + 1) for one in value)


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _array(value: Any) -> Any:
    if value.dtype.hasobject or value.dtype.fields is not None:
        raise Unrecordable(f"an array of `{value.dtype}` is no data that can be kept")
    return Ext(_ARRAY, _ENCODE([value.dtype.str, list(value.shape), value.tobytes()]))


def _array_from(data: memoryview) -> Any:
    import numpy as np

    kind, shape, content = _PLAIN_DECODE(data)
    found = np.dtype(str(kind))
    if found.hasobject:
        raise ValueError("an array of objects")
    return np.frombuffer(content, dtype=found).reshape([int(one) for one in shape]).copy()


def _many(value: Any, depth: int) -> bytes:
    return _ENCODE([_plain(one, depth) for one in value])


def _sorted(value: Any, depth: int) -> bytes:
    # So that equal sets are equal bytes.
    return _ENCODE(sorted((_plain(one, depth) for one in value), key=_ENCODE))


def _text(value: Any, _: int) -> bytes:
    return str(value).encode()


_WRITERS: dict[type, Callable[[Any, int], bytes]] = {
    tuple: _many,
    set: _sorted,
    frozenset: _sorted,
    complex: lambda value, _: _ENCODE([value.real, value.imag]),
    bytearray: lambda value, _: bytes(value),
    Decimal: _text,
    UUID: _text,
    Symbol: lambda value, _: value.name.encode(errors=_HALVES),
    _Odd: lambda value, _: value.encode(errors=_HALVES),
    dt.datetime: lambda value, _: _ENCODE([value.isoformat(), value.fold]),
    dt.date: lambda value, _: value.isoformat().encode(),
    dt.time: lambda value, _: value.isoformat().encode(),
    dt.timedelta: lambda value, _: _ENCODE([value.days, value.seconds, value.microseconds]),
}
_ARRAY = 40
_CODES: dict[type, int] = {
    kind: code for code, kind in enumerate((tuple, set, frozenset, complex, bytearray, int, dict, Decimal, UUID, Symbol,
                                            dt.datetime, dt.date, dt.time, dt.timedelta,
                                            PurePath, _Odd), 1)
}  # fmt: skip


def _when(data: memoryview) -> dt.datetime:
    text, fold = _PLAIN_DECODE(data)
    return dt.datetime.fromisoformat(text).replace(fold=fold)


_READERS: dict[int, Callable[[memoryview], Any]] = {
    _CODES[tuple]: lambda data: tuple(_DECODE(data)),
    _CODES[set]: lambda data: set(_DECODE(data)),
    _CODES[frozenset]: lambda data: frozenset(_DECODE(data)),
    _CODES[complex]: lambda data: complex(*_DECODE(data)),
    _CODES[bytearray]: bytearray,
    # In hexadecimal digits: of decimal ones Python reads a few thousand only.
    _CODES[int]: lambda data: int(bytes(data), 16),
    _CODES[dict]: lambda data: {key: value for key, value in _DECODE(data)},  # noqa: C416 - pairs of any length are none
    _CODES[Decimal]: lambda data: Decimal(str(data, "utf-8")),
    _CODES[UUID]: lambda data: UUID(str(data, "utf-8")),
    _CODES[Symbol]: lambda data: Symbol(str(data, "utf-8", _HALVES)),
    _CODES[_Odd]: lambda data: str(data, "utf-8", _HALVES),
    _CODES[dt.datetime]: _when,
    _CODES[dt.date]: lambda data: dt.date.fromisoformat(str(data, "utf-8")),
    _CODES[dt.time]: lambda data: dt.time.fromisoformat(str(data, "utf-8")),
    _CODES[dt.timedelta]: lambda data: dt.timedelta(*_DECODE(data)),
    _CODES[PurePath]: lambda data: _path(bytes(data).decode("utf-8", "surrogateescape")),
    _ARRAY: _array_from,
}


def _path(text: str) -> Any:
    from pathlib import Path

    return Path(text) if isinstance(Path(), PurePosixPath) else PurePath(text)


def _from_ext(code: int, data: memoryview) -> Any:
    reader = _READERS.get(code)
    if reader is None:
        raise ValueError(f"a value of an unknown kind ({code})")
    # A level of these costs so much stack that Python's own limit of recursion, where it was raised, comes too late.
    if _inside.levels >= MAX_NESTED:
        raise ValueError(f"it is nested more than {MAX_NESTED} deep")
    _inside.levels += 1
    try:
        return reader(data)
    finally:
        _inside.levels -= 1


class _Inside(threading.local):
    """How many extensions the thread reads, one inside of the other."""

    levels = 0


_inside = _Inside()


_ENCODE: Callable[[Any], bytes] = encoder()
_DECODE: Callable[[Any], Any] = msgspec.msgpack.Decoder(ext_hook=_from_ext).decode
_PLAIN_DECODE: Callable[[Any], Any] = msgspec.msgpack.Decoder().decode

__all__ = ["MAX_NESTED", "Unrecordable", "decode", "encode", "pieces"]
