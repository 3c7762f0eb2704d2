"""Notices that this process stood still, and whether the others have gone on without it.

A process that is stopped, or blocks its event loop, hears nothing. The others may take it for dead meanwhile, and have
the lock. When it goes on, the news of that has not arrived yet. So a timer looks at the clock all the time; after a
standstill the members are asked (`Confirm`), and until most have answered the lock is in doubt.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from solvent.protocols.token.group.messages import Confirm

if TYPE_CHECKING:
    from collections.abc import Callable

_TICKS = 10
"""How often the clock is looked at during the patience. A lock is lost after two fifths of the patience at the earliest
(`GroupConfig.wait`, twice), so a standstill of two ticks is noticed in time."""


def _now() -> float:
    """Return the seconds of a clock that goes on while the machine sleeps, where the system has one."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class Standstill:
    """Looks for standstills of one node."""

    def __init__(self, ask: Callable[[Any], None], patience: float, can_be_lost: Callable[[], bool]) -> None:
        """`can_be_lost` tells whether the others are enough to go on without this node."""
        self.patience = patience
        #: How long the process stood still, if the others have not confirmed since that they were not gone on.
        self.seconds = 0.0
        self._ask = ask
        self._can_be_lost = can_be_lost
        self._at: float | None = None
        self._number = 0
        self._settled = asyncio.Event()
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Look at the clock from now on."""
        self._at = _now()
        self._tick()

    def stop(self) -> None:
        """Look no more; whoever waits for an answer goes on."""
        if self._timer is not None:
            self._timer.cancel()
        self._at = None
        self._settle()

    def look(self) -> None:
        """Note how long the process stood still until now, and ask the others if that was long."""
        if self._at is None:
            return
        now = _now()
        seconds, self._at = now - self._at, now
        if seconds > 2 * self.patience / _TICKS and self._can_be_lost():
            self.seconds = max(self.seconds, seconds)
            self._settled.clear()
            self._number += 1
            self._ask(Confirm(self._number))

    def on_confirmed(self, number: int) -> None:
        """Hear that the others have answered; not if it stood still again since they were asked."""
        if number == self._number:
            self._settle()

    async def settled(self) -> None:
        """Wait until the others have answered."""
        await self._settled.wait()

    def _settle(self) -> None:
        self.seconds = 0.0
        self._settled.set()

    def _tick(self) -> None:
        self.look()
        self._timer = asyncio.get_running_loop().call_later(self.patience / _TICKS, self._tick)


__all__ = ["Standstill"]
