"""Looks at workflows before they run: `solvent.check`, `explore` and `show`, in Python and on the command line."""

from __future__ import annotations

import ast
import inspect
import textwrap
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from solvent.errors import SolventError, WorkflowProblem
from solvent.runs.api import definition_of
from solvent.workflows.checks import check as check_model
from solvent.workflows.formats.python.callables import WorkflowFunction
from solvent.workflows.formats.python.files import loaded_of
from solvent.workflows.model import Result
from solvent.workflows.places import Loaded, Places

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from solvent.lang.doubts import Doubt
    from solvent.runs.exploration import Orders
    from solvent.workflows.model import Service, Workflow

_MAX_STATES = 100_000
ENDS = ("done", "cancelled", "failed", "stuck")


class Checked(NamedTuple):
    """What is wrong with a workflow: what `solvent.check` returns.

    >>> from solvent import check, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> check(shout)
    Checked(errors=(), warnings=())
    """

    errors: tuple[SolventError, ...]
    """Why it does not run."""
    warnings: tuple[str, ...]
    """What it does that may not be meant."""

    @property
    def ok(self) -> bool:
        """Whether it runs."""
        return not self.errors


class Explored(NamedTuple):
    """How a workflow can end, over all orders of its tasks: what `solvent.explore` returns.

    >>> from solvent import any_of, explore, service, workflow
    >>> upper, lower = service(str.upper), service(str.lower)
    >>> @workflow
    ... def either(text: str) -> str:
    ...     return lower(any_of(upper.named("A")(text), upper.named("B")(text)))
    >>> found = explore(either, {"text": "hi"}, holds=["A before B"])
    >>> found.ends, found.runs
    ({'done': 1}, [{'A': 1, 'B': 1, 'lower': 2}])
    >>> found.violations
    ['A before B: A starts, B starts']
    """

    states: int
    """How many states were seen."""
    is_complete: bool
    """Whether these are all."""
    ends: dict[str, int]
    """How many final states are `done`, `cancelled`, `failed` or `stuck`."""
    runs: list[dict[str, int]]
    """How often each task has run in the end, each outcome once."""
    violations: list[str]
    """The statements that do not hold, each with an order in which it does not."""


def check(workflow: Workflow | WorkflowFunction[..., Any], *, folder: str | Path | None = None) -> Checked:
    """Look for errors of a workflow and its services, without running it.

    - `folder`: where the files that it names are; the current folder by default.

    Raises `WorkflowProblem` if the function of the workflow uses its steps wrongly, and `Misuse` (H314) for what is no
    workflow.

    >>> from solvent import Workflow, check
    >>> from solvent.workflows.model import Task
    >>> found = check(Workflow("w", (Task("A", "fetch"),)))
    >>> found.ok, found.errors[0].code
    (False, 'W123')
    """
    if isinstance(workflow, WorkflowFunction):
        loaded = loaded_of(workflow)
    else:
        loaded = Loaded(definition_of(workflow), Places(dict))
    errors, doubts = problems_and_doubts(loaded, Path() if folder is None else Path(folder))
    return Checked(tuple(errors), tuple([f"[{one.code}] {one.message}" for one in doubts]))


def explore(
    workflow: Workflow | WorkflowFunction[..., Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    signals: Sequence[tuple[str, Any]] = (),
    holds: Sequence[str] = (),
    max_states: int = _MAX_STATES,
    max_seconds: float | None = None,
    folder: str | Path | None = None,
) -> Explored:
    """Try every order of the tasks of a workflow. Its Python services are called with the values of each order.

    - `signals`: names and values of signals that may come at any moment.
    - `holds`: what must hold in every order: `"A before B"`, `"A once"`, `"ends done"`.
    - `max_states`, `max_seconds`: stop after so many states, or that time.

    Raises `WorkflowProblem` for a workflow that is wrong or cannot be explored, and `Misuse` for a statement that does
    not read.

    >>> from solvent import explore, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> explore(shout, {"text": "hi"}, holds=["ends done"])
    Explored(states=2, is_complete=True, ends={'done': 1}, runs=[{'upper': 1}], violations=[])
    """
    from solvent.runs.causality import check_statements, violations
    from solvent.runs.exploration import explore_workflow

    definition = definition_of(workflow)
    if problems := check_model(definition):
        raise problems[0]
    check_statements([*holds], [task.name for task in definition.tasks])
    until = None if max_seconds is None else time.monotonic() + max_seconds
    found = explore_workflow(
        definition,
        inputs,
        signals=signals,
        max_states=max_states,
        should_stop=lambda: until is not None and time.monotonic() > until,
        folder=None if folder is None else Path(folder),
    )
    return Explored(len(found.states), found.is_complete, ends_of(found), runs_of(found), violations(found, [*holds]))


def show(
    workflow: Workflow | WorkflowFunction[..., Any],
    *,
    form: Literal["text", "svg", "dot"] = "text",
    width: int = 100,
) -> str:
    """Draw a workflow as text of at most `width` columns, as SVG or as DOT; alternatives are dashed.

    Raises `WorkflowProblem` for a workflow that is wrong.

    >>> from solvent import service, show, workflow
    >>> upper, strip = service(str.upper), service(str.strip)
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return upper(strip(text))
    >>> "upper" in show(shout), show(shout, form="svg")[:4]
    (True, '<svg')
    """
    from solvent import pictures
    from solvent.workflows.diagram import graph_of

    definition = definition_of(workflow)
    if problems := check_model(definition):
        raise problems[0]
    graph = graph_of(definition)
    if form == "text":
        return pictures.text(graph, width=width)
    return pictures.dot(graph) if form == "dot" else pictures.svg(pictures.drawn(graph))


# -------------------------------------------------------------------------------------- also of the command line


def problems_and_doubts(loaded: Loaded, folder: Path) -> tuple[list[SolventError], list[Doubt]]:
    """Return what is wrong with a workflow, its services and its libraries, and warnings about it."""
    from solvent.workflows.doubts import workflow_doubts
    from solvent.workflows.libraries import library_problems
    from solvent.workflows.translate import workflow_functions

    found = check_model(loaded.workflow, loaded.places)
    others = [*service_problems(loaded, folder), *library_problems(loaded, folder, workflow_functions())]
    if not found and not others:
        others = _forgotten_returns(loaded, folder)
    # Doubts follow the ways through a workflow, so those must lead somewhere.
    return [*found, *others], [] if found else workflow_doubts(loaded)


def _forgotten_returns(loaded: Loaded, folder: Path) -> list[SolventError]:
    """List the tasks that are called for each item of what a function without a `return` returns."""
    from solvent.services.python import function_of
    from solvent.workflows.items import leaves

    workflow = loaded.workflow
    services = {one.name: one for one in workflow.services if one.kind == "python"}
    found: list[SolventError] = []
    for task in workflow.tasks:
        for at in () if task.each is None else leaves(task.each):
            slot = task.slots[at]
            source = workflow.by_name[slot.task] if isinstance(slot, Result) and slot.item is None else None
            service = None if source is None or source.each is not None else services.get(source.service)
            if source is None or service is None or not _returns_nothing(function_of(service, folder)):
                continue
            message = f"`{task.name}` is called for each item of what `{source.name}` returns, which is nothing"
            span = loaded.places.get(("task", source.name))
            found.append(WorkflowProblem("W213", message, span=span, hint=f"a `return` is missing in `{service.name}`"))
    return found


def _returns_nothing(function: Callable[..., Any]) -> bool:
    """Return whether a function has no `return` with a value, as its source shows; false where that is not there."""
    plain = inspect.unwrap(getattr(function, "function", None) or function)
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(plain))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        return False
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_stub(node):
        return False
    todo: list[ast.AST] = [*node.body]
    for one in todo:
        if isinstance(one, ast.Yield | ast.YieldFrom) or (isinstance(one, ast.Return) and one.value is not None):
            return False
        if not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
            todo += ast.iter_child_nodes(one)
    return True


def _is_stub(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Return whether a function only raises, or is not written yet."""
    last = node.body[-1]
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Expr) and isinstance(last.value, ast.Constant))


def service_problems(loaded: Loaded, folder: Path) -> list[SolventError]:
    """Prepare every service as a run would, and list what is wrong with them."""
    found: list[SolventError] = []
    for service in loaded.workflow.services:
        problem = _problem(service, folder)
        if problem is not None:
            if problem.span is None:
                problem.span = loaded.places.get(("service", service.name))
            found.append(problem)
        elif service.kind == "workflow" and service.function is None and service.target:
            found += _problems_of_inputs(service, loaded, folder)
    return found


def _problems_of_inputs(service: Service, loaded: Loaded, folder: Path) -> list[SolventError]:
    """List what is wrong with the inputs that tasks give to a workflow in another file."""
    from solvent.runs.kinds import workflow_of
    from solvent.workflows.checks import input_problems

    inner, _ = workflow_of(service, folder)
    found: list[SolventError] = []
    for task in loaded.workflow.tasks:
        for problem in input_problems(task, inner) if task.service == service.name else ():
            problem.span = loaded.places.get(("task", task.name))
            found.append(problem)
    return found


def _problem(service: Service, folder: Path) -> SolventError | None:
    from solvent.runs.kinds import MAKERS
    from solvent.services import Caller
    from solvent.workflows.value_checks import limit_faults

    if (not service.target and service.function is None) or limit_faults(service):
        # `checks` has reported it already, or there is nothing to find.
        return None
    try:
        Caller((service,), folder=folder, makers=MAKERS).close()
    except SolventError as problem:
        return problem
    return None


def ends_of(found: Orders) -> dict[str, int]:
    """Return how many final states there are of each kind."""
    ends = Counter(state.end for state in found.finals)
    return {end: ends[end] for end in ENDS if ends[end]}


def runs_of(found: Orders) -> list[dict[str, int]]:
    """Return how often the tasks have run in the end, each outcome once."""
    tasks = [*found.states[0].done]
    counts = sorted({tuple(state.started[task] for task in tasks) for state in found.finals})
    return [dict(zip(tasks, one, strict=True)) for one in counts]


__all__ = [
    "ENDS", "Checked", "Explored", "check", "ends_of", "explore", "problems_and_doubts", "runs_of", "service_problems",
    "show",
]  # fmt: skip
