"""The parts of a value, and how Python names them: for errors that say which part is wrong."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.values import classes

if TYPE_CHECKING:
    from collections.abc import Iterator


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each part of a value with what stands behind the value's name to name it."""
    kind = type(value)
    if issubclass(kind, dict):
        for key, part in value.items():
            yield f"[{key!r}]", part
            yield f"[{key!r}] (the key)", key
    elif kind in {list, tuple, deque}:
        for at, part in enumerate(value):
            yield f"[{at}]", part
    elif kind in {set, frozenset}:
        for part in value:
            yield "{...}", part
    else:
        described = classes.describe(value)
        if described is not None:
            yield from _fields(*described)


def _fields(form: str, _module: str, _name: str, state: Any) -> Iterator[tuple[str, Any]]:
    if form == classes.MODEL:
        state = state["__dict__"]
    if type(state) is dict:
        for name, part in state.items():
            yield f".{name}", part
    elif type(state) is list:
        for at, part in enumerate(state):
            yield f"[{at}]", part


__all__ = ["parts_of"]
