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
import inspect
import math
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypedDict, TypeVar, Unpack, overload

from msgspec.structs import replace

from solvent.values.annotations import converted, type_text, types_of
from solvent.workflows import model
from solvent.workflows.durations import DURATION_RULE, seconds_of
from solvent.workflows.formats.python.builder import Step, builder_for, problem
from solvent.workflows.formats.python.callables import ServiceFunction, WorkflowFunction
from solvent.workflows.formats.python.control_flow import TAKEN
from solvent.workflows.model import Claim, Input, Resource, dtype_name, faults_of

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from os import PathLike

    from solvent.workflows.formats.python.builder import Builder, Trigger

P = ParamSpec("P")

R = TypeVar("R")

T = TypeVar("T")


class Limits(TypedDict, total=False):
    """How a service is called: limits of time, number and pace, and what is tried before a call counts as failed.

    >>> from solvent import service
    >>> upper = service(name="upper", timeout=5, retries=2)(str.upper)
    >>> upper.described.policy.retries
    2
    """

    timeout: float
    """Seconds after which an attempt is given up."""
    retries: int
    """Further attempts after the first; 0 by default."""
    backoff: float
    """Seconds before the first retry, doubled before each further one; 0.1 by default."""
    max_backoff: float
    """The longest of these waits; 30 seconds by default."""
    concurrency: int
    """How many calls of the service may run at the same time."""
    rate: float
    """How many calls of the service may begin in one second."""
    heartbeat: float
    """Seconds within which a running call must call `solvent.services.heartbeat()`."""
    max_lost: int
    """How often a call may be repeated after its agent died; 10 by default."""
    cache: bool | float | str
    """Whether results are used again by calls with the same arguments, in recorded runs: `True`, or for how long, as
    seconds or `"12h"`, `"1d"`."""


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
def service(
    *,
    name: str | None = None,
    pickle: bool = False,
    check: bool = False,
    cache_key: Callable[..., object] | None = None,
    **limits: Unpack[Limits],
) -> ServiceDecorator: ...


def service(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    pickle: bool = False,
    check: bool = False,
    cache_key: Callable[..., object] | None = None,
    **limits: Unpack[Limits],
) -> Any:
    """Make a service of a function, synchronous or asynchronous: `@service`, or `@service(timeout=5, retries=2)`.

    Inside a workflow a call of the service adds a step; anywhere else it runs the function, so it can be tested like
    any other.

    - `name`: what its tasks are called, if not as the function.
    - `pickle`: keep what is no data in its results, such as a fitted model, as a pickle in records and at agents. The
      services of the workflow are then called with what such pickles make, so the store must be one that you trust.
    - `check`: make the result what the return annotation says, such as a dataclass of a dictionary, and fail the call
      if it is something else.
    - `cache_key`: with `cache`: returns, for the arguments of a call, the data that decides whether a result fits, in
      place of the arguments themselves.
    - `limits`: time-out, retries and other `Limits` of each call.

    Data that stands for a parameter which is a dataclass, a msgspec struct or a pydantic model becomes one.

    Returns a `ServiceFunction` with the signature of the function.

    Raises `WorkflowProblem` (W154) if the name is not text, or nothing says what is to be checked.

    >>> from solvent import run, service, workflow
    >>> @service(timeout=5, retries=2)
    ... def count(text: str) -> int:
    ...     return len(text.split())
    >>> count("to be or not to be")
    6
    >>> @workflow
    ... def words(text: str) -> int:
    ...     return count(text)
    >>> run(words, {"text": "to be"}).results
    {'count': 2}
    """
    _check_name(name)
    if function is None:
        return functools.partial(
            _python_service, name=name, pickle=pickle, check=check, cache_key=cache_key, limits=limits
        )
    return _python_service(function, name=name, pickle=pickle, check=check, cache_key=cache_key, limits=limits)


def _python_service(
    function: Any,
    *,
    name: str | None,
    pickle: bool,
    check: bool,
    cache_key: Callable[..., object] | None,
    limits: Limits,
) -> ServiceFunction[Any, Any]:
    if check:
        function = _checked(function)
    home, inside = getattr(function, "__module__", None), getattr(function, "__qualname__", "<unknown>")
    is_importable = home not in {None, "__main__"} and "<" not in inside
    described = model.Service(
        name or _identifier(getattr(function, "__name__", type(function).__name__), "function"),
        target=f"{home}:{inside}" if is_importable else "",
        policy=_policy(limits),
        pickle=pickle,
    )
    made = ServiceFunction[Any, Any](described, function)
    # Not the bare function: a worker process finds by its name what the module has under it, which is the service.
    made.described = replace(described, function=made)
    made.cache_key = cache_key
    return made


def _policy(limits: Limits) -> model.Policy:
    given: dict[str, Any] = dict(limits)
    cache = given.pop("cache", None)
    if cache is True:
        given["cache"] = math.inf
    elif cache is not None and cache is not False:
        seconds = seconds_of(cache)
        if not seconds:
            raise problem(
                "W155", f"{cache!r} says nothing about a cache", hint=f"`True`, or a duration: {DURATION_RULE}"
            )
        given["cache"] = seconds
    return model.Policy(**given)


def _checked(function: Any) -> Any:
    """Return a function whose results are what its annotation says; any other raises `TypeError`."""
    types = types_of(function)
    if "return" not in types:
        message = f"nothing says what `{getattr(function, '__name__', function)}` returns"
        raise problem("W154", message, hint="annotate it: def f(x) -> list[int]", about=function)
    kind = types["return"]

    def fit(value: Any) -> Any:
        try:
            return converted(value, kind)
        except ValueError as error:
            said = str(error)
            raise TypeError(f"its result is no `{type_text(kind)}`: {said[:1].lower()}{said[1:]}") from None

    if inspect.iscoroutinefunction(function):

        @functools.wraps(function)
        async def answered(*args: Any, **kwargs: Any) -> Any:
            return fit(await function(*args, **kwargs))

        return answered

    @functools.wraps(function)
    def returned(*args: Any, **kwargs: Any) -> Any:
        return fit(function(*args, **kwargs))

    return returned


@overload
def workflow(function: Callable[P, R], /) -> WorkflowFunction[P, R]: ...


@overload
def workflow(
    *,
    name: str | None = None,
    locks: Mapping[str, int] | None = None,
    patterns: Mapping[str, str] | None = None,
    deadline: float | str | None = None,
    **limits: Unpack[Limits],
) -> Callable[[Callable[P, R]], WorkflowFunction[P, R]]: ...


def workflow(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    locks: Mapping[str, int] | None = None,
    patterns: Mapping[str, str] | None = None,
    deadline: float | str | None = None,
    **limits: Unpack[Limits],
) -> Any:
    """Make a workflow of a function that calls services.

    The function runs once, to build the graph: its parameters are the inputs of the workflow, each call of a service is
    a step, and what it returns are the results. Inside another workflow a call of it is a step.

    - `name`: what the workflow is called, if not as the function.
    - `locks`: how many steps may hold a lock at once, where that is more than one: `{"tape": 2}`.
    - `patterns`: rule libraries of your own for `joined_by`: `{"majority": "majority.hocl"}`.
    - `deadline`: how long a run of it may take from its start, also while no process executes it: seconds, `"30m"`,
      `"2h"`; after that it fails. Inside another workflow only that one's deadline counts.
    - `limits`: `Limits` of its calls inside another workflow.

    Returns a `WorkflowFunction`: `solvent.run` runs it, `definition()` returns its model.

    Raises `WorkflowProblem` (W154) for a name that is not text or taken, and for a lock without permits, (W155) for a
    deadline that is no duration. Errors inside the function are raised when the workflow is run or its definition is
    asked for.

    >>> from solvent import run, service, workflow
    >>> upper = service(str.upper)
    >>> @workflow
    ... def shout(text: str = "hi") -> str:
    ...     return upper(text)
    >>> run(shout).results
    {'upper': 'HI'}
    >>> shout.definition().inputs
    {'text': 'hi'}
    """
    _check_name(name)
    _check_names(locks or {}, patterns or {})
    seconds = None if deadline is None else seconds_of(deadline)
    if deadline is not None and not seconds:
        raise problem("W155", f"{deadline!r} is no deadline", hint=DURATION_RULE)

    def make(function: Any) -> WorkflowFunction[Any, Any]:
        called = name or _identifier(function.__name__, "workflow")
        described = model.Service(called, kind="workflow", policy=_policy(limits))
        return WorkflowFunction[Any, Any](described, function, locks, patterns, seconds)

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
    r"""Make a service of a shell command, in which `{0}` and `{name}` stand for arguments.

    - `command`: the command. Arguments are put in as words and never read as code; a list becomes several words.
    - `name`: what its tasks are called, if not as the command.
    - `options`: `result` (`"stdout"`, `"json"`, `"lines"`, `"exit"`, `"file:PATH"`), `stdin`, `cwd`, `env`,
      `max_output`.
    - `limits`: time-out, retries and other `Limits`.

    Returns a service whose result is what the command prints, unless `options` say otherwise.

    Raises `WorkflowProblem` (W154) if the name is not text. A command that ends with an error makes its step fail.

    >>> from solvent import run, shell, workflow
    >>> sort = shell("printf '%s\n' {0} {1} | sort", name="sort")
    >>> @workflow
    ... def ordered(one: str, other: str) -> str:
    ...     return sort(one, other)
    >>> run(ordered, {"one": "b", "other": "a"}).results
    {'sort': 'a\nb'}
    """
    _check_name(name)
    called = name or _identifier(PurePath(command.split(maxsplit=1)[0]).name if command.strip() else "", "shell")
    described = model.Service(called, "shell", command, options=options or {}, policy=_policy(limits))
    return ServiceFunction(described)


def http(
    method: str, url: str, *, name: str | None = None, options: dict[str, Any] | None = None, **limits: Unpack[Limits]
) -> ServiceFunction[..., Any]:
    """Make a service of an HTTP request. Runs need the extra `http`: `pip install 'solvent[http]'`.

    - `method`, `url`: such as `"POST"` and the address. `{0}` and `{name}` in the address stand for arguments; GET,
      HEAD, DELETE and OPTIONS add other keywords to the query, all other methods send the arguments as JSON.
    - `name`: what its tasks are called, if not as the last part of the address.
    - `options`: `headers`, and `max_output` for the most bytes of an answer.
    - `limits`: time-out, retries and other `Limits`.

    Raises `WorkflowProblem` (W154) if the name is not text. A request that fails makes its step fail.

    >>> from solvent import http, workflow
    >>> score = http("POST", "http://localhost:8000/score", timeout=5)
    >>> @workflow
    ... def rated(text: str) -> float:
    ...     return score(text)
    >>> [task.name for task in rated.definition().tasks]
    ['score']
    """
    _check_name(name)
    called = name or _identifier(PurePath(url.split("?", maxsplit=1)[0]).name, method.lower())
    policy = _policy(limits)
    return ServiceFunction(model.Service(called, "http", url, method.upper(), options=options or {}, policy=policy))


def program(
    path: str, *, name: str | None = None, options: dict[str, Any] | None = None, **limits: Unpack[Limits]
) -> ServiceFunction[..., Any]:
    """Make a service of a HOCL program in a file, whose solution takes the arguments and runs until it is inert.

    - `path`: the file, from the folder of the run.
    - `name`: what its tasks are called, if not as the file.
    - `options`: `{"result": "SUM"}` takes the value of the molecule `SUM : value` as the result.
    - `limits`: time-out, retries and other `Limits`.

    Items of a list become molecules of their own, and a keyword `n=3` becomes `N : 3`. The result is what is left
    besides rules: the value of one molecule, or a list.

    Raises `WorkflowProblem` (W154) if the name is not text. `run` raises if the program cannot be read.

    >>> from pathlib import Path
    >>> from solvent import program, run, workflow
    >>> _ = Path("largest.hocl").write_text("<replace x::int, y::int by x if x >= y>")
    >>> largest = program("largest.hocl")
    >>> @workflow
    ... def top(one: int, other: int) -> int:
    ...     return largest(one, other)
    >>> run(top, {"one": 3, "other": 8}).results
    {'largest': 8}
    """
    _check_name(name)
    called = name or _identifier(PurePath(path).stem, "hocl")
    described = model.Service(called, "hocl", path, options=options or {}, policy=_policy(limits))
    return ServiceFunction(described)


def delay(duration: str | float, value: Any = None, *, after: object = ()) -> Any:
    """Add a step that waits, and passes a value on.

    - `duration`: seconds, or a text such as `"30s"`, `"15m"`, `"1h"` or `"7d"`.
    - `value`: what the step takes and returns, such as another step, which it comes after.
    - `after`: one or several steps it comes after besides.

    The step occupies no worker. In a recorded run only the rest is waited for after a restart.

    Returns a step.

    Raises `WorkflowProblem`: W155 for something that is no duration, W156 outside a workflow.

    >>> from solvent import delay, run, service, workflow
    >>> upper = service(str.upper)
    >>> @workflow
    ... def later(text: str) -> str:
    ...     return upper(delay("0.01s", text))
    >>> run(later, {"text": "hi"}).results
    {'upper': 'HI'}
    """
    if isinstance(duration, bool) or seconds_of(duration) is None:
        raise problem("W155", f"{duration!r} is no duration", hint=DURATION_RULE)
    name = _identifier(f"delay {duration}", "delay")
    made = ServiceFunction[..., Any](model.Service(name, "delay", str(duration)))
    steps = after if isinstance(after, tuple | list) else (after,)
    made = made.after(*steps) if steps else made
    return made() if value is None else made(value)


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

    Steps that lead only to `otherwise` run only if they are needed. `otherwise` may be a constant or another `attempt`;
    for a tuple of steps it is a tuple of the same length.

    - `on`: `"failure"` (which includes time-outs), `"timeout"`, `"condition"`, or a tuple of them; failure unless
      `when` is given.
    - `when`: a condition that rejects a result: a function of it, or HOCL text such as `"result < 0.9"`.
    - `watch`: later steps whose outcome decides, instead of `first` itself.
    - `also`: further steps to give up together with `first`.
    - `name`: what the alternative is called in reports.

    Returns `first`, which stands for the result of either.

    Raises `WorkflowProblem`: W156 outside a workflow, W155 for arguments that are not steps of it.

    >>> from solvent import attempt, run, service, workflow
    >>> number, length = service(int), service(len)
    >>> @workflow
    ... def measure(text: str) -> int:
    ...     return attempt(number(text), otherwise=length(text))
    >>> report = run(measure, {"text": "seven"})
    >>> report.results, report.states
    ({'int': 5}, {'int': 'replaced', 'len': 'done'})
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
    """Return a resource of the workflow that is being built: data that steps change in place instead of passing it on.

    - `shape`, `dtype`: an array of this shape and type (`float64`), as in NumPy; all zero at first.
    - `size`: a number of bytes instead, all zero at first.
    - `file`: the bytes are those of a file, changed in place; created if it does not exist and `size` is given.
    - `save`: where to write it when the run has ended: `.npy` for an array as NumPy does, else its bytes.
    - `undo`: if false, no earlier version is kept: what a failed call has changed stays changed.

    Numbers and paths may be inputs of the workflow. Pass the resource to a step for exclusive use, `grid.read` for
    reading beside others, and `grid[10:20]` for some of its rows.

    Raises `WorkflowProblem`: W156 outside a workflow, W152 if the name is taken, W161 for a size or type that makes no
    sense.

    >>> from solvent import resource, run, service, workflow
    >>> @service
    ... def fill(table) -> None:
    ...     table[:4] = b"done"
    >>> @workflow
    ... def filled() -> None:
    ...     return fill(resource("table", size=4))
    >>> bytes(run(filled).resources["table"])
    b'done'
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
