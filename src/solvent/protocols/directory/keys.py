"""Keys: the ordered values by which molecules of one shape are listed and sought.

A key is a plain value: a number, a string, or a tuple of keys. `rank` puts all of them into one total order: numbers
before strings before tuples, numbers by size (`1`, `1.0` and `True` are one place), `NaN` before every other number.
Where Python can compare two keys, the order is Python's.

On the wire a key is text, because no format for messages carries all of them: integers may have thousands of digits,
floats may be infinite, strings may hold halves of surrogate pairs, and tuples would come back as lists.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any, TypeAlias

Key: TypeAlias = int | float | str | tuple[Any, ...]
"""A plain ordered value; the parts of a tuple are keys too."""
Rank: TypeAlias = tuple[Any, ...]
"""A key's place in the total order: ranks compare as the order is."""

_LARGE = 1 << 63
_encode = json.JSONEncoder(separators=(",", ":")).encode


def rank(key: Key) -> Rank:
    """Give a key's place in the total order."""
    if isinstance(key, int):
        return (1, key)
    if isinstance(key, float):
        return (1, key) if key == key else (0,)  # noqa: PLR0124 - NaN alone differs from itself
    if isinstance(key, str):
        return (2, key)
    return (3, tuple(map(rank, key)))


def text_from_key(key: Key) -> str:
    """Write a key as text, all of it ASCII."""
    return _encode(_written(key))


def key_from_text(text: str) -> Key:
    """Read a key that `text_from_key` has written."""
    key: Key = _read(json.loads(text))
    return key


def digest(shape: str, key: Key) -> int:
    """Give a number of 64 bits that is the same on every machine, and for every key of the same rank."""
    text = _encode((shape, _written(_settled(key))))
    return int.from_bytes(blake2b(text.encode("ascii"), digest_size=8).digest())


def _written(key: Key) -> Any:
    if isinstance(key, tuple):
        return [_written(part) for part in key]
    if isinstance(key, int) and not -_LARGE < key < _LARGE:
        # Python refuses to write very long integers in base ten, and takes long for it.
        return {"int": hex(key)}
    return key


def _read(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_read(part) for part in value)
    if isinstance(value, dict):
        return int(value["int"], 16)
    return value


def _settled(key: Key) -> Key:
    """Give the one key that stands for all of the same rank."""
    if isinstance(key, tuple):
        return tuple(_settled(part) for part in key)
    if isinstance(key, float):
        return int(key) if key.is_integer() else key
    return int(key) if isinstance(key, bool) else key


__all__ = ["Key", "Rank", "digest", "key_from_text", "rank", "text_from_key"]
