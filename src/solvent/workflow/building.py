"""The builder: what a workflow function fills while it is traced.

One builder belongs to one trace of one function. It is carried in a context variable for as long as the function
runs and forgotten afterwards; there is no other state, so workflows may be traced in several threads, and inside each
other when one uses another as a task.
"""

from __future__ import annotations

from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal, get_args

from msgspec.structs import replace

from solvent.errors import WorkflowProblem
from solvent.workflow.collecting import DICT, ITEM, LIST, SAME, TUPLE
from solvent.workflow.control import Control
from solvent.workflow.model import Alternative, Argument, Claim, Each, Resource, Result, Service, Task, Value, Workflow
from solvent.workflow.steps import HINT_PLAIN, Place, Start, Step, caller_place, demands_of, line_span, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Trigger = Literal["failure", "timeout", "condition"]
"""What makes a stand-in take over."""

_GATHERING = (DICT, ITEM, LIST, SAME, TUPLE)
_CURRENT: ContextVar[Builder | None] = ContextVar("solvent_builder", default=None)


def current_builder() -> Builder | None:
    """Give the builder of the workflow that is being traced here, if one is."""
    return _CURRENT.get()


def builder_for(word: str) -> Builder:
    """Give the builder of the workflow that is being traced here, where one must be."""
    builder = current_builder()
    if builder is None:
        raise problem("W156", f"`{word}` is used inside a workflow", hint=HINT_PLAIN)
    return builder


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
    ) -> None:
        self.name = name
        self.resources: dict[str, Resource] = {}
        self.inputs = dict(inputs)
        self.origin = origin
        self.locks = dict(locks or {})
        self.patterns = dict(patterns or {})
        self.outer = current_builder()
        self.inner: dict[object, Service] = {}
        """The workflows that are used as tasks, traced once each."""
        self.places: dict[str, Place] = {}
        """Where in the user's text each task was made."""
        self.circles: list[tuple[list[Builder], Place]] = []
        """The calls of this workflow inside itself: through which builders, and where."""
        self._tasks: dict[str, Task] = {}
        self._task_names = _Names("task")
        self._alternatives: list[Alternative] = []
        self._alternative_names = _Names("alternative")
        self._standing_in: set[str] = set()
        self._triggers: set[tuple[object, ...]] = set()
        self._services: dict[str, Service] = {}
        self._service_names = _Names("service")
        self._service_known: dict[int, tuple[str, Service]] = {}

    @contextmanager
    def tracing(self) -> Iterator[Builder]:
        """Be the builder that calls of services add to."""
        before = _CURRENT.set(self)
        try:
            yield self
        finally:
            _CURRENT.reset(before)

    def is_tracing(self, origin: object) -> bool:
        """Tell whether a workflow function is being traced here or further out."""
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
        service: Service,
        arguments: Sequence[Any] = (),
        keywords: Mapping[str, Any] | None = None,
        *,
        each: Each | None = None,
        name: str | None = None,
        after: Sequence[Any] = (),
        function: Callable[..., Any] | None = None,
    ) -> Step:
        """Add a call of a service and give the step that stands for its result."""
        given = tuple([self.argument(value) for value in arguments])
        named = {key: self.argument(value) for key, value in (keywords or {}).items()}
        if service in _GATHERING and any(isinstance(one, Claim) for one in given):
            raise problem("W162", "a resource is an argument by itself, not a part of one, and stands in for nothing")
        join, asked = demands_of([*arguments, *(keywords or {}).values(), *after])
        earlier = [self.task_of(step, "`after`") for step in after if not isinstance(self._own_start(step), Start)]
        if join is not None:
            _refuse_others(service.name, join, [*given, *named.values(), *map(Result, earlier)])
            earlier += join.sources or ()
        called = self._service_name(service)
        name = self._task_names.free(service.name) if name is None else self._task_names.own(name)
        control = Control(**asked) if asked else None
        self._tasks[name] = Task(name, called, given, named, each, tuple(dict.fromkeys(earlier)), control)
        self.places[name] = caller_place()
        return Step(self, Result(name), None if each else function)

    def task(self, name: str) -> Task:
        """Give a task as it is so far."""
        return self._tasks[name]

    def change(self, name: str, **changes: Any) -> None:
        """Put another task of the same name in the place of one."""
        self._tasks[name] = replace(self._tasks[name], **changes)

    def argument(self, value: Any) -> Argument:
        """Say where an argument comes from; lists that hold steps become tasks of their own."""
        if isinstance(value, Step):
            return self._own(value).argument
        if type(value) in {list, tuple, dict} and _has_step(value):
            return self._collect(value).argument
        return Value(value)

    def item_of(self, step: Step, key: Any) -> Step:
        """Take an item: a filter where the model has one (a whole result, an item counted from 0), else a task."""
        source = self._own(step).argument
        if isinstance(source, Result) and source.item is None and type(key) is int and key >= 0:
            return Step(self, Result(source.task, key + 1))
        return self.add_task(ITEM, (step, key))

    def task_of(self, step: Any, where: str) -> str:
        """Give the name of the task that a step stands for."""
        if not isinstance(step, Step) or not isinstance(self._own(step).argument, Result):
            raise problem(
                "W155", f"{where} takes steps of the workflow, not {_described(step)}", hint="give what a call returned"
            )
        assert isinstance(step.argument, Result)
        return step.argument.task

    def _own(self, step: Step) -> Step:
        if step.builder is not self:
            raise problem(
                "W151",
                f"{step!r} belongs to the workflow `{step.builder.name}` and is used in `{self.name}`",
                hint="make it an input of this workflow and hand it over in the call",
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
        if isinstance(value, Step) and isinstance(value.argument, Result) and value.argument.item is None:
            return self.task_of(value, "`otherwise`")
        return self.task_of(self.add_task(SAME, (value,)), "`otherwise`")

    def _service_name(self, service: Service) -> str:
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
        alternative = Alternative(
            names.own(name) if name else names.free(f"instead_of_{next(iter(exits))}"),
            exits,
            also=tuple([self.task_of(step, "`also`") for step in _several(also)]),
            on=triggers,
            when=when if isinstance(when, str) else None,
            predicate=None if isinstance(when, str) else when,
            watch=tuple([self.task_of(step, "`watch`") for step in _several(watch)]),
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
            if isinstance(old, Step) and old.argument != Result(replaced):
                raise problem("W155", f"{old!r} cannot be replaced", hint="attempt the whole step, then take its item")
            exits[replaced] = self._as_whole_task(new)
            if exits[replaced] == replaced:
                raise problem("W155", f"`{replaced}` cannot stand in for itself", hint="call the service again")
        return exits

    def _refuse_rivals(self, new: Alternative) -> None:
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

    def finish(self, returned: Any) -> Workflow:
        """Give the whole workflow, whose results are the steps that its function returned."""
        results = tuple([self._result(step) for step in _several(returned)])
        self._part_shared_exits(results)
        for chain, place in self.circles:
            if not any(builder.can_differ for builder in chain):
                raise WorkflowProblem(
                    "W157",
                    f"the workflow `{self.name}` calls itself whatever happens, so it would never end",
                    span=line_span(*place),
                    hint="let a step decide: choose(step, (when, again), otherwise=done)",
                )
        return self._workflow(results)

    def _workflow(self, results: tuple[str, ...]) -> Workflow:
        return Workflow(
            self.name,
            tuple(self._tasks.values()),
            tuple(self._services.values()),
            tuple(self._alternatives),
            self.inputs,
            results,
            self.locks,
            self.patterns,
            tuple(self.resources.values()),
        )

    def _result(self, step: Any) -> str:
        if isinstance(step, Start):
            step = self.add_task(SAME, (step,))
        if not isinstance(step, Step) or not isinstance(step.argument, Result):
            raise problem(
                "W153",
                f"`{self.name}` returns {_described(step)}, which is no step of it",
                hint="return what a call of a service gave, or several of these",
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
            return self.task_of(self.add_task(SAME, (Step(self, Result(task)),)), "`otherwise`")

        self._alternatives = [
            replace(one, exits={old: sleeping(new) for old, new in one.exits.items()}) for one in self._alternatives
        ]


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


def _refuse_others(service: str, join: Start, slots: Sequence[Argument]) -> None:
    """Refuse steps beside those that are joined: their arrival would start the call too."""
    for slot in slots:
        if isinstance(slot, Result) and slot.task not in (join.sources or ()):
            raise problem(
                "W154",
                f"`{service}` is started by {join!r} and waits for `{slot.task}` too",
                hint=f"let a step of its own take {join!r}, and hand on its result",
            )


def _several(steps: Any) -> Sequence[Any]:
    """Take nothing, one or several."""
    if steps is None:
        return ()
    return steps if type(steps) in {list, tuple} else (steps,)


def _has_step(value: Any) -> bool:
    """Look for a step in lists, tuples and dictionaries, however deep."""
    todo, seen = [value], set[int]()
    while todo:
        one = todo.pop()
        if isinstance(one, Step):
            return True
        if type(one) in {list, tuple, dict} and id(one) not in seen:
            seen.add(id(one))
            todo.extend(one.values() if isinstance(one, dict) else one)
    return False


def _described(value: Any) -> str:
    return repr(value) if isinstance(value, Step) else f"a value of type {type(value).__name__}"


__all__ = ["Builder", "Trigger", "builder_for", "current_builder"]
