"""NumPy arrays over mapped memory, and what is said about them to those that map it next.

NumPy is not needed for anything else here, and imported when the first array is asked for.
"""

from __future__ import annotations

import math
from typing import Any

from solvent.errors import Misuse, install_hint

_KIND = "numpy"
_RESIZED = "resized"
"""The last word of a form, if the bytes are more or fewer than whoever made them said."""


def array_of(view: memoryview, form: str, dtype: Any, shape: Any) -> Any:
    """Give an array over a view, of the type and shape that are given, or else of those that a form tells."""
    np = _numpy()
    if dtype is None:
        dtype, told = _from_form(form)
        shape = told if shape is None else shape
    try:
        kind = np.dtype(dtype)
    except (TypeError, ValueError, LookupError, SyntaxError, OverflowError) as error:
        raise Misuse("D104", f"{dtype!r} is no type of arrays: {error}") from error
    if kind.hasobject:
        raise Misuse("D104", "arrays of Python objects cannot be shared: other processes do not have the objects")
    if shape is None:
        shape = (len(view) // kind.itemsize,)
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    needed = math.prod(lengths) * kind.itemsize
    if needed != len(view):
        hint = "say what they are, or use the view; a change of the size gives whole rows, or no array"
        message = f"{len(view)} bytes are no {kind.str} array of shape {lengths}, which has {needed}"
        raise Misuse("D104", message, hint=hint)
    return np.ndarray(lengths, kind, view)


def form_of(array: Any) -> str:
    """Say type and shape of an array in a few words; nothing of one with named fields, which has more of them."""
    if array.dtype.names is not None:
        return ""
    return f"{_KIND} {array.dtype.str} {','.join(map(str, array.shape))}"


def _from_form(form: str) -> tuple[str, tuple[int, ...]]:
    told = told_by(form)
    if told is None:
        hint = "whoever makes them says it: `array=((100, 100), float)`, or an array as `initial`; or use the view"
        raise Misuse("D104", "nobody has said that these bytes are an array", hint=hint)
    return told


def told_by(form: str) -> tuple[str, tuple[int, ...]] | None:
    """Give the type and the shape that a form tells; none if it tells of no array."""
    kind, _, rest = form.partition(" ")
    if kind != _KIND:
        return None
    dtype, _, shape = rest.removesuffix(f" {_RESIZED}").partition(" ")
    return dtype, tuple(int(length) for length in shape.split(",") if length)


def is_resized(form: str) -> bool:
    """Tell whether a form is that of bytes which are more or fewer than whoever made them said."""
    return form.endswith(_RESIZED)


def resized_form(form: str, size: int) -> str:
    """Say what bytes are when there are so many of them now: as many rows as they have room for, or no array."""
    told = told_by(form)
    if told is None:
        return _RESIZED
    dtype, shape = told
    try:
        row = _numpy().dtype(dtype).itemsize * math.prod(shape[1:])
    except Misuse:
        row = 0
    if not shape or not row or size % row:
        return _RESIZED
    return f"{_KIND} {dtype} {','.join(map(str, (size // row, *shape[1:])))} {_RESIZED}"


def _numpy() -> Any:
    try:
        import numpy as np
    except ImportError as error:
        hint = f"{install_hint('arrays')}; or use the view"
        raise Misuse("D105", "arrays need NumPy, which is not installed", hint=hint) from error
    return np


__all__ = ["array_of", "form_of", "is_resized", "resized_form", "told_by"]
