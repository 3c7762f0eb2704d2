"""Steps: what stands for a task's result while a workflow written in Python is traced.

Inside a function under `@workflow` nothing is computed: a call of a service adds a task and gives a step. To a type
checker the step has the type of the result, so arguments are checked as in any Python program. All that can be done
with it is to hand it on, to take an item of it, and to unpack it where the service says how many items it gives.
Everything else would need the value, which is not there yet, and raises W150 at the very place.

A `Start` is handed on like a step and says besides what starts the call that takes it: one of several steps, a signal.
"""

from __future__ import annotations

import inspect
import linecache
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias, get_args, get_origin, get_type_hints

from solvent.errors import WorkflowProblem
from solvent.source import Source, Span
from solvent.workflow.model import Arrived, Claim, Input, Result, Signalled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from types import FrameType

    from solvent.workflow.building import Builder

_OWN = tuple(
    f"solvent.workflow.{name}" for name in ("building", "callables", "flow", "lists", "python", "sharing", "steps")
)


Place: TypeAlias = tuple[str, int]
"""A file and a line of it."""


def caller_frame() -> FrameType | None:
    """Find the user's function that called this package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") in _OWN:
        frame = frame.f_back
    return frame


def caller_place() -> Place:
    """Give the file and the line from which this package was called."""
    frame = caller_frame()
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def line_span(path: str, line: int, begin: int | None = None, end: int | None = None) -> Span | None:
    """Give a stretch of a line of a file, all of it if no columns are named."""
    lines = linecache.getlines(path)
    if not 0 < line <= len(lines):
        return None
    text = lines[line - 1].rstrip()
    begin = len(text) - len(text.lstrip()) if begin is None else begin
    end = max(begin + 1, len(text) if end is None else end)
    offset = sum(map(len, lines[: line - 1]))
    return Span(Source("".join(lines), path), offset + begin, offset + end)


def problem(code: str, message: str, *, hint: str = "") -> WorkflowProblem:
    """Make an error that points at the user's line."""
    frame, span = caller_frame(), None
    if frame is not None:
        at = inspect.getframeinfo(frame, context=0)
        columns: tuple[int | None, int | None] = (None, None)
        if at.positions is not None and at.positions.lineno == at.positions.end_lineno == at.lineno:
            columns = (at.positions.col_offset, at.positions.end_col_offset)
        span = line_span(at.filename, at.lineno, *columns)
    return WorkflowProblem(code, message, span=span, hint=hint)


def items_count(function: Callable[..., Any] | None) -> int | None:
    """Tell how many items a function gives, if its annotation is a tuple of a fixed length."""
    if function is None:
        return None
    try:
        returned = get_type_hints(function).get("return")
    except (NameError, TypeError, AttributeError):
        # A name that is imported for type checkers only cannot be looked up; nothing is known then.
        return None
    arguments = get_args(returned)
    if get_origin(returned) is not tuple or Ellipsis in arguments:
        return None
    return len(arguments)


def _refuse(use: str) -> Callable[..., NoReturn]:
    def refuse(self: Step, *_: Any, **__: Any) -> NoReturn:
        raise problem(
            "W150",
            f"{self!r} has no value yet: {use} while the workflow is being built",
            hint="do it inside a function under @service, and call that",
        )

    return refuse


class Step:
    """The result of a task, or an input, of a workflow that is being built."""

    __slots__ = ("argument", "builder", "function")

    def __init__(
        self,
        builder: Builder,
        argument: Input | Result | Arrived | Signalled | Claim,
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.builder = builder
        self.argument = argument
        self.function = function

    def __repr__(self) -> str:
        match self.argument:
            case Input(name):
                return f"the input `{name}`"
            case Result(task, None):
                return f"the result of `{task}`"
            case Result(task, item):
                return f"item {item} of the result of `{task}`"
            case _:
                return "what starts the call"

    def __getitem__(self, key: Any) -> Step:
        return self.builder.item_of(self, key)

    def __iter__(self) -> Iterator[Step]:
        count = items_count(self.function)
        if count is None:
            raise problem(
                "W150",
                f"{self!r} has no value yet: how many items it has is known when the workflow runs",
                hint="call a service once for each item with service.each(...), or annotate the service that gives "
                "it with a tuple of fixed length",
            )
        return iter([self[position] for position in range(count)])

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # Python and its tools ask for these to find out what a value can do.
            raise AttributeError(name)
        _refuse(f"`.{name}` is asked of it")(self)

    __hash__ = object.__hash__
    __bool__ = _refuse("it is tested")
    __len__ = _refuse("its length is asked")
    __contains__ = _refuse("it is searched")
    __call__ = _refuse("it is called")
    __str__ = __format__ = _refuse("it is made into text")
    __int__ = __float__ = __index__ = __complex__ = _refuse("it is made into a number")
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse("it is compared")
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse("it is calculated with")
    __truediv__ = __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse("it is calculated with")
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __divmod__ = __rdivmod__ = _refuse("it is calculated with")
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _refuse("it is calculated with")
    __neg__ = __pos__ = __abs__ = __invert__ = __round__ = _refuse("it is calculated with")
    __setitem__ = __delitem__ = _refuse("it is changed")
    __enter__ = __await__ = __next__ = _refuse("it is used")


class Start(Step):
    """What starts the call that takes it, and the value that came: whichever of some steps, all of them, a signal."""

    __slots__ = ("demands", "sources", "written")

    def __init__(
        self,
        builder: Builder,
        argument: Arrived | Signalled,
        written: str,
        demands: Mapping[str, Any],
        sources: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(builder, argument)
        self.written = written
        """How the user wrote it."""
        self.demands = demands
        """Fields of the task's `Control`."""
        self.sources = sources
        """The tasks that are waited for; none where it says nothing about them."""

    def __repr__(self) -> str:
        return f"`{self.written}`"


def demands_of(values: Iterable[object]) -> tuple[Start | None, dict[str, Any]]:
    """Give the start that joins steps, if one is among some arguments, and the fields of `Control` that all ask for."""
    join: Start | None = None
    asked: dict[str, tuple[Any, Start]] = {}
    for one in values:
        if isinstance(one, Start):
            join = one if one.sources is not None else join
            for key, value in (*one.demands.items(), *([] if one.sources is None else [("sources", one.sources)])):
                known, other = asked.setdefault(key, (value, one))
                if known != value:
                    raise problem(
                        "W154",
                        f"{other!r} and {one!r} cannot both start one call",
                        hint="let a step of its own take one of them, and hand on its result",
                    )
    return join, {key: value for key, (value, _) in asked.items() if key != "sources"}


HINT_PLAIN = "put the call into a function under @workflow and run that with `solvent.run_workflow`"

__all__ = [
    "HINT_PLAIN", "Place", "Start", "Step", "caller_place", "demands_of", "items_count", "line_span", "problem",
]  # fmt: skip
