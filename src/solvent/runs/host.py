"""The turn of a run, wherever it is hosted: in this process alone, or with others at an agent.

    take     answers, messages and signals that have come
    settle   react until nothing more can happen without such
    admit    choose the calls that are to be made, and note them
    keep     what was noted, and what is said to other shards
    go       make those calls

Nothing is done outside before what it rests on is kept. What comes, how long to wait for it, and what it means that
something goes wrong is its owner's: an embedded run has one execution and ends with it, an agent has many.
"""

from __future__ import annotations

from queue import Empty
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from solvent.runs.inbox import Inbox

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.runs.execution import Execution

#: Executions that something has come for, in the order in which it did.
Touched: TypeAlias = "dict[Execution, None]"


class Owner(Protocol):
    """Whose turns they are."""

    def here(self, touched: Touched, /) -> Touched:
        """Return those that are still to be driven: others were lost, or their run is over."""

    def receive(self, item: Any, touched: Touched, /) -> None:
        """Take what has come."""

    def has_enough(self) -> bool:
        """Return whether what has come is to be done before more is taken."""

    def admit(self, touched: Touched, /) -> Iterable[Execution]:
        """Admit calls; return the executions that have some, be they touched or not."""

    def keep(self, touched: Touched, /) -> None:
        """Keep what was noted."""

    def go(self) -> None:
        """Hear that the calls that were admitted are made now."""

    def fail(self, execution: Execution, error: Exception, /) -> None:
        """Hear that something went wrong at an execution."""


class Host:
    """Drives executions, in one thread; what has come for them is in `came`."""

    def __init__(self, owner: Owner) -> None:
        self.came: Inbox[Any] = Inbox()
        self._owner = owner

    def take(self, seconds: float, touched: Touched) -> bool:
        """Wait so long for something to come, and take it with all that has come by then; return whether it did."""
        came, owner = self.came, self._owner
        try:
            owner.receive(came.get(timeout=seconds), touched)
        except Empty:
            return False
        while not (came.empty() or owner.has_enough()):
            owner.receive(came.get(), touched)
        return True

    def do(self, touched: Touched) -> Touched:
        """Do what follows for the executions that something has come for; return those that are still here."""
        owner = self._owner
        # Of one that was lost, or whose run is over, nothing more is noted.
        touched = owner.here(touched)
        self.settle(touched)
        touched = owner.here(touched)
        for execution in owner.admit(touched):
            touched[execution] = None
        owner.keep(touched)
        touched = owner.here(touched)
        owner.go()
        for execution in list(touched):
            self.attempt(execution, execution.begin_calls, touched)
        return touched

    def settle(self, touched: Touched) -> None:
        """Let executions react."""
        for execution in list(touched):
            self.attempt(execution, execution.settle, touched)

    def attempt(self, execution: Execution, do: Callable[[], None], touched: Touched) -> None:
        """Let something happen at an execution; where it goes wrong nothing else is done, and the owner hears of it."""
        try:
            do()
        except Exception as error:  # noqa: BLE001 - the owner may have others, and decides
            touched.pop(execution, None)
            self._owner.fail(execution, error)
        else:
            touched[execution] = None


__all__ = ["Host", "Owner", "Touched"]
