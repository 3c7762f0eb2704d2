"""Tells an agent that something has changed in the store, from a thread of its own."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Self

from solvent.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.store import Watch

PATIENCE_SECONDS = 0.5


class Watcher:
    """Waits for changes, and tells of one at a time: the next is looked for when the agent listens again.

    What changes during a turn is read after it in any case. To look for it meanwhile, every millisecond, would take
    time from the turn.
    """

    def __init__(self, name: str, watch: Watch, tell: Callable[[], None]) -> None:
        self._watch = watch
        self._tell = tell
        self._is_over = threading.Event()
        self._listens = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"watch of {name}", daemon=True)

    def listen(self) -> None:
        """Let the next change be told."""
        self._listens.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._listens.set()
        self._thread.join(2 * PATIENCE_SECONDS)

    def _run(self) -> None:
        while not self._is_over.is_set():
            try:
                if self._watch.wait(PATIENCE_SECONDS):
                    self._listens.clear()
                    self._tell()
                    self._listens.wait(PATIENCE_SECONDS)
            except StoreError:
                # The agent's next turn finds out what it is.
                self._is_over.wait(PATIENCE_SECONDS)


__all__ = ["Watcher"]
