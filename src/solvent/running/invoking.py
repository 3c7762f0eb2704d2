"""What stands between a rule that calls a service and the host that makes the call.

A rule's `invoke(t, s, p)` is a coroutine that gives the host a `Call` and waits for the answer, a molecule.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.services.python import function_of
from solvent.workflow.model import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from solvent.chemistry.molecule import List, Molecule


class Call:
    """What the coroutine of a reaction waits for: the answer of a service."""

    __slots__ = ("arguments", "index", "service", "task")

    def __init__(self, task: Molecule, service: str, index: int | None, arguments: List) -> None:
        self.task = task
        self.service = service
        self.index = index
        self.arguments = arguments

    def __await__(self) -> Generator[Call, Molecule, Molecule]:
        answer = yield self
        return answer


async def invoke(task: Molecule, service: Molecule, arguments: Molecule) -> Molecule:
    """`invoke(t, s, p)`: call a service for a task; the answer is `RES : value` or `ERR : kind : text`."""
    return await Call(task, service, None, arguments)


async def invoke_each(task: Molecule, service: Molecule, index: Molecule, arguments: Molecule) -> Molecule:
    """`invoke_each(t, s, k, p)`: make one of several calls; it gives `GOT : k : value` or `FAULT : kind : text`."""
    return await Call(task, service, index, arguments)


class NotMade:
    """The handle of a call that is not made."""

    def cancel(self) -> None:
        """Do nothing."""


def predicate_of(alternative: str, predicate: Any, folder: Path | None) -> Callable[[Any], object]:
    """Give the predicate of an alternative, which a file names as `module:function`."""
    if callable(predicate):
        found: Callable[[Any], object] = predicate
        return found
    return function_of(Service(alternative, target=str(predicate)), folder)


__all__ = ["Call", "NotMade", "invoke", "invoke_each", "predicate_of"]
