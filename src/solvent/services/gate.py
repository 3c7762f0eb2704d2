"""How many calls of a service may run at once, and how fast they may follow each other.

Calls wait in the order in which they came. `concurrency` counts those that are inside; `rate` keeps the beginnings
at least `1 / rate` seconds apart. Nobody polls: a call that leaves lets the next one in, and the clock opens the gate
when the pace allows.
"""

from __future__ import annotations

import threading
from collections import deque
from time import monotonic
from typing import TYPE_CHECKING, Protocol

from solvent.services.clock import Clock

if TYPE_CHECKING:
    from solvent.services.clock import Timer
    from solvent.workflows.model import Policy, Service


class Waiting(Protocol):
    """What waits at a gate."""

    @property
    def over(self) -> bool:
        """Whether it no longer wants to go in."""

    def launch(self) -> None:
        """Go in; whoever goes in leaves later."""


class Gate:
    """The gate of one service."""

    def __init__(self, policy: Policy, clock: Clock) -> None:
        self._room = policy.concurrency
        self._apart = 1.0 / policy.rate if policy.rate else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._queue: deque[Waiting] = deque()
        self._inside = 0
        self._opens_at = 0.0
        self._timer: Timer | None = None
        self._opening = False

    def enter(self, one: Waiting) -> None:
        """Let one in as soon as those before it are in and there is room."""
        with self._lock:
            self._queue.append(one)
        self._open()

    def leave(self) -> None:
        """Note that one has left."""
        with self._lock:
            self._inside -= 1
        self._open()

    def _open(self) -> None:
        """Let in all who may go in.

        One thread at a time does this. Another one that comes meanwhile, or a call that ends while it is let in,
        need not: the loop looks again.
        """
        while True:
            with self._lock:
                if self._opening:
                    return
                one = self._take()
                if one is None:
                    return
                self._opening = True
            try:
                one.launch()
            finally:
                with self._lock:
                    self._opening = False

    def _take(self) -> Waiting | None:
        """Take the first who may go in now; set the clock if only the pace forbids it."""
        while self._queue and self._queue[0].over:
            self._queue.popleft()
        if not self._queue or (self._room is not None and self._inside >= self._room):
            return None
        if self._apart:
            now = monotonic()
            if now < self._opens_at:
                if self._timer is None:
                    self._timer = self._clock.after(self._opens_at - now, self._open_by_clock)
                return None
            self._opens_at = now + self._apart
        self._inside += 1
        return self._queue.popleft()

    def _open_by_clock(self) -> None:
        with self._lock:
            self._timer = None
        self._open()


class Gates:
    """The gates of services that several callers share: what has the same name and limits goes through the same."""

    def __init__(self) -> None:
        self._clock = Clock()
        self._gates: dict[tuple[str, int | None, float | None], Gate] = {}

    def of(self, service: Service) -> Gate:
        """Return the gate of a service."""
        policy = service.policy
        return self._gates.setdefault((service.name, policy.concurrency, policy.rate), Gate(policy, self._clock))

    def close(self) -> None:
        """Let no more in."""
        self._clock.close()


__all__ = ["Gate", "Gates", "Waiting"]
