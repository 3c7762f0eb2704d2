"""Values as annotations say that they are: data that came from outside becomes the dataclasses and dates it stands for.

`msgspec.convert` does it, strictly: a text is no number. Models of pydantic check themselves, and paths are made of
texts. An annotation that cannot be checked, such as a protocol, accepts everything.
"""

from __future__ import annotations

import dataclasses
import sys
import typing
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN = frozenset((type(None), bool, int, float, str))


def types_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the annotations of a function by name, that of its result as `return`; none where they do not read."""
    try:
        return typing.get_type_hints(function)
    except Exception:  # noqa: BLE001 - annotations are anybody's code, and may name what only a type checker imports
        return {}


def is_plain(value: Any) -> bool:
    """Return whether a value is what JSON can hold, so that it may stand for something else."""
    todo = [value]
    while todo:
        one = todo.pop()
        if type(one) is dict:
            todo += [*one, *one.values()]
        elif type(one) is list:
            todo += one
        elif type(one) not in _PLAIN:
            return False
    return True


def converted(value: Any, kind: Any) -> Any:
    """Return a value as an annotation says; raise `ValueError` for one that is not of this type."""
    try:
        return msgspec.convert(value, kind, dec_hook=_made)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from None
    except Exception:  # noqa: BLE001 - the annotation is no type that can be checked
        return value


def has_fields(kind: Any) -> bool:
    """Return whether an annotation is, or contains, a class whose instances data may stand for."""
    if isinstance(kind, type) and not typing.get_args(kind):
        return issubclass(kind, msgspec.Struct) or dataclasses.is_dataclass(kind) or _is_model(kind)
    return any(has_fields(one) for one in typing.get_args(kind))


def type_text(kind: Any) -> str:
    """Return an annotation as people write it."""
    return kind.__qualname__ if isinstance(kind, type) and not typing.get_args(kind) else str(kind)


def _made(kind: Any, value: Any) -> Any:
    if isinstance(value, kind):
        return value
    if _is_model(kind):
        return kind.model_validate(value)
    if issubclass(kind, PurePath) and type(value) is str:
        return kind(value)
    return value


def _is_model(kind: type) -> bool:
    pydantic = sys.modules.get("pydantic")
    return pydantic is not None and issubclass(kind, pydantic.BaseModel)


__all__ = ["converted", "has_fields", "is_plain", "type_text", "types_of"]
