"""One thread that calls functions at given times.

Time-outs, pauses before retries, rates and replayed durations all wait here, in one heap, so ten thousand of them cost
ten thousand entries and not a thread each. The functions must be brief: they delay the others.

A cancelled timer stays in the heap until its time comes; when more than half of them are cancelled, they are removed,
so long time-outs of short calls do not accumulate.
"""

from __future__ import annotations

import heapq
import threading
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING

from solvent.services.threads import report_fault

if TYPE_CHECKING:
    from collections.abc import Callable

MIN_SWEEP = 64


class Timer:
    """A function to be called at some time, unless it is cancelled before."""

    __slots__ = ("_clock", "function")

    def __init__(self, clock: Clock, function: Callable[[], None]) -> None:
        self._clock = clock
        self.function: Callable[[], None] | None = function

    def cancel(self) -> None:
        """Do not call it."""
        if self.function is not None:
            self.function = None
            self._clock.note_cancelled()


class Clock:
    """A heap of timers and their thread, which is started by the first of them."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._cancelled = 0
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def after(self, seconds: float, function: Callable[[], None]) -> Timer:
        """Call a function in the clock's thread, some seconds from now."""
        timer = Timer(self, function)
        entry = (monotonic() + seconds, next(self._numbers), timer)
        with self._change:
            heapq.heappush(self._heap, entry)
            if self._thread is None and not self._closed:
                self._thread = threading.Thread(target=self._watch, name="solvent-clock", daemon=True)
                self._thread.start()
            if self._heap[0] is entry:
                self._change.notify()
        return timer

    def note_cancelled(self) -> None:
        """Count a cancelled timer, and remove all of them if they are the majority."""
        with self._change:
            self._cancelled += 1
            if self._cancelled > MIN_SWEEP and self._cancelled > len(self._heap) // 2:
                self._heap = [entry for entry in self._heap if entry[2].function is not None]
                heapq.heapify(self._heap)
                self._cancelled = 0

    def close(self) -> None:
        """End the thread and drop all timers."""
        with self._change:
            self._closed = True
            self._heap.clear()
            self._change.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _watch(self) -> None:
        while (due := self._next()) is not None:
            try:
                due()
            except Exception:  # noqa: BLE001 -- one bad callback must not stop the clock for all others
                report_fault()

    def _next(self) -> Callable[[], None] | None:
        """Wait for the next timer and return its function; `None` once the clock is closed."""
        with self._change:
            while not self._closed:
                if not self._heap:
                    self._change.wait()
                    continue
                wait = self._heap[0][0] - monotonic()
                if wait > 0:
                    self._change.wait(min(wait, threading.TIMEOUT_MAX))
                    continue
                timer = heapq.heappop(self._heap)[2]
                function, timer.function = timer.function, None
                if function is not None:
                    return function
                self._cancelled = max(0, self._cancelled - 1)
        return None


__all__ = ["Clock", "Timer"]
