"""Tasks, as seen by their calls: one begins with its first call, and ends when none of its calls is out."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

Kept = TypeVar("Kept")


class OpenTasks(Generic[Kept]):
    """The tasks of a run that have calls out, with something kept for each; for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, tuple[int, Kept]] = {}

    def enter(self, task: str, make: Callable[[], Kept]) -> Kept:
        """Note that a call begins, and give what is kept for its task; it is made for the first."""
        with self._lock:
            known = self._open.get(task)
            count, kept = (0, make()) if known is None else known
            self._open[task] = count + 1, kept
            return kept

    def leave(self, task: str) -> bool:
        """Note that a call has ended; tell whether it was the last one."""
        with self._lock:
            count, kept = self._open[task]
            if count > 1:
                self._open[task] = count - 1, kept
                return False
            del self._open[task]
            return True


__all__ = ["OpenTasks"]
