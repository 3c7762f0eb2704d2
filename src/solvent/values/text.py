"""The Python form of a value that a task returned: for terminals and pages, whatever the value is."""

from __future__ import annotations

import math
import reprlib
from typing import Any

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHOWN_DIGITS = 20
_MAX_DEPTH = 50


def form_of(value: Any) -> str:
    """Return the `repr` of a value; integers longer than Python converts to text are shortened."""
    try:
        return repr(value)
    except ValueError as error:
        # Python refuses to write out integers of more than some thousand digits.
        shortened = _without_long_integers(value, 0)
        return _failed(value, error) if shortened is value else form_of(shortened)
    except Exception as error:  # noqa: BLE001 - a user's `__repr__` may raise anything
        return _failed(value, error)


def shortened_form(value: Any) -> str:
    """Return the `repr` of a value in a line of some sixty characters; large ones are not written out whole."""
    try:
        return " ".join(_SHORT.repr(value).split())
    except Exception as error:  # noqa: BLE001 - a user's `__repr__` may raise anything
        return _failed(value, error)


def _failed(value: Any, error: Exception) -> str:
    return f"<{type(value).__name__}: its repr raises {type(error).__name__}>"


class _Shortened:
    """Stands for a long integer: the first digits, and how many there are."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __repr__(self) -> str:
        size = abs(self._number)
        digits = int(size.bit_length() * math.log10(2)) + 1
        if size < 10 ** (digits - 1):
            digits -= 1
        first = size // 10 ** (digits - _SHOWN_DIGITS)
        return f"{'-' if self._number < 0 else ''}{first}… ({digits:,} digits)"


def _without_long_integers(value: Any, depth: int) -> Any:
    """Replace the long integers in a value; return the value itself if there is none."""
    kind = type(value)
    if kind is int:
        try:
            str(value)
        except ValueError:
            return _Shortened(value)
        return value
    if depth == _MAX_DEPTH or kind not in (list, tuple, dict):
        return value
    items = [_without_long_integers(one, depth + 1) for one in (value.values() if kind is dict else value)]
    if all(new is old for new, old in zip(items, value.values() if kind is dict else value, strict=True)):
        return value
    return dict(zip(value, items, strict=True)) if kind is dict else kind(items)


__all__ = ["form_of", "shortened_form"]
