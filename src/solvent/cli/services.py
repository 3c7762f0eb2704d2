"""Whether what a workflow calls is there: modules, functions, programs, other workflows, options that make sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import SolventError
from solvent.runs.kinds import MAKERS, workflow_of
from solvent.services import Caller
from solvent.workflows.checks import input_problems
from solvent.workflows.value_checks import limit_faults

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.workflows.model import Service
    from solvent.workflows.places import Loaded


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
    inner, _ = workflow_of(service, folder)
    found: list[SolventError] = []
    for task in loaded.workflow.tasks:
        for problem in input_problems(task, inner) if task.service == service.name else ():
            problem.span = loaded.places.get(("task", task.name))
            found.append(problem)
    return found


def _problem(service: Service, folder: Path) -> SolventError | None:
    if (not service.target and service.function is None) or limit_faults(service):
        # `checks` has said it already, or there is nothing to find.
        return None
    try:
        Caller((service,), folder=folder, makers=MAKERS).close()
    except SolventError as problem:
        return problem
    return None


__all__ = ["service_problems"]
