"""A call of a task, from when its arguments are there to when its answer is.

planned  its reaction waits, and nothing is written of it
begun    the journal has it, and it was made; after a failed attempt it may pause and be tried again
ended    its answer was taken, or nobody wants it any more
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from solvent.services.call import Call as Attempted

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.reaction import Flight
    from solvent.runs.execution import Execution
    from solvent.runs.functions import Request
    from solvent.services import Failure, Handle
    from solvent.services.current_call import Allowance, CallIdentity


class OpenCall:
    """A call that has no answer yet; also its own handle."""

    __slots__ = (
        "allowance",
        "announced",
        "execution",
        "flight",
        "handle",
        "identity",
        "is_begun",
        "is_called_off",
        "is_cancelled",
        "key",
        "request",
        "start",
        "task",
    )

    def __init__(self, execution: Execution, flight: Flight, request: Request, task: str, key: str) -> None:
        self.execution = execution
        self.flight = flight
        self.request = request
        self.task = task
        #: Its name in the journal: the task, its item and its round.
        self.key = key
        #: Makes it.
        self.start: Callable[..., Handle | None] | None = None
        self.handle: Handle | None = None
        self.identity: CallIdentity | None = None
        self.allowance: Allowance | None = None
        #: How many attempts of it are noted, in this life of its run.
        self.announced = 1
        self.is_begun = False
        self.is_cancelled = False
        #: Whether its arguments were called off: whatever it answers is not wanted.
        self.is_called_off = False

    def begin(self) -> None:
        """Make the call."""
        assert self.start is not None
        # Both lead back here: who keeps the call would keep all that it was made for until garbage is looked for.
        start, self.start = self.start, None
        allowance, self.allowance = self.allowance, None
        self.is_begun = True
        self.handle = start(identity=self.identity, allowance=allowance)

    def done(self, value: Any, failure: Failure | None, attempts: int) -> None:
        """Take the outcome of the call, from any thread."""
        self.execution.arrive(Answer(self, value, failure, attempts))

    def try_again(self, failure: Failure, begin: Callable[[], None]) -> None:
        """Let a further attempt be noted, and then made; from any thread."""
        self.execution.arrive(Again(self, failure, begin))

    def cancel(self) -> None:
        """End it, or do not make it."""
        self.is_cancelled = True
        if self.handle is not None:
            self.handle.cancel()
        elif not self.is_begun:
            self.execution.admit(self)

    @property
    def is_pausing(self) -> bool:
        """Whether it is between two attempts, so that none is out."""
        return isinstance(self.handle, Attempted) and self.handle.is_pausing(self.announced)


class Answer(NamedTuple):
    """What has come of a call."""

    call: OpenCall
    value: Any
    failure: Failure | None
    attempts: int


class Again(NamedTuple):
    """A call whose attempt has failed, and that is to be tried again."""

    call: OpenCall
    failure: Failure
    begin: Callable[[], None]


class NoCaller:
    """Stands where calls would be made: none is."""

    def start(self, *_: Any, **__: Any) -> NoReturn:
        """Never come to this: a replay makes no calls."""
        raise AssertionError("a replay calls nobody")


__all__ = ["Again", "Answer", "NoCaller", "OpenCall"]
