"""Agents are asked to end by a key of the store: who reaches the store needs no way to their machines.

Whoever can write to a store can end its agents; it can end its runs as well. What agents had goes on with others.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from solvent.errors import RecordProblem, StoreError
from solvent.runs.registry import record_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.store import Store

STOPS = "stops/"
LOOK_SECONDS = 0.5


def ask_to_stop(store: Store, agent: str) -> None:
    """Ask an agent to end."""
    store.put(STOPS + agent, b"")


class Stopper:
    """Looks whether an agent is asked to end, or a run is over after which it is to; a thread, while in its context."""

    def __init__(self, store: Store, agent: str, stop: Callable[[], None], *, until: str = "") -> None:
        self._store = store
        self._key = STOPS + agent
        self._stop = stop
        self._until = until
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="stopper", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()
        try:
            self._store.delete(self._key)
        except StoreError:
            return

    def _look(self) -> None:
        while not self._is_over.wait(LOOK_SECONDS):
            try:
                is_time = self._store.get(self._key) is not None
                if not is_time and self._until:
                    record = record_of(self._store, self._until)
                    is_time = record is not None and record.has_ended
            except (StoreError, RecordProblem):
                # The store is away, or the record damaged; the agent itself finds that out.
                continue
            if is_time:
                self._stop()
                return


__all__ = ["STOPS", "Stopper", "ask_to_stop"]
