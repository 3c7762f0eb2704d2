"""What stands between a rule that calls a service and the host that makes the call.

A rule's `invoke(t, s, p)` is a coroutine that gives the host a `Call` and waits for the answer, a molecule.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from solvent.lang.molecule import List
from solvent.services.python import function_of
from solvent.workflows.model import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from solvent.lang.molecule import Molecule


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


def _adapted(alternative: Molecule, task: Molecule, kind: Molecule, what: Molecule) -> Molecule:
    current.run.note_adaptation(alternative, task, kind, what)
    return True


def _called_off(task: Molecule, number: Molecule) -> Molecule:
    current.run.call_off(task, number)
    return number


def _parts_off(task: Molecule, case: Molecule) -> Molecule:
    current.run.call_off_parts(task, case)
    return case


def _chosen(*choice: Molecule) -> Molecule:
    return current.run.chooser.chosen(current.run.name_of(choice[0]), choice)


def _skipped(*choice: Molecule) -> Molecule:
    return current.run.chooser.skipped(current.run.name_of(choice[0]), choice)


def _routed(*choice: Molecule) -> Molecule:
    return current.run.chooser.routed(current.run.name_of(choice[0]), choice)


def _holds(task: Molecule, text: Molecule, result: Molecule) -> bool:
    return bool(current.run.chooser.holds(current.run.name_of(task), text, result))


def _ended(task: Molecule, how: Molecule) -> Molecule:
    current.run.end(task, how)
    return how


def _rejecting(task: Molecule, judges: Molecule, result: Molecule) -> Molecule:
    return List(current.run.rejecting(task, judges, result))


def _rejected(task: Molecule, judges: Molecule, result: Molecule) -> bool:
    return bool(current.run.rejecting(task, judges, result))


def _told(task: Molecule, said: Molecule) -> Molecule:
    current.run.tell(task, said)
    return task


def _sent(task: Molecule) -> int:
    current.run.wake(task)
    return 0


current = threading.local()
"""The run whose molecules react in this thread: rules are compiled once for all runs, so they find theirs here."""

HOST: dict[str, Callable[..., Any]] = {
    "invoke": invoke,
    "invoke_each": invoke_each,
    "adapted": _adapted,
    "called_off": _called_off,
    "rejected": _rejected,
    "rejecting": _rejecting,
    "sent": _sent,
    "chosen": _chosen,
    "skipped": _skipped,
    "routed": _routed,
    "holds": _holds,
    "ended": _ended,
    "parts_off": _parts_off,
    "told": _told,
}
"""What the rules ask of the run they are part of, by the names they use."""


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


__all__ = ["HOST", "Call", "NotMade", "current", "invoke", "invoke_each", "predicate_of"]
