"""NumPy arrays and scalars as data: a header with type and shape, and behind it the elements as they lie in memory.

NumPy is imported by who made the value, or by who reads one. Elements that are Python objects are written one by one,
as values.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.values.encoding import encoder

if TYPE_CHECKING:
    from collections.abc import Callable

_ENCODE: Callable[[Any], bytes] = encoder()
_DECODE: Callable[[Any], Any] = msgspec.msgpack.Decoder().decode
_VARIABLE = "T"
"""NumPy's kind of texts of any length: their elements lie elsewhere."""


def is_array(kind: type) -> bool:
    """Return whether a class is NumPy's array itself."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and kind is numpy.ndarray


def is_scalar(kind: type) -> bool:
    """Return whether a class is that of one element of an array."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and issubclass(kind, numpy.generic)


def has_objects(value: Any) -> bool:
    """Return whether elements are Python objects, or lie outside of the array."""
    return bool(value.dtype.hasobject) or value.dtype.kind == _VARIABLE


def parts_of(value: Any) -> tuple[bytes, bytes]:
    """Return the header of an array or scalar, and its elements; they are copied, since an array may change."""
    import numpy as np

    header = _ENCODE([np.lib.format.dtype_to_descr(value.dtype), list(value.shape)])
    return header, value.tobytes()


def objects_of(value: Any) -> list[Any]:
    """Return an array of objects as its type, shape and elements."""
    if value.dtype.kind not in {"O", _VARIABLE}:
        raise TypeError(f"an array of `{value.dtype}` mixes objects with other fields")
    return [value.dtype.kind, list(value.shape), list(value.ravel().tolist())]


def array_from(header: memoryview, content: memoryview) -> Any:
    """Read an array; raise `ValueError` for bytes that are none."""
    import numpy as np

    kind, shape = _read(header, content)
    if kind.itemsize == 0:
        return np.zeros(shape, kind)
    return np.frombuffer(content, dtype=kind).reshape(shape).copy()


def element_from(header: memoryview, content: memoryview) -> Any:
    """Read one element; raise `ValueError` for bytes that are none."""
    import numpy as np

    kind, shape = _read(header, content)
    if shape:
        raise ValueError("an element with a shape")
    return np.zeros(1, kind)[0] if kind.itemsize == 0 else np.frombuffer(content, dtype=kind)[0].copy()


def array_of_objects(parts: list[Any]) -> Any:
    """Return the array of a type, shape and elements."""
    import numpy as np

    kind, shape, elements = parts
    if kind == _VARIABLE:
        return np.array(elements, np.dtypes.StringDType()).reshape(shape)
    found = np.empty(len(elements), object)
    for at, one in enumerate(elements):
        found[at] = one
    return found.reshape(shape)


def _read(header: memoryview, content: memoryview) -> tuple[Any, list[int]]:
    import numpy as np

    descriptor, shape = _DECODE(header)
    kind = np.lib.format.descr_to_dtype(_descriptor(descriptor))
    if kind.hasobject or kind.kind == _VARIABLE:
        raise ValueError("elements that are objects")
    sizes = [int(one) for one in shape]
    count = 1
    for one in sizes:
        if one < 0:
            raise ValueError("a negative size")
        count *= one
    if len(content) != count * kind.itemsize:
        raise ValueError(f"{len(content)} bytes for {count} elements of {kind.itemsize}")
    return kind, sizes


def _descriptor(read: Any) -> Any:
    """Return a type's description as NumPy knows it: fields are tuples, which come back as lists."""
    if isinstance(read, str):
        return read
    fields = []
    for name, kind, *shape in read:
        named = tuple(name) if isinstance(name, list) else name
        fields.append((named, _descriptor(kind), *(tuple(one) for one in shape)))
    return fields


__all__ = [
    "array_from", "array_of_objects", "element_from", "has_objects", "is_array", "is_scalar", "objects_of", "parts_of",
]  # fmt: skip
