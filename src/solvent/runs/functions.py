"""What the rules of a workflow ask of the execution they are part of.

A rule's `call(t, s, p)` is a coroutine. The reactor puts the reaction among its `flights`; `Execution` lets it go on,
gets a `Request`, and plans the call. Its answer, a molecule, is sent into the coroutine, and the reaction ends.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from solvent.lang.molecule import List, Symbol
from solvent.workflows.translate import workflow_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from solvent.lang.molecule import Molecule
    from solvent.workflows.items import Follows

_RES = Symbol("RES")


class Request:
    """What the coroutine of a reaction waits for: the answer of a service."""

    __slots__ = ("arguments", "follows", "index", "route", "service", "task")

    def __init__(self, task: Molecule, service: str, index: int | None, arguments: List, route: int = 0) -> None:
        self.task = task
        self.service = service
        self.index = index
        self.arguments = arguments
        #: How many services were called for the item before this one; and what follows its answer, if that is not it.
        self.route = route
        self.follows: Follows | None = None

    def __await__(self) -> Generator[Request, Molecule, Molecule]:
        answer = yield self
        return answer


async def invoke(task: Molecule, service: Molecule, arguments: Molecule) -> Molecule:
    """`invoke(t, s, p)`: call a service for a task; the answer is `RES : value` or `ERR : kind : text`."""
    return await Request(task, service, None, arguments)


async def call(task: Molecule, service: Molecule, arguments: Molecule) -> Molecule:
    """`call(t, s, p)`: call a service for a flat task: `RES : t : value` or `ERR : t : kind : text : arguments`."""
    kind, *answer = await Request(task, service, None, arguments)
    return (kind, task, *answer) if kind is _RES else (kind, task, *answer, arguments)


async def invoke_each(task: Molecule, service: Molecule, index: Molecule, arguments: Molecule) -> Molecule:
    """`invoke_each(t, s, k, p)`: make one of several calls; it gives `GOT : k : value` or `FAULT : kind : text`.

    If it fails, other services may be called for the item, or something else may take the place of its result.
    """
    request = Request(task, service, index, arguments)
    answer = await request
    while request.follows is not None:
        if request.follows.what != "tried":
            return current.execution.answer_of_item(task, request.follows, index)
        request = Request(task, request.follows.service, index, arguments, request.route + 1)
        answer = await request
    return answer


def _adapted(alternative: Molecule, task: Molecule, kind: Molecule, what: Molecule) -> Molecule:
    current.execution.note_adaptation(alternative, task, kind, what)
    return True


def _called_off(task: Molecule, number: Molecule) -> Molecule:
    current.execution.call_off(task, number)
    return number


def _parts_off(task: Molecule, case: Molecule) -> Molecule:
    current.execution.call_off_parts(task, case)
    return case


def _chosen(*choice: Molecule) -> Molecule:
    return current.execution.chooser.chosen(current.execution.name_of(choice[0]), choice)


def _skipped(*choice: Molecule) -> Molecule:
    return current.execution.chooser.skipped(current.execution.name_of(choice[0]), choice)


def _routed(*choice: Molecule) -> Molecule:
    return current.execution.chooser.routed(current.execution.name_of(choice[0]), choice)


def _rounds(*choice: Molecule) -> Molecule:
    *choice_of, number = choice
    return current.execution.chooser.rounds(current.execution.name_of(choice[0]), tuple(choice_of), number)


def _holds(task: Molecule, text: Molecule, result: Molecule) -> bool:
    return bool(current.execution.chooser.holds(current.execution.name_of(task), text, result))


def _ended(task: Molecule, how: Molecule) -> Molecule:
    current.execution.end(task, how)
    return how


def _rejecting(task: Molecule, judges: Molecule, result: Molecule) -> Molecule:
    return List(current.execution.rejecting(task, judges, result))


def _rejected(task: Molecule, judges: Molecule, result: Molecule) -> bool:
    return bool(current.execution.rejecting(task, judges, result))


def _told(task: Molecule, said: Molecule) -> Molecule:
    current.execution.tell(task, said)
    return task


current = threading.local()
"""Its `execution` is whose molecules react in this thread: rules are compiled once for all, and find theirs here."""

HOST_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "invoke": invoke,
    "invoke_each": invoke_each,
    "call": call,
    "adapted": _adapted,
    "called_off": _called_off,
    "rejected": _rejected,
    "rejecting": _rejecting,
    "chosen": _chosen,
    "skipped": _skipped,
    "routed": _routed,
    "rounds": _rounds,
    "holds": _holds,
    "ended": _ended,
    "parts_off": _parts_off,
    "told": _told,
}
"""What the rules ask, by the names they use."""

FUNCTIONS = workflow_functions(**HOST_FUNCTIONS)
"""All that the rules of a concrete workflow call; only an `Execution` can run them."""


class bound:  # noqa: N801 - used as a function; this is on the path of every answer, and a generator costs more
    """Let rules that react in this thread ask `execution`."""

    __slots__ = ("_before", "_execution")

    def __init__(self, execution: object) -> None:
        self._execution = execution

    def __enter__(self) -> None:
        self._before = getattr(current, "execution", None)
        current.execution = self._execution

    def __exit__(self, *_: object) -> None:
        current.execution = self._before


__all__ = ["FUNCTIONS", "HOST_FUNCTIONS", "Request", "bound", "current", "invoke", "invoke_each"]
