"""Resources of workflows written in Python: data that steps change in place instead of handing it on.

    @workflow
    def heat(n: int = 200) -> float:
        grid = resource("grid", shape=(n, n), dtype="float32", save="grid.npy")
        made = fill(grid)                              # `fill` gets the array, and nobody else has it meanwhile
        swept = sweep.after(made)(grid)
        return mean.after(swept)(grid.read)            # to read, beside others that read; the array cannot be changed

Which of two steps that claim a resource comes first is said by results and by `after`, as always; the claims only see
to it that they do not come at the same time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.workflow.building import builder_for
from solvent.workflow.model import Claim, Input, Resource
from solvent.workflow.resources import dtype_name, faults_of
from solvent.workflow.steps import Step, problem

if TYPE_CHECKING:
    from os import PathLike

    from solvent.workflow.building import Builder

_HINT_SLICE = "grid[10:20] is rows 10 to 19, grid[10:] all from row 10 on"


class Shared(Step):
    """A resource, to be handed to a call: all of it to write, `.read` to read, a slice for some rows or bytes."""

    __slots__ = ()
    argument: Claim

    def __init__(self, builder: Builder, claim: Claim) -> None:
        super().__init__(builder, claim)

    def __repr__(self) -> str:
        return f"the resource `{self.argument.resource}`"

    @property
    def read(self) -> Any:
        """The same, to be read beside others."""
        return Shared(self.builder, replace(self.argument, mode="read"))

    def __getitem__(self, key: Any) -> Any:
        if not self.argument.is_whole:
            raise problem("W162", f"a stretch of a stretch of {self!r} is taken", hint="take it from all of it")
        if not isinstance(key, slice) or key.step not in (None, 1):
            raise problem("W162", f"{self!r} is divided into stretches only", hint=_HINT_SLICE)
        begin, end = 0 if key.start is None else key.start, key.stop
        if type(begin) is not int or begin < 0 or (end is not None and (type(end) is not int or end <= begin)):
            raise problem("W162", f"{begin!r} to {end!r} is no stretch of {self!r}", hint=_HINT_SLICE)
        return Shared(self.builder, replace(self.argument, offset=begin, length=None if end is None else end - begin))


def resource(
    name: str,
    *,
    shape: int | tuple[int, ...] | None = None,
    dtype: Any = None,
    size: int | None = None,
    file: str | PathLike[str] = "",
    save: str | PathLike[str] = "",
    undo: bool = True,
) -> Any:
    """Give a resource of the workflow that is being built: an array, so many bytes, or a file.

    shape, dtype   an array of these lengths and this type (float64), as NumPy has them; at first, all is zero
    size           so many bytes instead, at first all zero
    file           the bytes are those of a file, changed in place; made if there is none and the size is said
    save           where it is written when the run has ended: `.npy` for an array as NumPy does, else its bytes
    undo           false: nothing is kept of the version before: what a call that fails had changed stays changed

    Numbers and paths may be inputs of the workflow.
    """
    builder = builder_for("resource")
    if name in builder.resources:
        raise problem("W152", f"there is a resource `{name}` already", hint="choose another name")
    if dtype is not None and shape is None:
        raise problem("W161", f"the resource `{name}` has a dtype and is no array", hint="say its shape too")
    lengths = shape if isinstance(shape, tuple | list) else (shape,)
    made = Resource(
        name,
        None if shape is None else tuple(_given(builder, length) for length in lengths),
        "float64" if dtype is None else dtype_name(dtype),
        _given(builder, size),
        _path(builder, file),
        _path(builder, save),
        undo,
    )
    for fault, hint in faults_of(made):
        raise problem("W161", f"the resource `{name}` {fault}", hint=hint)
    builder.resources[name] = made
    return Shared(builder, Claim(name))


def _given(builder: Builder, value: Any) -> Any:
    """Take a number or a path, or the input that gives it."""
    if not isinstance(value, Step):
        return value
    argument = builder.argument(value)
    if not isinstance(argument, Input):
        raise problem("W161", f"{value!r} is not known before the run", hint="a number, a path or an input is")
    return argument


def _path(builder: Builder, value: Any) -> Any:
    return _given(builder, value) if isinstance(value, Step) else str(value)


__all__ = ["Shared", "resource"]
