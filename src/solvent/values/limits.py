"""Limits for bytes from outside: files, stores, servers and other processes.

A decoder raises more than its own errors. A value that is nested too deeply is Python's `RecursionError`, and text that
is not Unicode is a `ValueError`: `UNREADABLE` names all of them, and every place that decodes such bytes handles them
together. Nested containers cost a decoder little stack, so Python's own limit stops it in time. Later code recurses
over the value with larger frames: where a value of any form is accepted, `is_nested_too_deeply` limits it.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import msgspec

UNREADABLE = (msgspec.MsgspecError, ValueError, RecursionError)
"""What decoders of msgpack and JSON raise for bytes that they cannot read."""
MAX_DEPTH = 200
"""How deeply a value from outside may be nested."""
Time: TypeAlias = Annotated[float, msgspec.Meta(ge=0, lt=253_402_300_800)]
"""A time of an entry, in seconds since 1970: not after the year 9999, which no calendar could show."""
_CONTAINERS = frozenset({list, tuple, dict, set, frozenset})


def is_nested_too_deeply(value: Any, max_depth: int = MAX_DEPTH) -> bool:
    """Return whether containers are nested more deeply than this; without recursion."""
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(max_depth):
        if not level:
            return False
        parts: list[Any] = []
        for one in level:
            if type(one) is dict:
                parts += [part for part in one if type(part) in _CONTAINERS]
                parts += [part for part in one.values() if type(part) in _CONTAINERS]
            else:
                parts += [part for part in one if type(part) in _CONTAINERS]
        level = parts
    return bool(level)


__all__ = ["MAX_DEPTH", "UNREADABLE", "Time", "is_nested_too_deeply"]
