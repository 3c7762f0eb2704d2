"""One event loop in a background thread, for asynchronous functions.

Calls come in through a list that the loop empties when it is woken, so a burst of calls wakes it once. The thread is
started by the first call.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from typing import TYPE_CHECKING, Any

from solvent.services.failure import failure_of
from solvent.services.signs import CURRENT, end_if_forked
from solvent.services.threads import report_fault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from solvent.services.call import Attempt

    Work = Callable[[Attempt], Awaitable[Any]]

MAX_CLOSE_SECONDS = 2.0


class Loop:
    """An event loop and its thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._inbox: deque[tuple[Attempt, Work]] = deque()
        self._woken = False
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self, attempt: Attempt, work: Work) -> None:
        """Carry out an attempt in the loop; cancelling it cancels the task."""
        loop = self._loop or self._start()
        self._inbox.append((attempt, work))
        if not self._woken:
            self._woken = True
            loop.call_soon_threadsafe(self._take_all)

    def close(self) -> None:
        """Cancel what still runs and end the thread, unless something blocks it for too long."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        loop.call_soon_threadsafe(self._end)
        if thread is not threading.current_thread():
            thread.join(MAX_CLOSE_SECONDS)

    def _start(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=self._serve, args=(loop,), name="solvent-loop", daemon=True)
                self._thread.start()
                self._loop = loop
            return self._loop

    @staticmethod
    def _serve(loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()

    def _take_all(self) -> None:
        """Begin what has come in."""
        # First the mark, then the list: what is added while this runs is either seen here or wakes the loop again.
        self._woken = False
        while self._inbox:
            attempt, work = self._inbox.popleft()
            if not attempt.over:
                task = asyncio.ensure_future(_carry_out(attempt, work))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                attempt.on_stop(lambda task=task: self._cancel(task))  # type: ignore[misc]  # the default binds it

    def _cancel(self, task: asyncio.Task[None]) -> None:
        assert self._loop is not None
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(task.cancel)

    def _end(self) -> None:
        self._ending = asyncio.ensure_future(self._say_farewell())

    async def _say_farewell(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            await asyncio.wait(list(self._tasks), timeout=MAX_CLOSE_SECONDS / 2)
        asyncio.get_running_loop().stop()


async def _carry_out(attempt: Attempt, work: Work) -> None:
    """Do the work of an attempt and report its outcome."""
    CURRENT.set(attempt)
    value, failure, home = None, None, os.getpid()
    try:
        attempt.begin()
        value = await work(attempt)
    except asyncio.CancelledError as error:
        # Stopped from outside, the attempt knows why; a function that cancels itself has failed.
        failure = None if attempt.over else failure_of(error)
    except BaseException as error:  # noqa: BLE001 -- `sys.exit` in a service fails the call, not the loop
        failure = failure_of(error)
    end_if_forked(home)
    try:
        attempt.settle(value, failure)
    except Exception:  # noqa: BLE001 -- a fault of the callback; reported, and the loop goes on
        report_fault()


__all__ = ["Loop"]
