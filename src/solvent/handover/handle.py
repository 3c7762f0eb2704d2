"""Handles, as their users have them: of coroutines (`Handle`), and of code without asyncio (`BlockingHandle`)."""

from __future__ import annotations

import asyncio
import threading
import time
from contextlib import suppress
from functools import partial
from threading import get_ident
from typing import TYPE_CHECKING, Any, Self

from solvent.errors import DataProblem
from solvent.handover.claiming import Claiming, Mode
from solvent.handover.filling import Job, stopped_by, within
from solvent.handover.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import TracebackType

    from solvent.handover.resource import Cycle

_HELD_UP = ("D203", "D209")
"""What who must not wait gets where somebody has it locked, and where something is still to be fetched."""
_NOW = Job(0.0)
_NOW.stop()


class BlockingHandle(Claiming):
    """A handle of a resource whose calls wait; entered with `with`. `BlockingSpace.handle` returns it.

    >>> import os
    >>> from solvent import shared
    >>> with shared.join(f"example-{os.getpid()}") as space, space.handle("table", size=4) as table:
    ...     table.request()  # claim it, and do something else meanwhile
    ...     view = table.acquire(timeout=10)
    ...     view[:] = b"done"
    ...     table.release()
    ...     str(table.state)
    'valid'
    """

    def create(self, *, timeout: float | None = None) -> Self:
        """Take part in the resource; entering the `with` block does it.

        Raises `TimeoutError` after `timeout` seconds.
        """
        self._create(self._seconds(timeout))
        return self

    def acquire(
        self,
        mode: Mode | None = None,
        *,
        offset: int | None = None,
        length: int | None = None,
        timeout: float | None = None,
        anew: bool = False,
    ) -> memoryview:
        """Wait for the resource and return its bytes; without arguments, what was requested.

        - `mode`: `"write"` for exclusive use, `"read"` to share it with others that read.
        - `offset`, `length`: a part only; other processes can hold other parts.
        - `timeout`: seconds to wait.
        - `anew`: make the data anew if it was lost.

        Raises `TimeoutError` when it takes longer, and nothing is claimed then; `DataLost` (S205) if the data is gone,
        `Misuse` (S103, S105, S106) if the handle is destroyed, describes other data or is in use, `SpaceProblem` (S203,
        S206) if this process is no longer part.
        """
        claim = self._claim(mode, offset, length)
        seconds = self._seconds(timeout)
        end = None if seconds is None else time.monotonic() + seconds
        me, wait = get_ident(), self._node.host.wait
        within(seconds)
        try:
            for cycle in self._acquiring(me, claim, is_anew=anew):
                left = None if end is None else end - time.monotonic()
                if not wait(cycle.has_settled, left):
                    raise self._node.trouble.late(self.name)  # noqa: TRY301 - given up below
            return self.view  # noqa: TRY300 - what is raised here, too, gives up the claim
        except BaseException:
            self._give_up(me)
            raise

    def __enter__(self) -> Self:
        return self.create()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_after(fault)

    def _me(self) -> object:
        return get_ident()

    def _is_there(self, user: Any) -> bool:
        return any(thread.ident == user for thread in threading.enumerate())


class Handle(Claiming):
    """A handle of a resource for coroutines; entered with `async with`. `Space.handle` returns it.

    It differs from `BlockingHandle` in that `create` and `acquire` are awaited.

    >>> import asyncio, os
    >>> from solvent import shared
    >>> async def fill() -> int:
    ...     async with shared.join(f"example-{os.getpid()}") as space, space.handle("table", size=4) as table:
    ...         view = await table.acquire("write", offset=0, length=2)
    ...         return len(view)
    >>> asyncio.run(fill())
    2
    """

    async def create(self, *, timeout: float | None = None) -> Self:  # noqa: ASYNC109 - what is begun is undone
        """Take part in the resource; entering the `async with` block does it.

        Raises `TimeoutError` after `timeout` seconds.
        """
        unwanted, seconds = threading.Event(), self._seconds(timeout)
        try:
            await in_thread(lambda: self._create(seconds, lambda: not unwanted.is_set()), f"solvent-create-{self.name}")
        except asyncio.CancelledError:
            # The thread takes part no longer, if it does not see this in time.
            with self._section:
                unwanted.set()
                self.destroy()
            raise
        return self

    async def acquire(
        self,
        mode: Mode | None = None,
        *,
        offset: int | None = None,
        length: int | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the claim is withdrawn with it
        anew: bool = False,
    ) -> memoryview:
        """Wait for the resource and return its bytes; arguments and errors are those of `BlockingHandle.acquire`."""
        claim = self._claim(mode, offset, length)
        me, seconds = self._me(), self._seconds(timeout)
        within(seconds)
        try:
            async with asyncio.timeout(seconds):
                await self._acquire(partial(self._acquiring, me, claim, is_anew=anew))
            return self.view  # noqa: TRY300 - what is raised here, too, gives up the claim
        except TimeoutError as error:
            self._give_up(me)
            raise self._node.trouble.late(self.name) from error
        except BaseException:
            self._give_up(me)
            raise

    async def _acquire(self, begin: Callable[[], Generator[Cycle, None, None]]) -> None:
        cycle, steps = self._cycle, begin()
        try:
            while True:
                try:
                    is_quick = self._is_quick(cycle)
                    cycle = _at_once(steps) if is_quick else await self._in_thread(steps)
                except DataProblem as problem:
                    if not is_quick or problem.code not in _HELD_UP:
                        raise
                    # Somebody has locked it for a moment, and is waited for where that halts nobody else.
                    steps = begin()
                    cycle = await self._in_thread(steps)
                if cycle is None:
                    return
                await _settled(cycle)
        finally:
            # Nobody waits any more, which is to be seen at once. A thread that is still at it sees to that itself.
            with suppress(ValueError):
                steps.close()

    def _is_quick(self, cycle: Cycle | None) -> bool:
        grant = None if cycle is None else cycle.grant
        return grant is None or self._resource.keeping.is_quick(grant, self._contents)

    async def _in_thread(self, steps: Generator[Cycle, None, None]) -> Cycle | None:
        """Go on where somebody may have to be waited for: other coroutines go on meanwhile.

        It is waited for also when nobody wants to any more, which it is told: what it brings about must be undone then.
        """
        job = Job(self._node.max_seconds)
        with stopped_by(job):
            task = asyncio.create_task(asyncio.to_thread(next, steps, None))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            job.stop()
            with suppress(Exception):
                await task
            raise

    async def __aenter__(self) -> Self:
        return await self.create()

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_after(fault)

    def _me(self) -> object:
        try:
            return asyncio.current_task() or get_ident()
        except RuntimeError:
            return get_ident()

    def _is_there(self, user: Any) -> bool:
        return not (isinstance(user, asyncio.Task) and user.done())


def _at_once(steps: Generator[Cycle, None, None]) -> Cycle | None:
    """Go on without waiting for anybody."""
    with stopped_by(_NOW):
        return next(steps, None)


async def _settled(cycle: Cycle) -> None:
    """Wait until somebody who works says so, in whichever thread."""
    loop = asyncio.get_running_loop()
    done = loop.create_future()

    def set_done() -> None:
        if not done.done():
            done.set_result(None)

    def told() -> None:
        # The loop may be over, since nobody waits any more.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(set_done)

    cycle.on_settled = told
    if not cycle.is_settled:
        await done


__all__ = ["BlockingHandle", "Handle"]
