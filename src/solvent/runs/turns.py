"""Turns: what an embedded run and an agent repeat with their executions until the end.

    take     take the answers, messages and signals that have come
    settle   let executions react until nothing more can happen without further ones
    admit    choose the calls that are to be made, and note them
    keep     store what was noted, and the messages to other shards
    go       make the admitted calls

Nothing is done outside before what it rests on is stored. A `TurnOwner`, that is, an embedded run or an agent, decides
how long to wait, what to do with what has come, which calls to admit, how to store, and what an error ends: an embedded
run has one execution and ends with it, an agent has many.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import suppress
from queue import Empty
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.runs.execution import Execution

#: Executions that something has come for, in the order in which it did.
Touched: TypeAlias = "dict[Execution, None]"


Item = TypeVar("Item")


class Inbox(Generic[Item]):
    """A queue to one thread, for any that put; it can be waited at with a time-out while signals arrive.

    Not `queue.SimpleQueue`: until Python 3.13, a wait there that a signal interrupts about when its time is up goes on
    for ever, unless another signal comes. So the first Ctrl-C of a run was lost now and then. Waiting for a lock has no
    such fault, and the two are about equally fast.
    """

    __slots__ = ("_items", "_mark")

    def __init__(self) -> None:
        self._items: deque[Item] = deque()
        # Locked unless something may have come since the reader last looked.
        self._mark = threading.Lock()
        self._mark.acquire()

    def put(self, item: Item) -> None:
        """Add something, and wake the reader; also a handler of a signal may."""
        self._items.append(item)
        self.wake()

    def leave(self, item: Item) -> None:
        """Add something that this thread takes itself, or wakes the reader for."""
        self._items.append(item)

    def wake(self) -> None:
        """Wake the reader, if it waits."""
        if self._mark.locked():
            # Another thread may do so at the same moment.
            with suppress(RuntimeError):
                self._mark.release()

    def get(self, timeout: float | None = None) -> Item:
        """Take the first, once there is one; raise `queue.Empty` if there is none for so many seconds."""
        end = None if timeout is None else monotonic() + timeout
        while True:
            try:
                return self._items.popleft()
            except IndexError:
                left = -1.0 if end is None else max(0.0, end - monotonic())
                if not self._mark.acquire(timeout=left) and not self._items:
                    raise Empty from None

    def wait(self, timeout: float) -> None:
        """Wait until there is something, the reader is woken, or so many seconds have passed."""
        if not self._items:
            self._mark.acquire(timeout=timeout)

    def empty(self) -> bool:
        """Tell whether there is nothing to take."""
        return not self._items

    def qsize(self) -> int:
        """Return how many there are, roughly."""
        return len(self._items)


class TurnOwner(Protocol):
    """What the owner of turns does in them: an `EmbeddedRun` or an `Agent`."""

    def here(self, touched: Touched, /) -> Touched:
        """Return the executions that the owner still has: others were lost, or their run is over."""

    def receive(self, item: Any, touched: Touched, /) -> None:
        """Take what has come."""

    def has_enough(self) -> bool:
        """Return whether to react to what was taken before more is taken."""

    def admit(self, touched: Touched, /) -> Iterable[Execution]:
        """Admit calls; return the executions whose calls they are, touched or not."""

    def keep(self, touched: Touched, /) -> None:
        """Store what was noted."""

    def go(self) -> None:
        """Take note that the admitted calls are made now."""

    def fail(self, execution: Execution, error: Exception, /) -> None:
        """Deal with an error of an execution."""


class Turns:
    """Drives executions, in one thread; what has come for them is in `came`."""

    def __init__(self, owner: TurnOwner) -> None:
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


__all__ = ["Inbox", "Touched", "TurnOwner", "Turns"]
