"""Whether what a workflow calls is there: modules, functions, programs, other workflows, options that make sense."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import SolventError
from solvent.running.kinds import MAKERS
from solvent.services import Caller

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.workflow.model import Service
    from solvent.workflow.places import Loaded


def service_problems(loaded: Loaded, folder: Path) -> list[SolventError]:
    """Prepare every service as a run would, and list what is wrong with them."""
    found = []
    for service in loaded.workflow.services:
        problem = _problem(service, folder)
        if problem is not None:
            if problem.span is None:
                problem.span = loaded.places.get(("service", service.name))
            found.append(problem)
    return found


def _problem(service: Service, folder: Path) -> SolventError | None:
    if not service.target and service.function is None:
        # `checks` has said it already, or there is nothing to find.
        return None
    try:
        Caller((service,), folder=folder, makers=MAKERS).close()
    except SolventError as problem:
        return problem
    return None


__all__ = ["service_problems"]
