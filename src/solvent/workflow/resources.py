"""Resources: data that tasks change in place, one after the other, instead of passing it on as results.

    Resource("grid", shape=(1000, 1000), dtype="float32", save="grid.npy")
    Resource("image", file="image.raw")

A resource is an array, so many bytes, or a file. Numbers and paths may be inputs of the workflow, whose values are
known when it runs. Who has it when is said by the claims among a task's arguments (`slots.Claim`).
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.workflow.slots import Input

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from solvent.workflow.slots import Claim

_BYTES = {
    "bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8,
    "float16": 2, "float32": 4, "float64": 8, "complex64": 8, "complex128": 16,
}  # fmt: skip
_SHORT = re.compile(r"[<>=|]?([biufcS])(\d{1,4})")
_SHORT_BYTES = {"b": (1,), "i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}
DTYPES = tuple(_BYTES)
"""The types of arrays, by the names that NumPy has for them."""


class Resource(msgspec.Struct, frozen=True, omit_defaults=True):
    """Data of a workflow that one task at a time may change."""

    name: str
    shape: tuple[int | Input, ...] | None = None
    """The lengths of an array."""
    dtype: str = "float64"
    """The type of its items, as NumPy calls it."""
    size: int | Input | None = None
    """How many bytes it has, if it is no array."""
    file: str | Input = ""
    """The file whose bytes it is, changed in place; made if there is none and the size is known."""
    save: str | Input = ""
    """Where it is written when the run has ended: `.npy` for an array as NumPy saves it, the bytes otherwise."""
    undo: bool = True
    """Whether the version before is kept until a call has succeeded, so that a call that fails has changed nothing."""

    @property
    def inputs(self) -> Iterator[Input]:
        """The inputs of the workflow that it needs."""
        for part in (*(self.shape or ()), self.size, self.file, self.save):
            if isinstance(part, Input):
                yield part

    @property
    def bytes_count(self) -> int | None:
        """How many bytes it has, if that is said and all of it is numbers."""
        if self.shape is None:
            return None if isinstance(self.size, Input) else self.size
        item = item_bytes(self.dtype)
        if item is None or any(isinstance(length, Input) for length in self.shape):
            return None
        return math.prod(length for length in self.shape if isinstance(length, int)) * item

    @property
    def rows_count(self) -> int | None:
        """How many rows or bytes its stretches count, if it is known."""
        if self.shape is None:
            return self.bytes_count
        return self.shape[0] if self.shape and isinstance(self.shape[0], int) else None


def item_bytes(dtype: str) -> int | None:
    """Give how many bytes an item of an array of this type has; none if that is no type."""
    if dtype in _BYTES:
        return _BYTES[dtype]
    short = _SHORT.fullmatch(dtype)
    if short is None:
        return None
    kind, size = short[1], int(short[2])
    return size if size in _SHORT_BYTES.get(kind, (size or -1,)) else None


def dtype_name(dtype: Any) -> str:
    """Give the name of a type of arrays, be it written as a text, as one of Python's types or as one of NumPy's."""
    if isinstance(dtype, str):
        return dtype
    if isinstance(dtype, type):
        return {float: "float64", int: "int64", complex: "complex128"}.get(dtype, dtype.__name__.rstrip("_"))
    return str(getattr(dtype, "str", dtype))


def settled(resource: Resource, inputs: Mapping[str, Any]) -> Resource:
    """Put the values of inputs in their places; what is then wrong is said by `faults_of`."""

    def value(part: Any) -> Any:
        return inputs[part.name] if isinstance(part, Input) else part

    return Resource(
        resource.name,
        None if resource.shape is None else tuple(value(length) for length in resource.shape),
        resource.dtype,
        value(resource.size),
        value(resource.file),
        value(resource.save),
        resource.undo,
    )


def faults_of(resource: Resource) -> Iterator[tuple[str, str]]:
    """Say what is wrong with a resource, and what would be right."""
    if resource.shape is not None and resource.size is not None:
        yield "has a shape and a size", "an array's size follows from its shape and dtype"
    if resource.shape is None and resource.size is None and not resource.file:
        yield "has no size", "say `shape` and `dtype`, or `size` in bytes, or which `file` it is"
    for length in resource.shape or ():
        if not isinstance(length, Input) and (type(length) is not int or length < 1):
            yield f"has the length {length!r} in its shape", "lengths are whole numbers from 1 on"
    if resource.shape == ():
        yield "has an empty shape", "an array of one item has the shape (1,)"
    if resource.shape is not None and item_bytes(resource.dtype) is None:
        yield f"has the dtype `{resource.dtype}`, which is none", f"known: {', '.join(DTYPES)}"
    size = resource.size
    if size is not None and not isinstance(size, Input) and (type(size) is not int or size < 1):
        yield f"has the size {size!r}", "a size is a whole number of bytes, from 1 on"
    for key in ("file", "save"):
        if not isinstance(getattr(resource, key), str | Input):
            yield f"has no path as its `{key}`: {getattr(resource, key)!r}", "a path is a text"
    if resource.file and resource.file == resource.save:
        yield "is saved to the file that it is", "a `file` is changed in place; leave out `save`"
    if isinstance(resource.save, str) and resource.save.endswith(".npy") and resource.shape is None:
        yield f"is saved to `{resource.save}` and is no array", "give it a shape, or a path that ends otherwise"


def stretch_of(resource: Resource, claim: Claim) -> tuple[int, int | None]:
    """Give where a claim begins and how long it is, in bytes; a length of none goes to the end."""
    row = 1
    if resource.shape is not None:
        assert resource.bytes_count is not None
        assert resource.rows_count
        row = resource.bytes_count // resource.rows_count
    return claim.offset * row, None if claim.length is None else claim.length * row


def shape_of(resource: Resource, claim: Claim) -> tuple[int, ...]:
    """Give the shape of the part of an array that is claimed."""
    first, *others = [length for length in resource.shape or () if isinstance(length, int)]
    return (first - claim.offset if claim.length is None else claim.length, *others)


__all__ = ["DTYPES", "Resource", "dtype_name", "faults_of", "item_bytes", "settled", "shape_of", "stretch_of"]
