"""Codecs that users have registered: how an instance of their class becomes data, and comes back.

A package brings them along as entry points of the group `solvent.codecs`: the name is that of the class, with its
module, and it leads to the pair of functions. These are looked for when a class is met that nothing else can write.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from solvent.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable
    from importlib.metadata import EntryPoint

T = TypeVar("T")
GROUP = "solvent.codecs"


class Codec(NamedTuple):
    """Two functions: one returns data for an instance, the other one the instance of that data."""

    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


_registered: dict[tuple[str, str], Codec] = {}


def register_codec(kind: type[T], *, encode: Callable[[T], Any], decode: Callable[[Any], T]) -> None:
    """Register how instances of a class are kept in records and passed to agents.

    - `kind`: the class itself; subclasses are not meant.
    - `encode`: returns data for an instance; the data may hold arrays, tables and other instances.
    - `decode`: returns the instance of such data.

    Call it where the class is defined, so that every process that has the class has its codec. A package may register
    its codecs as entry points of the group `solvent.codecs` instead.

    Raises `Misuse` (H326) for what is no class.

    >>> from solvent import register_codec
    >>> class Temperature:
    ...     def __init__(self, degrees):
    ...         self.degrees = degrees
    >>> register_codec(Temperature, encode=lambda one: one.degrees, decode=Temperature)
    """
    if not isinstance(kind, type):
        raise Misuse("H326", f"a codec is registered for a class, not for {kind!r}", hint="name the class itself")
    _registered[kind.__module__, kind.__qualname__] = Codec(encode, decode)


def find(module: str, name: str, kind: type | None = None) -> Codec | None:
    """Return the codec of a class; `kind` is the class, if it is there."""
    found = _registered.get((module, name))
    if found is None and (kind is None or "<locals>" not in name):
        entry = _installed().get(f"{module}.{name}")
        if entry is not None:
            found = _registered[module, name] = Codec(*entry.load())
    return found


@functools.cache
def _installed() -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {one.name: one for one in entry_points(group=GROUP)}


__all__ = ["GROUP", "Codec", "find", "register_codec"]
