"""NumPy arrays over mapped memory, and what is said about them to those that map it next.

NumPy is not needed for anything else here, and imported when the first array is asked for.
"""

from __future__ import annotations

import math
from typing import Any

from solvent.errors import Misuse

_KIND = "numpy"


def array_of(view: memoryview, form: str, dtype: Any, shape: Any) -> Any:
    """Give an array over a view, of the type and shape that are given, or else of those that a form tells."""
    np = _numpy()
    if dtype is None:
        dtype, told = _from_form(form)
        shape = told if shape is None else shape
    try:
        kind = np.dtype(dtype)
    except TypeError as error:
        raise Misuse("D104", f"{dtype!r} is no type of arrays: {error}") from error
    if kind.hasobject:
        raise Misuse("D104", "arrays of Python objects cannot be shared: other processes do not have the objects")
    if shape is None:
        shape = (len(view) // kind.itemsize,)
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    needed = math.prod(lengths) * kind.itemsize
    if needed != len(view):
        raise Misuse("D104", f"{len(view)} bytes are no {kind.str} array of shape {lengths}, which has {needed}")
    return np.ndarray(lengths, kind, view)


def form_of(array: Any) -> str:
    """Say type and shape of an array in a few words; nothing of one with named fields, which has more of them."""
    if array.dtype.names is not None:
        return ""
    return f"{_KIND} {array.dtype.str} {','.join(map(str, array.shape))}"


def _from_form(form: str) -> tuple[str, tuple[int, ...]]:
    kind, _, rest = form.partition(" ")
    if kind != _KIND:
        raise Misuse("D104", "nobody has said what these bytes are", hint="give a type, as in `array(float)`")
    dtype, _, shape = rest.partition(" ")
    return dtype, tuple(int(length) for length in shape.split(",") if length)


def _numpy() -> Any:
    try:
        import numpy as np
    except ImportError as error:
        hint = "install `solvent[arrays]`, or use the view"
        raise Misuse("D105", "arrays need NumPy, which is not installed", hint=hint) from error
    return np


__all__ = ["array_of", "form_of"]
