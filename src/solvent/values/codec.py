"""Values as bytes and back, exactly as they were: what a call was answered, kept across processes and machines.

Only data is written, never code: reading bytes of another process runs nothing of it and imports nothing that they
name. Plain data is msgpack, with extensions for what msgpack does not know; instances of classes are their fields
(`classes`), arrays their elements (`arrays`), tables a stream of Arrow (`tables`). What is none of these is
`Unrecordable`, unless it is made a pickle first (`with_pickles`); these are read as bytes, too (`pickles`).
"""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any
from uuid import UUID
from zoneinfo import ZoneInfo

import msgspec

from solvent.errors import exception_text
from solvent.lang.molecule import Symbol
from solvent.values import arrays, classes, library_types, tables
from solvent.values.encoding import Pieces, encoder, whole
from solvent.values.large import INSTANCE, MIN_LARGE_BYTES, Bulk, LargeWriter, find_large
from solvent.values.limits import UNREADABLE, is_nested_too_deeply
from solvent.values.pickles import Pickled, pickled
from solvent.values.places import parts_of

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_NESTED = 200
MAX_PLACE = 300
"""How many characters of the place of a part are shown, at least."""
_OPENING = bytes((*range(0x80, 0xA0), *range(0xC7, 0xCA), *range(0xD4, 0xD9), *range(0xDC, 0xE0)))
"""First bytes of lists, mappings and extensions in msgpack."""
_MIN_INT, _MAX_INT = -(1 << 63), (1 << 64) - 1
_SCALARS = frozenset((type(None), bool, float))
_SIMPLE = _SCALARS | {str, bytes}
_HOLDERS = frozenset((list, tuple, dict, set, frozenset))
_HALVES = "surrogatepass"
Ext = msgspec.msgpack.Ext


class Unrecordable(Exception):
    """A value that cannot be written as data; the text says which part of it, and of what type."""


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
    except MemoryError:
        raise
    except Unrecordable as error:
        place = _place_of(value)
        raise Unrecordable(f"{place}: {error}" if place else str(error)) from error
    except Exception as error:
        # A value may be of any size, and its parts (a time zone, say) may be anybody's code.
        raise Unrecordable(f"it cannot be written: {exception_text(error)}") from error


def _place_of(value: Any) -> str:
    """Return where in a value the first part stands that cannot be written, as Python would name it."""
    place = ""
    while len(place) < MAX_PLACE:
        for step, part in parts_of(value):
            try:
                _pieces(part)
            except Exception:  # noqa: BLE001 - it may be anybody's code that fails
                place, value = place + step, part
                break
        else:
            return place
    return f"{place}..."


def _pieces(value: Any) -> bytes | Pieces:
    if is_flat(value):
        try:
            return _ENCODE(value)
        except OverflowError:
            # An integer of more than 64 bits, which msgpack does not have.
            pass
    holders = set[int]()
    try:
        is_large = find_large(value, holders, MAX_NESTED)
    except RecursionError:
        is_large = False  # `_plain` says what is wrong with it.
    if not is_large:
        return _ENCODE(_plain(value, 0))
    return LargeWriter(holders, lambda one, depth: _ENCODE(_plain(one, depth)), _bulk, _CODES).write(value)


def with_pickles(value: Any, dump: Callable[[Any], bytes]) -> Any:
    """Return a value with each part that is no data as a pickle; raise `Unrecordable` for one that cannot be one."""
    return value if _is_data(value) else _swapped(value, dump, "", 0)


def _is_data(value: Any) -> bool:
    try:
        pieces(value)
    except Unrecordable:
        return False
    return True


def _swapped(value: Any, dump: Callable[[Any], bytes], place: str, depth: int) -> Any:
    kind = type(value)
    if kind in _SIMPLE or depth >= MAX_NESTED:
        return value
    if kind is dict:
        return {
            _swapped(key, dump, f"{place}[{key!r}] (the key)", depth + 1): _swapped(
                one, dump, f"{place}[{key!r}]", depth + 1
            )
            for key, one in value.items()
        }
    if kind in _HOLDERS:
        return kind([_swapped(one, dump, f"{place}[{at}]", depth + 1) for at, one in enumerate(value)])
    if _is_data(value):
        return value
    described = classes.describe(value)
    if described is not None:
        form, module, name, state = described
        return classes.build(form, module, name, _swapped(state, dump, place, depth + 1))
    try:
        return pickled(value, dump)
    except ValueError as error:
        raise Unrecordable(f"{place}: {error}" if place else str(error)) from error


def is_flat(value: Any) -> bool:
    """Return whether msgpack has a value as it is: a text or bytes that are not large, or a list of texts and numbers.

    Of the numbers it may lack integers of more than 64 bits, and of the texts those with half characters.
    """
    kind = type(value)
    if kind is not list:
        return (kind is str or kind is bytes) and len(value) < MIN_LARGE_BYTES
    for one in value:
        kind = type(one)
        if not (kind is int or kind in _SCALARS or (kind is str and len(one) < MIN_LARGE_BYTES)):
            return False
    return True


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
    bulk = _bulk(value, depth + 1)
    if bulk is not None:
        return Ext(bulk.code, bulk.header + bytes(bulk.content))
    described = classes.describe(value)
    if described is not None:
        form, module, name, state = described
        return Ext(INSTANCE, _ENCODE([form, module, name, _plain(state, depth + 1)]))
    extension = library_types.describe(value)
    if extension is not None:
        return Ext(_OTHER, _ENCODE(_plain(extension, depth + 1)))
    coded = classes.describe_coded(value)
    if coded is not None:
        form, module, name, state = coded
        return Ext(INSTANCE, _ENCODE([form, module, name, _plain(state, depth + 1)]))
    said = f"a value of the type `{kind.__module__}.{kind.__qualname__}` is no data that can be kept"
    raise Unrecordable(f"{said}: `list(...)` of it would be" if isinstance(value, Iterator) else said)


def _bulk(value: Any, depth: int) -> Bulk | None:
    """Return what may be large and is written as a whole: arrays, tables and pickles."""
    kind = type(value)
    content: bytes | memoryview
    if kind is Pickled:
        code, header, content = _PICKLE, _ENCODE(value.kind), value.data
    elif arrays.is_scalar(kind):
        code, (header, content) = _ELEMENT, arrays.parts_of(value)
    elif arrays.is_array(kind):
        if arrays.has_objects(value):
            return None
        code, (header, content) = _ARRAY, arrays.parts_of(value)
    else:
        form = tables.form_of(kind)
        if form is None:
            return None
        try:
            described, content = tables.parts_of(form, value)
        except tables.NoTable as error:
            raise Unrecordable(str(error)) from error
        code, header = _TABLE, _ENCODE([form, _plain(described, depth)])
    return Bulk(code, len(header).to_bytes(_LENGTH, "big") + header, content)


def _split(data: memoryview) -> tuple[memoryview, memoryview]:
    """Return the header of an array, a table or a pickle, and what is behind it."""
    start = _LENGTH + int.from_bytes(data[:_LENGTH], "big")
    return data[_LENGTH:start], data[start:]


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


def _table_from(data: memoryview) -> Any:
    header, content = _split(data)
    form, described = _DECODE(header)
    return tables.table_from(form, described, content)


def _pickle_from(data: memoryview) -> Pickled:
    header, content = _split(data)
    kind = _DECODE(header)
    if type(kind) is not str:
        raise ValueError("a pickle of no type")
    return Pickled(kind, bytes(content))


def _instance_from(data: memoryview) -> Any:
    form, module, name, state = _DECODE(data)
    return classes.build(form, module, name, state)


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
    dt.datetime: lambda value, _: _ENCODE(_time_parts(value)),
    dt.date: lambda value, _: value.isoformat().encode(),
    dt.time: lambda value, _: _ENCODE(_time_parts(value)),
    dt.timedelta: lambda value, _: _ENCODE([value.days, value.seconds, value.microseconds]),
}
_ARRAY, _ELEMENT, _TABLE, _OTHER, _PICKLE = 40, 41, 42, 44, 45
_LENGTH = 4
"""How many bytes say how long a header is."""
_CODES: dict[type, int] = {
    kind: code for code, kind in enumerate((tuple, set, frozenset, complex, bytearray, int, dict, Decimal, UUID, Symbol,
                                            dt.datetime, dt.date, dt.time, dt.timedelta,
                                            PurePath, _Odd), 1)
}  # fmt: skip


def _time_parts(value: dt.datetime | dt.time) -> list[Any]:
    """Return a time with the name of its zone, where that has one; else with its distance from UTC."""
    zone = getattr(value.tzinfo, "key", None) if type(value.tzinfo) is ZoneInfo else None
    shown = value.replace(tzinfo=None) if zone else value
    return [shown.isoformat(), value.fold, zone]


def _time_from(kind: Any, data: memoryview) -> Any:
    text, fold, zone = _PLAIN_DECODE(data)
    found = kind.fromisoformat(text).replace(fold=fold)
    return found if zone is None else found.replace(tzinfo=ZoneInfo(zone))


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
    _CODES[dt.datetime]: lambda data: _time_from(dt.datetime, data),
    _CODES[dt.date]: lambda data: dt.date.fromisoformat(str(data, "utf-8")),
    _CODES[dt.time]: lambda data: _time_from(dt.time, data),
    _CODES[dt.timedelta]: lambda data: dt.timedelta(*_DECODE(data)),
    _CODES[PurePath]: lambda data: _path(bytes(data).decode("utf-8", "surrogateescape")),
    _ARRAY: lambda data: arrays.array_from(*_split(data)),
    _ELEMENT: lambda data: arrays.element_from(*_split(data)),
    _TABLE: _table_from,
    INSTANCE: _instance_from,
    _OTHER: lambda data: library_types.build(_DECODE(data)),
    _PICKLE: _pickle_from,
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

__all__ = ["MAX_NESTED", "Unrecordable", "decode", "encode", "is_flat", "pieces", "with_pickles"]
