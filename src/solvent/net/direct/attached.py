"""The turns of a host that an asyncio event loop works: the loop watches the host's epoll, and wakes it at its times.

All is done in the thread of the loop, and nothing waits. So there is no mutex and no deputy (`threads`).
"""

from __future__ import annotations

import time
from threading import get_ident
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.net.direct.clock import NEVER
from solvent.net.direct.threads import MAX_EVENTS

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from solvent.net.direct.board import Board
    from solvent.net.direct.steps import Steps


class Attached:
    """The turns of one host, in an event loop."""

    def __init__(
        self,
        board: Board,
        steps: Steps[Any],
        on_end: Callable[[BaseException | None], None],
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self.is_running = False
        self.fault: BaseException | None = None
        #: The thread of the loop during a turn, else none.
        self.owner = 0
        #: No thread waits here that others could have something done by.
        self.is_serving = False
        self._board = board
        self._steps = steps
        self._on_end = on_end
        self._loop = loop
        self._number = -1
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_at = NEVER

    def open(self) -> None:
        """Serve connections from now on; the machine has not begun."""
        self._number = self._board.poll.fileno()
        self._loop.add_reader(self._number, self._on_readable)
        self.is_running = True

    def start(self) -> None:
        """Make the machine's first step."""
        self.in_turn(self._steps.start)
        if self.fault is not None:
            raise self.fault

    def check(self) -> None:
        """Raise what ended it, if it is over."""
        if not self.is_running:
            raise self.fault or Misuse("P351", "the node is closed, or has not been started")

    def is_mine(self) -> bool:
        """Whether a turn is under way: somebody calls who was told something."""
        return self.owner != 0

    def in_turn(self, what: Callable[..., None], *arguments: Any) -> None:
        """Do something to the machine, and all that comes of it; what is raised ends the host."""
        self.check()
        self.owner = get_ident()
        self._board.now = time.monotonic()
        try:
            what(*arguments)
            self._steps.finish()
        except Exception as fault:  # noqa: BLE001 - `on_end` is told
            self.end(fault)
        finally:
            self.owner = 0
        if self.is_running:
            self._set_alarm()

    def wait(self, is_done: Callable[[], bool], timeout: float | None) -> bool:
        """Tell whether something is done: the loop must not be kept from it."""
        del timeout
        return is_done()

    def give_way(self) -> None:
        """Let the loop see to others."""

    def end(self, fault: BaseException | None) -> None:
        """Be over."""
        if not self.is_running:
            return
        self.is_running = False
        self.fault = fault
        if self._alarm is not None:
            self._alarm.cancel()
        self._loop.remove_reader(self._number)
        self._on_end(fault)

    def stop(self) -> None:
        """Be over, because it is wanted."""
        self.end(None)

    def join(self, seconds: float) -> None:
        """Wait for nobody: there is no other thread."""

    def abandon(self, fault: BaseException) -> None:
        """Be over, in a copy of the process, whose loop is a copy too."""
        self.is_running = False
        self.fault = fault

    def _on_readable(self) -> None:
        self.in_turn(self._take, self._board.poll.poll(0, MAX_EVENTS))

    def _take(self, events: list[tuple[int, int]]) -> None:
        board = self._board
        board.take(events)
        if board.clock.next_at <= board.now:
            for name, due in board.clock.due(board.now):
                due(name)

    def _set_alarm(self) -> None:
        """Have the loop wake the host when something is due."""
        at = 0.0 if self._steps.own else self._board.clock.next_at
        if at < self._alarm_at:
            if self._alarm is not None:
                self._alarm.cancel()
            self._alarm_at = at
            self._alarm = self._loop.call_at(at, self._on_alarm)

    def _on_alarm(self) -> None:
        self._alarm, self._alarm_at = None, NEVER
        self.in_turn(self._take, [])


__all__ = ["Attached"]
