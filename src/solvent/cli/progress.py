"""Ctrl-C, progress, and the output of services during a run.

The first Ctrl-C (or a request to terminate) asks the run to stop at its next reaction, so that the solution
as it is can be printed and saved; the second ends at once. The run calls `Watch.should_stop` regularly, which
also shows the progress, on a terminal only.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

from solvent.hocl.process_settings import hurry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_REFRESH_SECONDS = 0.25
_QUIET_SECONDS = 1.0
_OUT, _ERRORS = 1, 2


class Watch:
    """Watches a run for Ctrl-C and shows its progress; a context for the time the run takes."""

    def __init__(self, count: Callable[[], int] | None = None, *, noun: str = "reactions") -> None:
        self.count = count
        self.noun = noun
        self.is_interrupted = False
        self._before: dict[int, Any] = {}
        self._started = self._shown_at = time.monotonic()
        self._shown = False
        self._is_visible = count is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        for number, before in self._before.items():
            signal.signal(number, before)
        self.clear()

    def _on_signal(self, number: int, _frame: object) -> None:
        self.is_interrupted = True
        hurry()
        signal.signal(number, signal.default_int_handler)

    def should_stop(self) -> bool:
        """Return whether the user wants the run to stop."""
        if self._is_visible:
            self._show()
        return self.is_interrupted

    def _show(self) -> None:
        now = time.monotonic()
        if now - self._started < _QUIET_SECONDS or now - self._shown_at < _REFRESH_SECONDS:
            return
        self._shown_at = now
        self._shown = True
        count = self.count() if self.count is not None else 0
        sys.stderr.write(f"\r\x1b[K{count:,} {self.noun}, {now - self._started:.1f} s (Ctrl-C stops)")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the progress from the terminal."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._shown = False


@contextmanager
def prints_to_standard_error() -> Iterator[None]:
    """Redirect what services print to standard error, also in worker processes: standard output is for results."""
    sys.stdout.flush()
    try:
        kept = os.dup(_OUT)
        os.dup2(_ERRORS, _OUT)
    except OSError:
        # One of them is closed, so there is nothing to keep apart.
        yield
        return
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, _OUT)
        os.close(kept)
