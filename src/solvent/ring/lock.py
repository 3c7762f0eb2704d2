"""The lock of a ring as the tasks of one process see it: they wait in a row, and the node asks for all of them.

A node has one wish at a time. Who leaves the lock and who wants it next are told to the node together, so that its
token can take the new wish along and the others need not be asked for it again.
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from solvent.errors import LockLost, Misuse
from solvent.protocols.token.group.messages import Lock as Wish
from solvent.protocols.token.group.messages import Unlock

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from solvent.protocols.token.group import messages
    from solvent.ring.standstill import Standstill

_WISH, _UNLOCK, _UNLOCK_AND_WISH = Wish(), Unlock(), Unlock(is_again=True)


class Fence(NamedTuple):
    """A number for each time the lock is given, greater each time; a plain tuple of integers.

    >>> from solvent.ring import Fence
    >>> Fence(epoch=0, node=2, number=7) < Fence(epoch=1, node=0, number=1)
    True
    """

    epoch: int
    node: int
    number: int


class Lock:
    """The lock of a ring, for one `async with node.lock() as lock:`.

    If the other nodes take this one for dead, they continue without it and another node may get the lock. Leaving the
    block raises `LockLost` then.

    >>> import asyncio
    >>> from solvent import ring
    >>> async def fences() -> bool:
    ...     async with ring.join() as node:
    ...         async with node.lock() as lock:
    ...             first = lock.fence
    ...         async with node.lock(timeout=5) as lock:
    ...             return first < lock.fence
    >>> asyncio.run(fences())
    True
    """

    __slots__ = ("_fence", "_granted", "_is_doubtful", "_is_lost", "_queue", "_timeout")

    def __init__(self, queue: Queue, timeout: float | None) -> None:
        self._queue = queue
        self._timeout = timeout
        self._granted: asyncio.Future[None] | None = None
        self._fence: messages.Fence | None = None
        self._is_lost = False
        #: Whether the lock was left after a standstill without an answer of the others.
        self._is_doubtful = False

    @property
    def fence(self) -> Fence:
        """A number that grows each time the lock is given: what you protect should refuse a smaller one.

        Raises `LockLost` if the lock is lost, or may be (`is_lost`); `confirm` settles that. Raises `Misuse` (P344)
        before the lock was entered.
        """
        if self._fence is None:
            raise _not_entered()
        if self.is_lost:
            raise self._lost()
        epoch = self._fence.epoch
        return Fence(epoch.number, epoch.node, self._fence.number)

    @property
    def is_lost(self) -> bool:
        """Whether the other nodes took this one for dead and continue without it: another node may have the lock.

        It is also true while that is in doubt: this process stood still for longer than the patience, and the other
        nodes have not answered since. If they answer that no other node had the lock, it is false again.
        """
        return self._is_lost or self._is_doubtful or self._queue.is_doubtful(self)

    async def confirm(self) -> None:
        """Wait for the answers of the other nodes if this process stood still, as in a call that blocks the loop.

        Raises `LockLost` if the lock is lost, or if too few nodes answer in time; `Misuse` (P344) before the lock was
        entered.
        """
        if self._fence is None:
            raise _not_entered()
        is_certain = await self._queue.is_certain()
        if self._is_lost or self._is_doubtful or not is_certain:
            raise self._lost()

    async def __aenter__(self) -> Self:
        if self._granted is not None:
            raise Misuse("P344", "a lock is entered once", hint="call `ring.lock()` again for the next time")
        if self._timeout is None:
            await self._queue.enter(self)
        else:
            async with asyncio.timeout(self._timeout):
                await self._queue.enter(self)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self._is_lost and not await self._queue.is_certain():
                self._is_doubtful = True
        finally:
            self._queue.release(self)
        if self._is_lost or self._is_doubtful:
            lost = self._lost()
            if fault is None:
                raise lost
            if not isinstance(fault, LockLost):
                fault.add_note(f"{lost.code}: {lost.message}")

    def _lost(self) -> LockLost:
        epoch = self._fence.epoch.number if self._fence is not None else 0
        message = "the lock was lost: the others took this node for dead and have gone on without it"
        if not self._is_lost:
            message = "the lock may be lost: this process stood still, and the others may have gone on without it"
        return LockLost("N201", message, hint=f"what was done under its fence (epoch {epoch}) may be refused")


def _not_entered() -> Misuse:
    return Misuse("P344", "the lock has not been entered", hint="write `async with ring.lock() as lock:`")


class Queue:
    """Who waits for the lock in this process, first come, first served."""

    def __init__(self, ask: Callable[[Any], None], standstill: Standstill) -> None:
        self._ask = ask
        self._standstill = standstill
        self._waiting = deque[Lock]()
        self._holder: Lock | None = None
        #: Whether the node has been asked for the lock and has not got it yet.
        self._is_asked = False
        #: Whether the lock was left and the node does not know yet.
        self._is_left = False
        self._fault: BaseException | None = None

    @property
    def waiting_count(self) -> int:
        """How many tasks of this node wait for the lock."""
        return len(self._waiting)

    @property
    def is_held(self) -> bool:
        """Whether a task of this process has the lock."""
        return self._holder is not None

    async def enter(self, lock: Lock) -> None:
        """Wait until it is a lock's turn; again, if the lock that was given is one that others have had since."""
        while True:
            granted = lock._granted = asyncio.get_running_loop().create_future()  # noqa: SLF001 - of the same kind
            if self._fault is not None:
                raise self._fault
            self._waiting.append(lock)
            self._settle()
            try:
                if granted.done():
                    # It was here. Others' wishes come by the loop, which a task that never waits would keep from it.
                    await asyncio.sleep(0)
                await granted
                self._standstill.look()
                if self._standstill.seconds:
                    await self._standstill.settled()
            except BaseException:
                self._give_up(lock)
                raise
            if not lock._is_lost:  # noqa: SLF001
                return
            self.release(lock)
            lock._is_lost = False  # noqa: SLF001

    def is_doubtful(self, lock: Lock) -> bool:
        """Tell whether this process stood still with a lock for so long that others may have it."""
        if self._holder is not lock:
            return False
        self._standstill.look()
        return self._standstill.seconds >= self._standstill.patience

    async def is_certain(self) -> bool:
        """Tell whether the others had no reason to go on without this node; ask them if it stood still."""
        self._standstill.look()
        if self._standstill.seconds:
            try:
                async with asyncio.timeout(1.0 + 2 * self._standstill.patience):
                    await self._standstill.settled()
            except TimeoutError:
                return False
        return True

    def release(self, lock: Lock) -> None:
        """Let the next one have it."""
        if self._holder is not lock:
            return
        self._holder = None
        if lock._is_lost:  # noqa: SLF001 - of the same kind
            self._settle()
            return
        # A lock in doubt is given back, too: if it is not lost, nobody else gets it otherwise.
        self._is_left = True
        if self._waiting:
            self._settle()
        else:
            # The task may want it again at once.
            asyncio.get_running_loop().call_soon(self._settle)

    def on_locked(self, fence: messages.Fence) -> None:
        """Give the lock to the first that waits."""
        assert self._holder is None, "a lock that is held is given a second time"
        self._is_asked = False
        while self._waiting:
            lock = self._waiting.popleft()
            granted = lock._granted  # noqa: SLF001 - of the same kind
            # Who was cancelled a moment ago waits no longer, and has not run since.
            if granted is not None and not granted.done():
                self._holder = lock
                lock._fence = fence  # noqa: SLF001
                granted.set_result(None)
                return
        self._ask(_UNLOCK)

    def on_lost(self, fence: messages.Fence) -> None:
        """Note that who has the lock has it no longer."""
        holder = self._holder
        if holder is not None and holder._fence == fence:  # noqa: SLF001
            holder._is_lost = True  # noqa: SLF001

    def end(self, fault: BaseException) -> None:
        """Let nobody wait any more, nor keep what others may have."""
        self._fault = fault
        waiting, self._waiting = self._waiting, deque()
        for lock in waiting:
            granted = lock._granted  # noqa: SLF001
            if granted is not None and not granted.done():
                granted.set_exception(fault)
        if self._holder is not None:
            self._holder._is_lost = True  # noqa: SLF001

    def _give_up(self, lock: Lock) -> None:
        """Want it no longer, whether it is there already or not."""
        if self._holder is lock:
            self.release(lock)
        elif lock in self._waiting:
            self._waiting.remove(lock)
            if not self._waiting and self._is_asked:
                self._is_asked = False
                self._ask(_UNLOCK)

    def _settle(self) -> None:
        """Tell the node what is wanted now."""
        if self._fault is not None:
            return
        is_wanted = bool(self._waiting)
        if self._is_left:
            self._is_left = False
            self._is_asked = is_wanted
            self._ask(_UNLOCK_AND_WISH if is_wanted else _UNLOCK)
        elif is_wanted and not self._is_asked and self._holder is None:
            self._is_asked = True
            self._ask(_WISH)


__all__ = ["Fence", "Lock", "Queue"]
