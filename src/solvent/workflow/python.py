"""Workflows written in Python: ordinary functions, and calls that build the graph.

    from solvent.workflow import attempt, service, workflow

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
(see `steps`), which a type checker takes for the result: `clean(3)` is an error in the editor, in both places.
The builder in use is carried in a context variable while a workflow function is traced; nothing else is kept.
"""

from __future__ import annotations

import functools
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from msgspec.structs import replace

from solvent.workflow import model
from solvent.workflow.building import builder_for
from solvent.workflow.callables import ServiceFunction, WorkflowFunction
from solvent.workflow.flow import TAKEN
from solvent.workflow.steps import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from solvent.workflow.building import Trigger

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Limits(TypedDict, total=False):
    """How a service is called; see `model.Policy` for each."""

    timeout: float
    retries: int
    backoff: float
    backoff_max: float
    concurrency: int
    rate: float
    heartbeat: float
    losses: int


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
    called = name or _identifier(PurePath(command.split(maxsplit=1)[0]).name if command.strip() else "", "shell")
    described = model.Service(called, "shell", command, options=options or {}, policy=model.Policy(**limits))
    return ServiceFunction(described)


def http(
    method: str, url: str, *, name: str | None = None, options: dict[str, Any] | None = None, **limits: Unpack[Limits]
) -> ServiceFunction[..., Any]:
    """Make a service of an HTTP request: `http("POST", "http://localhost:8000/score")`."""
    called = name or _identifier(PurePath(url.split("?", maxsplit=1)[0]).name, method.lower())
    policy = model.Policy(**limits)
    return ServiceFunction(model.Service(called, "http", url, method.upper(), options=options or {}, policy=policy))


def hocl(
    path: str, *, name: str | None = None, options: dict[str, Any] | None = None, **limits: Unpack[Limits]
) -> ServiceFunction[..., Any]:
    """Make a service of a HOCL program."""
    called = name or _identifier(PurePath(path).stem, "hocl")
    described = model.Service(called, "hocl", path, options=options or {}, policy=model.Policy(**limits))
    return ServiceFunction(described)


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


__all__ = ["Limits", "ServiceDecorator", "attempt", "hocl", "http", "service", "shell", "workflow"]
