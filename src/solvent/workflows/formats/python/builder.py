"""The builder: what a workflow function fills while it is traced.

One builder belongs to one trace of one function. It is carried in a context variable for as long as the function
runs and forgotten afterwards; there is no other state, so workflows may be traced in several threads, and inside each
other when one uses another as a task.

Inside a function under `@workflow` nothing is computed: a call of a service adds a task and gives a step. To a type
checker the step has the type of the result, so arguments are checked as in any Python program. All that can be done
with it is to hand it on, to take an item of it, and to unpack it where the service says how many items it gives.
Everything else would need the value, which is not there yet, and raises W150 at the very place.

A `Start` is handed on like a step and says besides what starts the call that takes it: one of several steps, a signal.
"""

from __future__ import annotations

import inspect
import linecache
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, get_args, get_origin, get_type_hints

from msgspec.structs import replace

from solvent.errors import WorkflowProblem
from solvent.source import Source, Span
from solvent.workflows import model
from solvent.workflows.formats.python.collectors import DICT, ITEM, LIST, SAME, TUPLE, passes_on

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import FrameType


_OWN = (__name__, *(f"{__package__}.{name}" for name in ("callables", "declarations", "control_flow")))
"""The modules that stand between a user's function and the builder."""

Place: TypeAlias = tuple[str, int]
"""A file and a line of it."""


def caller_frame() -> FrameType | None:
    """Find the user's function that called this package."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") in _OWN:
        frame = frame.f_back
    return frame


def caller_place() -> Place:
    """Return the file and the line from which this package was called."""
    frame = caller_frame()
    return ("", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def line_span(path: str, line: int, begin: int | None = None, end: int | None = None) -> Span | None:
    """Return a stretch of a line of a file, all of it if no columns are named."""
    lines = linecache.getlines(path)
    if not 0 < line <= len(lines):
        return None
    text = lines[line - 1].rstrip()
    begin = len(text) - len(text.lstrip()) if begin is None else begin
    end = max(begin + 1, len(text) if end is None else end)
    offset = sum(map(len, lines[: line - 1]))
    return Span(Source("".join(lines), path), offset + begin, offset + end)


def _definition_span(function: object) -> Span | None:
    """Return the line on which a function is defined, below its decorators."""
    code = getattr(inspect.unwrap(function) if callable(function) else None, "__code__", None)
    if code is None:
        return None
    first = code.co_firstlineno
    lines = enumerate(linecache.getlines(code.co_filename)[first - 1 :], first)
    defined = (at for at, line in lines if line.lstrip().startswith(("def ", "async def ")))
    return line_span(code.co_filename, first if code.co_name == "<lambda>" else next(defined, first))


def problem(code: str, message: str, *, hint: str = "", about: object = None) -> WorkflowProblem:
    """Make an error that points at the user's line, which is that of a function if the error is about all of it."""
    frame, span = caller_frame(), None
    if about is not None:
        span = _definition_span(about)
    elif frame is not None:
        at = inspect.getframeinfo(frame, context=0)
        columns: tuple[int | None, int | None] = (None, None)
        if at.positions is not None and at.positions.lineno == at.positions.end_lineno == at.lineno:
            columns = (at.positions.col_offset, at.positions.end_col_offset)
        span = line_span(at.filename, at.lineno, *columns)
    return WorkflowProblem(code, message, span=span, hint=hint)


def items_count(function: Callable[..., Any] | None) -> int | None:
    """Return how many items a function gives, if its annotation is a tuple of a fixed length."""
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
        argument: model.Input | model.Result | model.Arrived | model.Signalled | model.Claim,
        function: Callable[..., Any] | None = None,
    ) -> None:
        self.builder = builder
        self.argument = argument
        self.function = function

    def __repr__(self) -> str:
        match self.argument:
            case model.Input(name):
                return f"the input `{name}`"
            case model.Result(task, None):
                return f"the result of `{task}`"
            case model.Result(task, item):
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
        argument: model.Arrived | model.Signalled,
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
    """Return the start that joins steps, if some arguments have one, and the fields of `Control` that all ask for."""
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


def refuse_others(service: str, join: Start, slots: Sequence[model.Argument]) -> None:
    """Refuse steps beside those that are joined: their arrival would start the call too."""
    for slot in slots:
        if isinstance(slot, model.Result) and slot.task not in (join.sources or ()):
            raise problem(
                "W154",
                f"`{service}` is started by {join!r} and waits for `{slot.task}` too",
                hint=f"let a step of its own take {join!r}, and hand on its result",
            )


def several(steps: Any) -> Sequence[Any]:
    """Take nothing, one or several."""
    if steps is None:
        return ()
    return steps if type(steps) in {list, tuple} else (steps,)


def has_step(value: Any) -> bool:
    """Return whether a step is in lists, tuples and dictionaries, however deep."""
    todo, seen = [value], set[int]()
    while todo:
        one = todo.pop()
        if isinstance(one, Step):
            return True
        if type(one) in {list, tuple, dict} and id(one) not in seen:
            seen.add(id(one))
            todo.extend(one.values() if isinstance(one, dict) else one)
    return False


def described(value: Any) -> str:
    """Return what a message calls a value."""
    return repr(value) if isinstance(value, Step) else f"a value of type {type(value).__name__}"


HINT_PLAIN = "put the call into a function under @workflow and run that with `solvent.run`"

Trigger = Literal["failure", "timeout", "condition"]
"""What makes a stand-in take over."""

_GATHERING = (DICT, ITEM, LIST, SAME, TUPLE)

_CURRENT: ContextVar[Builder | None] = ContextVar("solvent_builder", default=None)


def current_builder() -> Builder | None:
    """Return the builder of the workflow that is being traced here, if one is."""
    return _CURRENT.get()


def builder_for(word: str) -> Builder:
    """Return the builder of the workflow that is being traced here, where one must be."""
    builder = current_builder()
    if builder is None:
        raise problem("W156", f"`{word}` is used inside a workflow", hint=HINT_PLAIN)
    return builder


def _stand_in_names(alternatives: Sequence[model.Alternative], task: str) -> list[str]:
    """Return the tasks that may be called in the place of one: those of its alternatives, and of theirs."""
    found = [task]
    for name in found:
        found += [one.exits[name] for one in alternatives if name in one.exits and one.exits[name] not in found]
    return found[1:]


_RETURNS: dict[type, Literal["list", "tuple", "nothing"]] = {list: "list", tuple: "tuple", type(None): "nothing"}


class Builder:
    """A workflow as far as its function has been traced."""

    def __init__(
        self,
        name: str,
        inputs: Mapping[str, Any],
        origin: object = None,
        *,
        locks: Mapping[str, int] | None = None,
        patterns: Mapping[str, str] | None = None,
        deadline: float | None = None,
    ) -> None:
        self.name = name
        self.deadline = deadline
        self.resources: dict[str, model.Resource] = {}
        self.inputs = dict(inputs)
        self.origin = origin
        self.locks = dict(locks or {})
        self.labels: tuple[str, ...] = ()
        self._returns: Literal["", "list", "tuple", "nothing"] = ""
        self.patterns = dict(patterns or {})
        self.outer = current_builder()
        self.inner: dict[object, model.Service] = {}
        """The workflows that are used as tasks, traced once each."""
        self.places: dict[str, Place] = {}
        """Where in the user's text each task was made."""
        self.circles: list[tuple[list[Builder], Place]] = []
        """The calls of this workflow inside itself: through which builders, and where."""
        self._tasks: dict[str, model.Task] = {}
        self._task_names = _Names("task")
        self._entered: dict[str, tuple[str, ...]] = {}
        """The tasks that a way back leads to, with the sources that they had before."""
        self._alternatives: list[model.Alternative] = []
        self._alternative_names = _Names("alternative")
        self._standing_in: set[str] = set()
        self._triggers: set[tuple[object, ...]] = set()
        self._services: dict[str, model.Service] = {}
        self._service_names = _Names("service")
        self._service_known: dict[int, tuple[str, model.Service]] = {}

    @contextmanager
    def tracing(self) -> Iterator[Builder]:
        """Be the builder that calls of services add to."""
        before = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(before)

    def is_tracing(self, origin: object) -> bool:
        """Return whether a workflow function is being traced here or further out."""
        return self.origin is origin or (self.outer is not None and self.outer.is_tracing(origin))

    def call_back(self, origin: object) -> None:
        """Note that a workflow which is being traced here or further out is called in itself."""
        chain = [self]
        while chain[-1].origin is not origin and chain[-1].outer is not None:
            chain.append(chain[-1].outer)
        chain[-1].circles.append((chain, caller_place()))

    @property
    def can_differ(self) -> bool:
        """Whether something decides what is done, so that not every run does all of it."""
        return bool(self._alternatives) or any(task.control is not None for task in self._tasks.values())

    # ------------------------------------------------------------------------------------------- tasks

    def add_task(
        self,
        service: model.Service,
        arguments: Sequence[Any] = (),
        keywords: Mapping[str, Any] | None = None,
        *,
        each: model.Each | None = None,
        name: str | None = None,
        after: Sequence[Any] = (),
        function: Callable[..., Any] | None = None,
        per_item: model.PerItem | None = None,
    ) -> Step:
        """Add a call of a service and give the step that stands for its result."""
        given = tuple([self.argument(value) for value in arguments])
        named = {key: self.argument(value) for key, value in (keywords or {}).items()}
        if service in _GATHERING and any(isinstance(one, model.Claim) for one in given):
            raise problem("W162", "a resource is an argument by itself, not a part of one, and stands in for nothing")
        join, asked = demands_of([*arguments, *(keywords or {}).values(), *after])
        earlier = [self.task_of(step, "`after`") for step in after if not isinstance(self._own_start(step), Start)]
        if join is not None:
            refuse_others(service.name, join, [*given, *named.values(), *map(model.Result, earlier)])
            earlier += join.sources or ()
        called = self._service_name(service)
        name = self._task_names.free(service.name) if name is None else self._task_names.own(name)
        control = model.Control(**asked) if asked else None
        self._tasks[name] = model.Task(
            name, called, given, named, each, tuple(dict.fromkeys(earlier)), control, per_item
        )
        self.places[name] = caller_place()
        return Step(self, model.Result(name), None if each else function)

    def fallback(self, service: model.Service, *, on: Any = None, when: Any = None) -> model.Fallback:
        """Return what calls a service for an item; `on` and `when` are as of an alternative."""
        text, predicate = (when, None) if isinstance(when, str) else (None, when)
        return model.Fallback(
            self._service_name(service), _triggers(on, has_condition=when is not None), text, predicate
        )

    def task(self, name: str) -> model.Task:
        """Return a task as it is so far."""
        return self._tasks[name]

    def change(self, name: str, **changes: Any) -> None:
        """Put another task of the same name in the place of one."""
        self._tasks[name] = replace(self._tasks[name], **changes)

    def enter(self, name: str) -> None:
        """Let a task take what a way back brings, in place of the result of the step before it."""
        self._entered[name] = self._tasks[name].sources
        self._tasks[name] = self._tasks[name].taking_arrivals(self._entered[name])

    def argument(self, value: Any) -> model.Argument:
        """Return where an argument comes from; lists that hold steps become tasks of their own."""
        if isinstance(value, Step):
            return self._own(value).argument
        if type(value) in {list, tuple, dict} and has_step(value):
            return self._collect(value).argument
        return model.Value(value)

    def item_of(self, step: Step, key: Any) -> Step:
        """Take an item: a filter where the model has one (a whole result, an item counted from 0), else a task."""
        source = self._own(step).argument
        if isinstance(source, model.Result) and source.item is None and type(key) is int and key >= 0:
            return Step(self, model.Result(source.task, key + 1))
        return self.add_task(ITEM, (step, key))

    def task_of(self, step: Any, where: str) -> str:
        """Return the name of the task that a step stands for."""
        if not isinstance(step, Step) or not isinstance(self._own(step).argument, model.Result):
            raise problem(
                "W155", f"{where} takes steps of the workflow, not {described(step)}", hint="give what a call returned"
            )
        assert isinstance(step.argument, model.Result)
        return step.argument.task

    def _own(self, step: Step, *, about: object = None) -> Step:
        if step.builder is not self:
            raise problem(
                "W151",
                f"{step!r} belongs to the workflow `{step.builder.name}` and is used in `{self.name}`",
                hint="make it an input of this workflow and hand it over in the call",
                about=about,
            )
        return step

    def _own_start(self, step: Any) -> Any:
        return self._own(step) if isinstance(step, Start) else step

    def _collect(self, value: Any) -> Step:
        match value:
            case dict():
                return self.add_task(DICT, (list(value), *value.values()))
            case tuple():
                return self.add_task(TUPLE, value)
            case _:
                return self.add_task(LIST, value)

    def _as_whole_task(self, value: Any) -> str:
        if isinstance(value, Step) and isinstance(value.argument, model.Result) and value.argument.item is None:
            return self.task_of(value, "`otherwise`")
        return self.task_of(self.add_task(SAME, (value,)), "`otherwise`")

    def _service_name(self, service: model.Service) -> str:
        if (known := self._service_known.get(id(service))) is not None:
            return known[0]
        name = service.name
        if self._services.get(name) != service:
            name = self._service_names.free(name)
            self._services[name] = service if name == service.name else replace(service, name=name)
        # Keeping the service beside its number keeps the number from being given to another.
        self._service_known[id(service)] = (name, service)
        return name

    # ------------------------------------------------------------------------------------- alternatives

    def add_alternative(
        self,
        first: Any,
        otherwise: Any,
        *,
        on: Trigger | tuple[Trigger, ...] | None = None,
        when: str | Callable[[Any], object] | None = None,
        watch: Any = (),
        also: Any = (),
        name: str | None = None,
    ) -> None:
        """Let some steps stand in for others."""
        exits = self._exits(first, otherwise)
        triggers = _triggers(on, has_condition=when is not None)
        names = self._alternative_names
        alternative = model.Alternative(
            names.own(name) if name else names.free(f"instead_of_{next(iter(exits))}"),
            exits,
            also=tuple([self.task_of(step, "`also`") for step in several(also)]),
            on=triggers,
            when=when if isinstance(when, str) else None,
            predicate=None if isinstance(when, str) else when,
            watch=tuple([self.task_of(step, "`watch`") for step in several(watch)]),
        )
        self._refuse_rivals(alternative)
        self._alternatives.append(alternative)

    def _exits(self, first: Any, otherwise: Any) -> dict[str, str]:
        several = type(first) in {list, tuple}
        if several and (type(otherwise) not in {list, tuple} or len(otherwise) != len(first) or not first):
            raise problem(
                "W155",
                f"{len(first)} steps need as many that stand in for them",
                hint="attempt((a, b), otherwise=(c, d)): c stands in for a, and d for b",
            )
        exits = {}
        for old, new in zip(first, otherwise, strict=True) if several else ((first, otherwise),):
            replaced = self.task_of(old, "`attempt`")
            if isinstance(old, Step) and old.argument != model.Result(replaced):
                raise problem("W155", f"{old!r} cannot be replaced", hint="attempt the whole step, then take its item")
            exits[replaced] = self._as_whole_task(new)
            if exits[replaced] == replaced:
                raise problem("W155", f"`{replaced}` cannot stand in for itself", hint="call the service again")
        return exits

    def _refuse_rivals(self, new: model.Alternative) -> None:
        for replaced, exit_task in new.exits.items():
            if exit_task in self._standing_in:
                raise problem("W155", f"`{exit_task}` stands in already", hint="call the service once for each use")
            self._standing_in.add(exit_task)
            for trigger in new.on:
                key = (replaced, trigger, new.watch)
                if key in self._triggers and trigger != "condition":
                    raise problem(
                        "W155",
                        f"`{replaced}` has two alternatives on {trigger}",
                        hint="nest them: attempt(a, otherwise=attempt(b, otherwise=c))",
                    )
                self._triggers.add(key)

    # ------------------------------------------------------------------------------------------ the end

    def finish(self, returned: Any) -> model.Workflow:
        """Return the whole workflow, whose results are the steps that its function returned."""
        self._returns = _RETURNS.get(type(returned), "")
        if type(returned) is dict:
            self.labels = self._labels(returned)
            returned = list(returned.values())
        results = tuple([self._result(step) for step in several(returned)])
        self._part_shared_exits(results)
        self._enter_stand_ins()
        for chain, place in self.circles:
            if not any(builder.can_differ for builder in chain):
                raise WorkflowProblem(
                    "W157",
                    f"the workflow `{self.name}` calls itself whatever happens, so it would never end",
                    span=line_span(*place),
                    hint="let a step decide: choose(step, (when, again), otherwise=done)",
                )
        return self._workflow(results)

    def _labels(self, returned: dict[Any, Any]) -> tuple[str, ...]:
        for key in returned:
            if not isinstance(key, str) or not key:
                message = f"`{self.name}` returns a dictionary with the key {key!r}, which is no text"
                raise problem("W153", message, hint='name each result: {"mean": mean(x)}', about=self.origin)
        if not returned:
            raise problem("W153", f"`{self.name}` returns an empty dictionary", hint="return steps", about=self.origin)
        return tuple(returned)

    def _workflow(self, results: tuple[str, ...]) -> model.Workflow:
        services = tuple(self._services.values())
        if any(one.pickle for one in services):
            # What was kept as a pickle may be in a list that our own services make.
            services = tuple(replace(one, pickle=True) if passes_on(one) else one for one in services)
        return model.Workflow(
            self.name,
            tuple(self._tasks.values()),
            services,
            tuple(self._alternatives),
            self.inputs,
            results,
            self.locks,
            self.patterns,
            tuple(self.resources.values()),
            self.labels,
            self._returns,
            self.deadline,
        )

    def _result(self, step: Any) -> str:
        if isinstance(step, Step):
            self._own(step, about=self.origin)
        if isinstance(step, Start):
            step = self.add_task(SAME, (step,))
        if not isinstance(step, Step) or not isinstance(step.argument, model.Result):
            raise problem(
                "W153",
                f"`{self.name}` returns {described(step)}, which is not one of its steps",
                hint="return what a call of a service gave, or several of these",
                about=self.origin,
            )
        if step.argument.item is not None:
            step = self.add_task(SAME, (step,))
        return self.task_of(step, "`return`")

    def _part_shared_exits(self, results: tuple[str, ...]) -> None:
        """Let a twin stand in for a step that is used elsewhere too: what stands in sleeps until it is needed."""
        workflow = self._workflow(results)
        asleep, onward = workflow.dormant, workflow.destinations

        def sleeping(task: str) -> str:
            if task not in results and all(later in asleep for later in onward[task]):
                return task
            return self.task_of(self.add_task(SAME, (Step(self, model.Result(task)),)), "`otherwise`")

        self._alternatives = [
            replace(one, exits={old: sleeping(new) for old, new in one.exits.items()}) for one in self._alternatives
        ]

    def _enter_stand_ins(self) -> None:
        """Let what stands in for a task that a way back leads to take the same as that task."""
        for entered, sources in self._entered.items():
            for name in _stand_in_names(self._alternatives, entered):
                if items := self._tasks[name].items:
                    raise WorkflowProblem(
                        "W155",
                        f"`{name}` takes an item of `{items[0].task}`, and a way back to `{entered}`, which it "
                        "replaces, brings one result",
                        span=line_span(*self.places[name]),
                        hint="put a step before both that gathers what they need, and go back to that",
                    )
                self._tasks[name] = self._tasks[name].taking_arrivals(sources)


class _Names:
    """The names that tasks, services or alternatives have."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._taken: set[str] = set()
        self._numbers: dict[str, int] = {}

    def free(self, wanted: str) -> str:
        """Take a name, with a number behind it if it is taken."""
        name = wanted
        while name in self._taken:
            self._numbers[wanted] = number = self._numbers.get(wanted, 1) + 1
            name = f"{wanted}_{number}"
        self._taken.add(name)
        return name

    def own(self, name: str) -> str:
        """Take a name that the user chose, which nothing else may have."""
        if not isinstance(name, str):
            raise problem("W154", f"a name is a text, not a value of type {type(name).__name__}")
        if name in self._taken:
            raise problem("W152", f"there is a {self._what} `{name}` already", hint="choose another name")
        self._taken.add(name)
        return name


def _triggers(on: Trigger | tuple[Trigger, ...] | None, *, has_condition: bool) -> tuple[Trigger, ...]:
    if on is None:
        return ("condition",) if has_condition else ("failure",)
    triggers = on if isinstance(on, tuple) else (on,)
    for trigger in triggers:
        if trigger not in get_args(Trigger):
            raise problem("W155", f"`on` is {trigger!r}", hint='"failure", "timeout" or "condition"')
    if has_condition != ("condition" in triggers):
        raise problem("W155", '`when` and on="condition" go together', hint="give both, or `when` alone")
    return triggers
