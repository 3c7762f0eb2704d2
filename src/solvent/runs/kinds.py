"""Services that are programs and workflows themselves: the makers that the services' layer cannot have.

hocl      each call runs the program anew, with its arguments among its molecules: of a list each item, anything else
          as it is, a keyword `n=3` as `N : 3`. The result is what is left besides rules: one molecule is its value,
          several are a list. With `options: {result: SUM}` it is the value of the molecule `SUM : value`.
workflow  each call runs the workflow; its arguments are its inputs, by position or by name. The result is that of the
          workflow, or the list of them where there are several.

A program runs in a worker thread. A workflow needs none: it is part of the run that calls it (`nested`). Both stop when
their call is cancelled or takes too long.
"""

from __future__ import annotations

from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any

from solvent.errors import SolventError, WorkflowFailed, WorkflowProblem
from solvent.hocl.embedded import Run
from solvent.hocl.program import load
from solvent.lang.functions import Functions, molecule_from_python, python_from_molecule
from solvent.lang.molecule import Symbol, order_key
from solvent.lang.rule import Rule
from solvent.services import Caller, cancelled
from solvent.services.failure import Told
from solvent.workflows.model import Workflow
from solvent.workflows.value_checks import refuse_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.lang.molecule import Molecule
    from solvent.lang.solution import Solution
    from solvent.runs.calls import OpenCall
    from solvent.services.call import Attempt
    from solvent.services.caller import Maker
    from solvent.workflows.model import Service

# The workflows that are being prepared, by their files or functions: one of them inside itself would never end.
_OPEN: ContextVar[tuple[object, ...]] = ContextVar("solvent_open_workflows", default=())


def make_hocl(service: Service, caller: Caller) -> Callable[[Attempt], None]:
    """Make the launch of a HOCL program."""
    program = load(_path(service, caller.folder), functions=Functions())
    wanted = service.options.get("result")
    refuse_options("W184", service, {"result"})
    if not (wanted is None or isinstance(wanted, str)):
        problem = f"its result cannot be `{wanted}`"
        raise WorkflowProblem("W184", f"service `{service.name}`: {problem}", hint="`options: {result: SUM}`")

    def call(*arguments: Any, **keywords: Any) -> Any:
        solution = program.solution()
        for argument in arguments:
            solution.extend(map(molecule_from_python, argument if isinstance(argument, list) else [argument]))
        solution.extend((Symbol(name.upper()), molecule_from_python(value)) for name, value in keywords.items())
        Run(solution, should_stop=cancelled).to_inertia()
        return _left(solution, wanted)

    return caller.in_threads(_said_briefly(call))


def _left(solution: Solution, wanted: str | None) -> Any:
    """Give what a program came to."""
    if wanted is None:
        found = [one for one in sorted(solution, key=order_key) if type(one) is not Rule]
        return python_from_molecule(found[0]) if len(found) == 1 else list(map(python_from_molecule, found))
    for one in solution:
        if type(one) is tuple and one[0] is Symbol(wanted):
            value: Molecule = one[1] if len(one) == 2 else one[1:]
            return python_from_molecule(value)
    raise WorkflowFailed("W202", f"the program came to its end without a molecule `{wanted} : ...`")


def make_workflow(service: Service, caller: Caller) -> Callable[[Attempt], None]:
    """Make the launch of a workflow: its execution opens it in its next turn (see `nested`)."""
    inner, folder = workflow_of(service, caller.folder)
    _prepare(service, inner, folder, caller.folder)
    return _launch


def _launch(attempt: Attempt) -> None:
    call: OpenCall = attempt.arguments[0]
    attempt.on_stop(lambda: call.stopped(attempt))
    attempt.begin()
    call.began(attempt)


def _prepare(service: Service, inner: Workflow, folder: Path | None, around: Path | None) -> None:
    """Look at the services of an inner workflow now, so that what is wrong with them is said before anything runs."""
    itself = _path(service, around).resolve() if service.function is None else service.function
    before = _OPEN.get()
    if any(one is itself or (isinstance(one, Path) and one == itself) for one in before):
        if inner.is_controlled or inner.alternatives:
            # It may decide not to call itself, so it is looked at when it does.
            return
        raise WorkflowProblem("W183", f"service `{service.name}`: the workflow of `{service.target}` calls itself")
    mark = _OPEN.set((*before, itself))
    try:
        Caller(inner.services, folder=folder, makers=MAKERS).close()
    finally:
        _OPEN.reset(mark)


def workflow_of(service: Service, around: Path | None) -> tuple[Workflow, Path | None]:
    """Give the workflow that a service calls, and the folder of its files; one in a file is checked."""
    found: Any = service.function
    if found is not None:
        if not isinstance(found, Workflow):
            found = found.definition()
        return found, around
    from solvent.workflows.checks import check

    path = _path(service, around)
    if path.suffix == ".py" or ".py:" in path.name:
        from solvent.workflows.formats.python.files import read_python

        loaded = read_python(path)
    else:
        from solvent.workflows.formats.files import load as load_workflow

        loaded = load_workflow(path)
    problems = check(loaded.workflow, loaded.places)
    if problems:
        raise problems[0]
    return loaded.workflow, path.parent


def _path(service: Service, folder: Path | None) -> Path:
    return (folder or Path()) / service.target


def _said_briefly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let an error of ours become the cause of a failure as its message alone, without its place and excerpt."""

    def call(*arguments: Any, **keywords: Any) -> Any:
        try:
            return function(*arguments, **keywords)
        except SolventError as error:
            raise Told(f"[{error.code}] {error.message}") from error

    return call


MAKERS: dict[str, Maker] = {"hocl": make_hocl, "workflow": make_workflow}
LAUNCHERS: dict[str, Maker] = {"hocl": make_hocl, "workflow": lambda *_: _launch}
"""The makers for a workflow that is called by another: it was looked at before anything ran."""

__all__ = ["LAUNCHERS", "MAKERS", "make_hocl", "make_workflow", "workflow_of"]
