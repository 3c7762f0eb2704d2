"""What can be called in a workflow written in Python: services, and workflows themselves.

Both are objects that look like the functions they were made of. A call asks whether a workflow is being built here:
if so it adds a task to it and gives a step; if not, it runs the function. `named`, `after`, `many` and `otherwise` give
copies that differ in how the task is added, so a call itself takes the function's own arguments and nothing else.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
from importlib import import_module
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, Self, TypeVar, cast, overload

from msgspec.structs import replace

from solvent.workflows import model
from solvent.workflows.formats.python.builder import HINT_PLAIN, Builder, Step, builder_for, current_builder, problem
from solvent.workflows.formats.python.control_flow import NO_DEFAULT, EachMethods, Instances, positions
from solvent.workflows.inputs import note_types

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from solvent.workflows.formats.python.builder import Place, Trigger
    from solvent.workflows.formats.python.control_flow import When

P = ParamSpec("P")
Q = ParamSpec("Q")
R_co = TypeVar("R_co", covariant=True)
R = TypeVar("R")
A = TypeVar("A")

LOCAL_MODULES = {"__main__", "__mp_main__"}
"""Names of modules by which other processes find none, or another one."""


class ServiceFunction(EachMethods, Generic[P, R_co]):
    """A service: what `@service`, `shell`, `http` and `program` make.

    Inside a workflow a call adds a step; anywhere else it runs the function. The methods return a copy whose calls
    differ, and can be combined: `fetch.named("T1").after(saved)(url)`.

    >>> from solvent import run, service, workflow
    >>> upper = service(str.upper)
    >>> @workflow
    ... def shout(words: list[str]) -> list[str]:
    ...     return upper.named("louder").each(words)
    >>> run(shout, {"words": ["a", "b"]}).results
    {'louder': ['A', 'B']}
    """

    def __init__(self, described: model.Service, function: Callable[P, Any] | None = None) -> None:
        self.function = function
        """The function itself, which never builds a step."""
        self._name: str | None = None
        self._after: tuple[object, ...] = ()
        self._instances: Instances | None = None
        self._stand_ins: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = ()
        if function is not None:
            # With the parts of a function it is taken for one: `inspect.iscoroutinefunction` looks at them.
            parts = (*functools.WRAPPER_ASSIGNMENTS, "__code__", "__defaults__", "__kwdefaults__")
            functools.update_wrapper(self, function, assigned=parts)
        self.described = described
        """The service in the model."""
        self.cache_key: Callable[..., object] | None = None
        """What makes the key of a call's result in the cache, if not its arguments."""

    def __repr__(self) -> str:
        return f"<{self.described.kind} service {self.described.name}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        # By name, as functions are pickled; a worker process imports the module and finds the same service.
        name = str(getattr(self, "__qualname__", self.described.name))
        if "<" not in name and getattr(self, "__module__", None) not in LOCAL_MODULES:
            return name
        # Lambdas, local functions and those of the main script have no such name: whether they can be sent depends on
        # what pickles them. They are part of the state, since they may close over this service.
        return copyreg.__newobj__, (type(self),), vars(self)  # type: ignore[attr-defined]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Add a task to the workflow that is being built; outside of one, run the function."""
        builder = current_builder()
        if builder is None:
            return cast("R_co", self._run(*args, **kwargs))
        return cast("R_co", self.build(builder, args, kwargs))

    def named(self, name: str) -> ServiceFunction[P, R_co]:
        """Choose the name of the task: `fetch.named("T1")(url)`."""
        return self._with(_name=name)

    def after(self, *steps: object) -> ServiceFunction[P, R_co]:
        """Wait for steps from which nothing is taken: `report.after(saved)(words)`."""
        return self._with(_after=(*self._after, *steps))

    @overload
    def many(
        self: ServiceFunction[Q, R], count: int, *, apart: Literal[True], more: When[R] | None = None
    ) -> ServiceFunction[Q, R]: ...
    @overload
    def many(
        self: ServiceFunction[Q, R],
        count: int,
        *,
        need: int | None = None,
        cancel: bool = False,
        more: When[R] | None = None,
        enough: When[list[R]] | None = None,
    ) -> ServiceFunction[Q, list[R]]: ...
    # The first argument is checked when it is the list; mypy compares these with those for any position.
    @overload
    def many(  # type: ignore[overload-overlap]
        self: Callable[Concatenate[A, Q], R],
        *,
        over: Literal[0],
        apart: Literal[True],
        more: When[R] | None = None,
    ) -> ServiceFunction[Concatenate[Iterable[A], Q], R]: ...
    @overload
    def many(  # type: ignore[overload-overlap]
        self: Callable[Concatenate[A, Q], R],
        *,
        over: Literal[0],
        need: int | None = None,
        cancel: bool = False,
        more: When[R] | None = None,
        enough: When[list[R]] | None = None,
    ) -> ServiceFunction[Concatenate[Iterable[A], Q], list[R]]: ...
    @overload
    def many(
        self: ServiceFunction[Q, R], *, over: int, apart: Literal[True], more: When[R] | None = None
    ) -> ServiceFunction[..., R]: ...
    @overload
    def many(
        self: ServiceFunction[Q, R],
        *,
        over: int,
        need: int | None = None,
        cancel: bool = False,
        more: When[R] | None = None,
        enough: When[list[R]] | None = None,
    ) -> ServiceFunction[..., list[R]]: ...
    def many(self, count: Any = None, **how: Any) -> Any:
        """Call it several times at once: `search.many(3)(text)`, or `measure.many(over=0)(words)` for each word.

        - `count`: how often; may be a step that returns the number.
        - `over`: instead, the position of the argument that is a list.
        - `need`: how many results to wait for; all of them by default.
        - `cancel`: end the calls that are still running when there are enough results.
        - `apart`: wait for nothing; each call passes its result on by itself.
        - `more`: a condition on a result that asks for one more call.
        - `enough`: a condition on the list of results so far.

        Raises `WorkflowProblem` (W154) for options that exclude each other.
        """
        if self._stand_ins:
            raise problem("W154", "`many` comes before `otherwise`", hint="fetch.many(3).otherwise(other)(url)")
        return self._with(_instances=Instances(count, **how))

    def otherwise(
        self,
        stand_in: Callable[P, R_co],
        *,
        on: Trigger | tuple[Trigger, ...] | None = None,
        when: str | Callable[[R_co], object] | None = None,
    ) -> ServiceFunction[P, R_co]:
        """Add a service that is called with the same arguments if this one fails.

        `fetch.otherwise(mirror).otherwise(archive)(url)` calls the mirror if `fetch` fails, and the archive if the
        mirror fails too. `stand_in` may be any function that builds steps. See `attempt` for `on` and `when`.
        """
        return self._with(_stand_ins=(*self._stand_ins, (stand_in, {"on": on, "when": when})))

    def _with(self, **changes: object) -> Self:
        """Return a copy with changes; `copy` would go by the name and give the same."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other

    def build(self, builder: Builder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Step:
        """Add the task, and the tasks that stand in for it."""
        step = first = builder.add_task(
            self._service_for(builder),
            *self._bound(args, kwargs),
            name=self._name,
            after=self._after,
            function=self.function if self._instances is None else None,
        )
        if self._instances is not None:
            self._instances.put(builder, builder.task_of(step, "`many`"))
        for stand_in, rule in self._stand_ins:
            if isinstance(stand_in, ServiceFunction):
                taken: Any = stand_in.build(builder, args, kwargs)
            else:
                taken = stand_in(*args, **kwargs)
            builder.add_alternative(step, taken, **rule)
            step = taken
        return first

    def _build_over(  # noqa: PLR0917 - what makes such a call
        self,
        builder: Builder,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        over: model.Each,
        on_error: Literal["fail", "skip", "default"],
        default: Any,
    ) -> Step:
        """Add a task that is called for each item; stand-ins are called for the items that fail."""
        fallbacks = self._fallbacks(builder, args, kwargs)
        per_item = model.PerItem(fallbacks, on_error, default) if fallbacks or on_error != "fail" else None
        return builder.add_task(
            self._service_for(builder),
            *self._bound(args, kwargs),
            each=over,
            name=self._name,
            after=self._after,
            per_item=per_item,
        )

    def _fallbacks(self, builder: Builder, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[model.Fallback, ...]:
        found: list[model.Fallback] = []
        for stand_in, rule in self._stand_ins:
            if not isinstance(stand_in, ServiceFunction):
                raise problem("W155", "only a service can stand in for calls over lists", hint="put @service above it")
            found += stand_in.as_fallbacks(builder, args, kwargs, rule)
        return tuple(found)

    def as_fallbacks(
        self, builder: Builder, args: tuple[Any, ...], kwargs: dict[str, Any], rule: dict[str, Any]
    ) -> tuple[model.Fallback, ...]:
        """Return what calls it for an item that fails elsewhere, and then its own stand-ins."""
        if self._name or self._after or self._instances is not None:
            said = f"`{self.described.name}` stands in for single items, so it has no step of its own"
            raise problem("W155", said, hint="leave `named`, `after` and `many` out of `otherwise`")
        self._bound(args, kwargs)
        return builder.fallback(self._service_for(builder), **rule), *self._fallbacks(builder, args, kwargs)

    @functools.cached_property
    def _signature(self) -> inspect.Signature | None:
        try:
            return inspect.signature(self.function) if self.function is not None else None
        except (TypeError, ValueError):
            # Some functions written in C do not say what they take.
            return None

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Check that the function takes the arguments."""
        if self._signature is not None:
            try:
                self._signature.bind(*args, **kwargs)
            except TypeError as reason:
                raise self._misfit(str(reason)) from None
        return args, kwargs

    def _misfit(self, reason: str) -> Exception:
        takes = f"{self.described.name}{self._signature}"
        return problem("W154", f"`{self.described.name}` cannot be called like this: {reason}", hint=f"it is {takes}")

    def _service_for(self, builder: Builder) -> model.Service:  # noqa: ARG002 - a workflow asks it
        return self.described

    def _build_each(
        self, how: Literal["dot", "cross"], lists: tuple[Any, ...], same: dict[str, Any], on_error: Any, default: Any
    ) -> Any:
        name = "each" if how == "dot" else "cross"
        builder = builder_for(f".{name}")
        if self._instances is not None:
            raise problem("W154", f"`many` and `{name}` cannot go together", hint="measure.many(over=0)(words)")
        if on_error not in {"fail", "skip", "default"}:
            hint = '`on_error="skip"` leaves the item out, `on_error="default"` puts `default` in its place'
            raise problem("W154", f"{on_error!r} is nothing to do for an item that fails", hint=hint)
        if isinstance(default, Step):
            hint = "a constant; or let a service stand in: fetch.otherwise(other).each(xs)"
            raise problem("W154", f"{default!r} cannot be the default of an item", hint=hint)
        if (default is not NO_DEFAULT) != (on_error == "default"):
            raise problem("W154", '`default` goes with `on_error="default"`', hint="give both, or none of them")
        args, over = positions(how, lists)
        return self._build_over(builder, args, same, over, on_error, None if default is NO_DEFAULT else default)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        self._refuse_outside(args, kwargs)
        assert self.function is not None
        return self.function(*args, **kwargs)

    def _refuse_outside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Refuse a call outside a workflow that only means something inside one."""
        for value in (*args, *kwargs.values()):
            if isinstance(value, Step):
                raise problem("W151", f"{value!r} is used outside its workflow `{value.builder.name}`", hint=_HINT_STEP)
        if self.function is None or self._stand_ins or self._instances is not None:
            what = f"is a {self.described.kind} service" if self.function is None else "has stand-ins or instances"
            raise problem("W156", f"`{self.described.name}` {what} and runs only in a workflow", hint=HINT_PLAIN)


_HINT_STEP = "a step stands for a value that is known when the workflow runs; take it from the run's results"


class WorkflowFunction(ServiceFunction[P, R_co]):
    """A workflow: what `@workflow` makes.

    Inside another workflow a call of it is a step. Anywhere else a call runs it and returns its value; `solvent.run`
    returns the report.

    >>> from solvent import service, workflow
    >>> upper = service(str.upper)
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return upper(text)
    >>> shout("hi"), shout.definition().name
    ('HI', 'shout')
    """

    function: Callable[P, Any]

    def __init__(
        self,
        described: model.Service,
        function: Callable[P, Any],
        locks: Mapping[str, int] | None = None,
        patterns: Mapping[str, str] | None = None,
        deadline: float | None = None,
    ) -> None:
        super().__init__(described, function)
        self._facts: dict[str, Any] = {"locks": locks, "patterns": patterns, "deadline": deadline}
        self._original = self

    def definition(self) -> model.Workflow:
        """Call the function once and return the model of its workflow.

        Raises `WorkflowProblem` (W1xx) for a step that is used wrongly, and whatever the function itself raises.
        """
        return self.trace()[0]

    def _repr_svg_(self) -> str:
        """Show the workflow in a notebook."""
        return self.definition()._repr_svg_()

    def trace(self) -> tuple[model.Workflow, dict[str, Place]]:
        """Trace the function and give the model, and where each task was called."""
        name, function = self.described.name, self.function
        _refuse_late(name, function)
        signature = inspect.signature(function)
        inputs = {}
        for parameter in signature.parameters.values():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                hint = "give each input of a workflow a name"
                raise problem("W154", f"`{name}` takes `{parameter}`", hint=hint, about=function)
            inputs[parameter.name] = model.REQUIRED if parameter.default is parameter.empty else parameter.default
        builder = Builder(name, inputs, origin=function, **self._facts)
        steps = signature.bind_partial()
        steps.arguments.update({key: Step(builder, model.Input(key)) for key in inputs})
        with builder.tracing():
            # A function of any type may be traced: what it takes are steps, whatever it is annotated with.
            trace = cast("Callable[..., Any]", function)
            found = builder.finish(trace(*steps.args, **steps.kwargs))
        note_types(found, function)
        return found, builder.places

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Name the inputs: which of them a workflow gets must not depend on their order."""
        super()._bound(args, kwargs)
        assert self._signature is not None
        return (), dict(self._signature.bind(*args, **kwargs).arguments)

    def _service_for(self, builder: Builder) -> model.Service:
        """Return the workflow's model; inside itself the workflow, which is traced again when it is called."""
        is_inside = builder.is_tracing(self.function)
        if is_inside:
            builder.call_back(self.function)
        if self.function not in builder.inner:
            inner = self._original if is_inside else self.definition()
            builder.inner[self.function] = replace(self.described, function=inner)
        return builder.inner[self.function]

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Run it, and return what it returns."""
        self._refuse_outside(args, kwargs)
        _, inputs = self._bound(args, kwargs)
        # The package `solvent` offers names from all others; those that run workflows are above this one.
        return import_module("solvent").run(self, inputs).value


def _refuse_late(name: str, function: Callable[..., Any]) -> None:
    """Refuse a function whose body does not run when it is called."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        message, hint = f"`{name}` is an `async def`", "write `def`: its services may be `async def`"
    elif inspect.isgeneratorfunction(function):
        message, hint = f"`{name}` has a `yield`", "return the step; several as a tuple or a list"
    else:
        return
    raise problem("W153", f"{message}, so calling it returns no step", hint=hint, about=function)
