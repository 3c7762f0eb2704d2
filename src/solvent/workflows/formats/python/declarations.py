"""Workflows written in Python: ordinary functions, and calls that build the graph.

    from solvent import attempt, service, workflow

    @service(timeout=5, retries=2)
    def fetch(url: str) -> str: ...

    @service
    def clean(text: str) -> list[str]: ...

    @workflow
    def pipeline(url: str = "http://localhost/") -> list[int]:
        raw = fetch(url)                                            # a call makes a task
        words = attempt(clean(raw), otherwise=clean_slowly(raw))    # taken if `clean` fails
        return count.each(words)                                    # once for each word

    pipeline.definition()                                           # the model

Outside a workflow `clean("x")` just runs the function, so it is tested like any other. Inside, a call gives a step
(see `builder`), which a type checker takes for the result: `clean(3)` is an error in the editor, in both places.
The builder in use is carried in a context variable while a workflow function is traced; nothing else is kept.

A resource is data that steps change in place instead of handing it on.

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

import functools
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from msgspec.structs import replace

from solvent.workflows import model
from solvent.workflows.formats.python.builder import Step, builder_for, problem
from solvent.workflows.formats.python.callables import ServiceFunction, WorkflowFunction
from solvent.workflows.formats.python.flow import TAKEN
from solvent.workflows.model import Claim, Input, Resource, dtype_name, faults_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from os import PathLike

    from solvent.workflows.formats.python.builder import Builder, Trigger

P = ParamSpec("P")

R = TypeVar("R")

T = TypeVar("T")


class Limits(TypedDict, total=False):
    """How a service is called; see `model.Policy` for each."""

    timeout: float
    retries: int
    backoff: float
    max_backoff: float
    concurrency: int
    rate: float
    heartbeat: float
    max_lost: int


class ServiceDecorator(Protocol):
    """What `service(timeout=5)` gives: it makes a service of a function."""

    @overload
    def __call__(self, function: Callable[P, Coroutine[Any, Any, R]], /) -> ServiceFunction[P, R]: ...
    @overload
    def __call__(self, function: Callable[P, R], /) -> ServiceFunction[P, R]: ...


@overload
def service(function: Callable[P, Coroutine[Any, Any, R]], /) -> ServiceFunction[P, R]: ...


@overload
def service(function: Callable[P, R], /) -> ServiceFunction[P, R]: ...


@overload
def service(*, name: str | None = None, **limits: Unpack[Limits]) -> ServiceDecorator: ...


def service(function: Any = None, /, *, name: str | None = None, **limits: Unpack[Limits]) -> Any:
    """Make a service of a function, synchronous or asynchronous: `@service` or `@service(timeout=5, retries=2)`."""
    _check_name(name)
    if function is None:
        return functools.partial(_python_service, name=name, limits=limits)
    return _python_service(function, name=name, limits=limits)


def _python_service(function: Any, *, name: str | None, limits: Limits) -> ServiceFunction[Any, Any]:
    home, inside = getattr(function, "__module__", None), getattr(function, "__qualname__", "<unknown>")
    is_importable = home not in {None, "__main__"} and "<" not in inside
    described = model.Service(
        name or _identifier(getattr(function, "__name__", type(function).__name__), "function"),
        target=f"{home}:{inside}" if is_importable else "",
        policy=model.Policy(**limits),
    )
    made = ServiceFunction[Any, Any](described, function)
    # Not the bare function: a worker process finds by its name what the module has under it, which is the service.
    made.described = replace(described, function=made)
    return made


@overload
def workflow(function: Callable[P, R], /) -> WorkflowFunction[P, R]: ...


@overload
def workflow(
    *,
    name: str | None = None,
    locks: Mapping[str, int] | None = None,
    patterns: Mapping[str, str] | None = None,
    **limits: Unpack[Limits],
) -> Callable[[Callable[P, R]], WorkflowFunction[P, R]]: ...


def workflow(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    locks: Mapping[str, int] | None = None,
    patterns: Mapping[str, str] | None = None,
    **limits: Unpack[Limits],
) -> Any:
    """Make a workflow of a function that calls services; its parameters are the workflow's inputs.

    locks       how many steps may hold a lock at the same time, where that is more than one: `{"tape": 2}`
    patterns    rule libraries of your own to join by (`joined_by`): `{"majority": "majority.hocl"}`
    """
    _check_name(name)
    _check_names(locks or {}, patterns or {})

    def make(function: Any) -> WorkflowFunction[Any, Any]:
        called = name or _identifier(function.__name__, "workflow")
        described = model.Service(called, kind="workflow", policy=model.Policy(**limits))
        return WorkflowFunction[Any, Any](described, function, locks, patterns)

    return make if function is None else make(function)


def _check_names(locks: Mapping[str, int], patterns: Mapping[str, str]) -> None:
    for lock, permits in locks.items():
        if type(permits) is not int or permits < 1:
            raise problem("W154", f"the lock `{lock}` has {permits!r} permits", hint="give a number from 1 on")
    for pattern in patterns:
        if pattern in TAKEN:
            raise problem("W154", f"a pattern cannot be called `{pattern}`", hint="choose another name")


def shell(
    command: str, *, name: str | None = None, options: dict[str, Any] | None = None, **limits: Unpack[Limits]
) -> ServiceFunction[..., Any]:
    """Make a service of a shell command, in which `{0}` and `{name}` stand for arguments."""
    _check_name(name)
    called = name or _identifier(PurePath(command.split(maxsplit=1)[0]).name if command.strip() else "", "shell")
    described = model.Service(called, "shell", command, options=options or {}, policy=model.Policy(**limits))
    return ServiceFunction(described)


def http(
    method: str, url: str, *, name: str | None = None, options: dict[str, Any] | None = None, **limits: Unpack[Limits]
) -> ServiceFunction[..., Any]:
    """Make a service of an HTTP request: `http("POST", "http://localhost:8000/score")`."""
    _check_name(name)
    called = name or _identifier(PurePath(url.split("?", maxsplit=1)[0]).name, method.lower())
    policy = model.Policy(**limits)
    return ServiceFunction(model.Service(called, "http", url, method.upper(), options=options or {}, policy=policy))


def program(
    path: str, *, name: str | None = None, options: dict[str, Any] | None = None, **limits: Unpack[Limits]
) -> ServiceFunction[..., Any]:
    """Make a service of a HOCL program."""
    _check_name(name)
    called = name or _identifier(PurePath(path).stem, "hocl")
    described = model.Service(called, "hocl", path, options=options or {}, policy=model.Policy(**limits))
    return ServiceFunction(described)


def _check_name(name: object) -> None:
    if name is not None and not isinstance(name, str):
        raise problem("W154", f"a name is a text, not a value of type {type(name).__name__}", hint='name="fetch"')


def _identifier(text: str, default: str) -> str:
    """Make a name of a text: letters, digits and underscores."""
    name = re.sub(r"\W+", "_", text).strip("_")
    return name if name and not name[0].isdigit() and text != "<lambda>" else default


def attempt(
    first: T,
    *,
    otherwise: T,
    on: Trigger | tuple[Trigger, ...] | None = None,
    when: str | Callable[[Any], object] | None = None,
    watch: object = (),
    also: object = (),
    name: str | None = None,
) -> T:
    """Use the result of one step, or that of another if something goes wrong with it.

    `otherwise` and the steps that lead only to it wait until they are needed. It may be a constant; it may be an
    attempt itself; and for a tuple of steps it is a tuple of as many.

    on      "failure" (which a time-out is too), "timeout", "condition", or several; failure unless `when` is given
    when    a condition that rejects a result: a function of it, or HOCL text such as "result < 0.9"
    watch   later steps whose outcome decides, instead of `first` itself
    also    further steps that are given up together with `first`
    name    what the alternative is called
    """
    builder_for("attempt").add_alternative(first, otherwise, on=on, when=when, watch=watch, also=also, name=name)
    return first


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
    """Return a resource of the workflow that is being built: an array, so many bytes, or a file.

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


__all__ = ["attempt", "http", "program", "resource", "service", "shell", "workflow"]
