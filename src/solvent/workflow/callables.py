"""What can be called in a workflow written in Python: services, and workflows themselves.

Both are objects that look like the functions they were made of. A call asks whether a workflow is being built here:
if so it adds a task to it and gives a step; if not, it runs the function. `named`, `after` and `otherwise` give copies
that differ in how the task is added, so a call itself takes the function's own arguments and nothing else.
"""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec, Self, TypeVar, cast

from msgspec.structs import replace

from solvent.workflow import model
from solvent.workflow.building import Builder, current_builder
from solvent.workflow.lists import EachMethods, positions
from solvent.workflow.steps import Step, problem

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.workflow.building import Trigger
    from solvent.workflow.steps import Place

P = ParamSpec("P")
R_co = TypeVar("R_co", covariant=True)


class ServiceFunction(EachMethods, Generic[P, R_co]):
    """Something that can be called as a step of a workflow."""

    def __init__(self, described: model.Service, function: Callable[P, Any] | None = None) -> None:
        self.function = function
        """The function itself, which never builds a step."""
        self._name: str | None = None
        self._after: tuple[object, ...] = ()
        self._stand_ins: tuple[tuple[Callable[..., Any], dict[str, Any]], ...] = ()
        if function is not None:
            # With the parts of a function it is taken for one: `inspect.iscoroutinefunction` looks at them.
            parts = (*functools.WRAPPER_ASSIGNMENTS, "__code__", "__defaults__", "__kwdefaults__")
            functools.update_wrapper(self, function, assigned=parts)
        self.described = described
        """The service in the model."""

    def __repr__(self) -> str:
        return f"<{self.described.kind} service {self.described.name}>"

    def __reduce__(self) -> str:
        # By name, as functions are pickled; a worker process imports the module and finds the same service.
        return str(getattr(self, "__qualname__", self.described.name))

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
        """Wait for steps although nothing is taken from them: `report.after(saved)(words)`."""
        return self._with(_after=(*self._after, *steps))

    def otherwise(
        self,
        stand_in: Callable[P, R_co],
        *,
        on: Trigger | tuple[Trigger, ...] | None = None,
        when: str | Callable[[R_co], object] | None = None,
    ) -> ServiceFunction[P, R_co]:
        """Name what is called with the same arguments instead; a further one stands in for the one before it.

        `fetch.otherwise(mirror).otherwise(archive)(url)` asks the mirror if `fetch` fails, and the archive if the
        mirror fails too. A stand-in may be any function that builds steps. See `attempt` for `on` and `when`.
        """
        return self._with(_stand_ins=(*self._stand_ins, (stand_in, {"on": on, "when": when})))

    def _with(self, **changes: object) -> Self:
        """Give a copy with changes; `copy` would go by the name and give the same."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, **changes)
        return other

    def build(
        self, builder: Builder, args: tuple[Any, ...], kwargs: dict[str, Any], each: model.Each | None = None
    ) -> Step:
        """Add the task, and the tasks that stand in for it."""
        step = first = builder.add_task(
            self._service_for(builder),
            *self._bound(args, kwargs),
            each=each,
            name=self._name,
            after=self._after,
            function=self.function,
        )
        for stand_in, rule in self._stand_ins:
            if isinstance(stand_in, ServiceFunction):
                taken: Any = stand_in.build(builder, args, kwargs, each)
            elif each is None:
                taken = stand_in(*args, **kwargs)
            else:
                raise problem("W155", "only a service can stand in for calls over lists", hint="put @service above it")
            builder.add_alternative(step, taken, **rule)
            step = taken
        return first

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

    def _build_each(self, how: Literal["dot", "cross"], lists: tuple[Any, ...], same: dict[str, Any]) -> Any:
        builder = current_builder()
        name = "each" if how == "dot" else "cross"
        if builder is None:
            raise problem("W156", f"`.{name}` builds a step and is used inside a workflow", hint=HINT_PLAIN)
        args, over = positions(how, lists)
        return self.build(builder, args, same, over)

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        for value in (*args, *kwargs.values()):
            if isinstance(value, Step):
                raise problem("W151", f"{value!r} is used outside its workflow `{value.builder.name}`", hint=_HINT_STEP)
        if self.function is None or self._stand_ins:
            what = "has stand-ins" if self._stand_ins else f"is a {self.described.kind} service"
            raise problem("W156", f"`{self.described.name}` {what} and runs only in a workflow", hint=HINT_PLAIN)
        return self.function(*args, **kwargs)


HINT_PLAIN = "put the call into a function under @workflow and run that with `solvent.run_workflow`"
_HINT_STEP = "a step stands for a value that is known when the workflow runs; take it from the run's results"


class WorkflowFunction(ServiceFunction[P, R_co]):
    """A function that builds a workflow; inside another workflow its call is a task."""

    function: Callable[P, Any]

    def definition(self) -> model.Workflow:
        """Trace the function and give the model of its workflow."""
        return self.trace()[0]

    def trace(self) -> tuple[model.Workflow, dict[str, Place]]:
        """Trace the function and give the model, and where each task was called."""
        name, function = self.described.name, self.function
        signature = inspect.signature(function)
        inputs = {}
        for parameter in signature.parameters.values():
            if parameter.kind in {parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD}:
                raise problem("W154", f"`{name}` takes `{parameter}`", hint="give each input of a workflow a name")
            inputs[parameter.name] = model.REQUIRED if parameter.default is parameter.empty else parameter.default
        builder = Builder(name, inputs, origin=function)
        steps = signature.bind_partial()
        steps.arguments.update({key: Step(builder, model.Input(key)) for key in inputs})
        with builder.tracing():
            # A function of any type may be traced: what it takes are steps, whatever it is annotated with.
            trace = cast("Callable[..., Any]", function)
            return builder.finish(trace(*steps.args, **steps.kwargs)), builder.places

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Name the inputs: which of them a workflow gets must not depend on their order."""
        super()._bound(args, kwargs)
        assert self._signature is not None
        return (), dict(self._signature.bind(*args, **kwargs).arguments)

    def _service_for(self, builder: Builder) -> model.Service:
        if builder.is_tracing(self.function):
            raise problem(
                "W157", f"the workflow `{self.described.name}` calls itself", hint="a workflow has finitely many tasks"
            )
        if self.function not in builder.inner:
            builder.inner[self.function] = replace(self.described, function=self.definition())
        return builder.inner[self.function]

    def _run(self, *_: Any, **__: Any) -> Any:
        raise problem(
            "W156",
            f"`{self.described.name}` is a workflow and does not run by being called",
            hint=f"`solvent.run_workflow({self.described.name}, {{...}})` runs it, and so does `solvent run FILE`",
        )


__all__ = ["HINT_PLAIN", "ServiceFunction", "WorkflowFunction"]
