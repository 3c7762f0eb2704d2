"""Who works: one mutex, at most one worker, and a deputy for when there is none.

One mutex guards the machine, so steps never interleave. A thread that wants something makes the step itself. A thread
that waits for something becomes the *worker*: it waits for the connections and the clock, and makes the steps that come
of them, until what it waits for has happened. So what comes for it costs no switch from one thread to another. Others
that wait meanwhile are woken by it, and one of them is the next worker.

While nobody waits, a *deputy*, a thread of the host's own, does the work, so that a process that computes still serves
others. It must not run for a message that a worker takes anyway, nor while a thread that has just got what it waited
for is about to wait again: two threads that want the interpreter for each message would cost more than the message.
Therefore it waits for something else: a timer that every worker starts when it leaves and the next one stops, which
wakes nobody. Only if that rings the deputy waits for the connections, through a second poll in which theirs lies, and
which is switched off as soon as somebody waits.
"""

from __future__ import annotations

import os
import select
import threading
import time
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.net.direct.bell import Bell, Timer
from solvent.net.direct.clock import NEVER
from solvent.net.direct.shield import SHIELD

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.net.direct.board import Board
    from solvent.net.direct.steps import Steps

MAX_EVENTS = 64
"""Connections looked at in one turn."""
_ARMED = getattr(select, "EPOLLIN", 0) | getattr(select, "EPOLLONESHOT", 0)
GRACE_NANOSECONDS = 2_000_000
"""How long nobody may work before the deputy does; timers that ring before the system looks at its clock anyway are
dear to set."""
MIN_NAP_SECONDS, MAX_NAP_SECONDS = 0.0004, 0.004
MIN_NAPS = 4
LATELY = 8
"""A worker that is woken for others again and again naps before it looks, so that what comes meanwhile costs one turn
for all of it: a part of what it usually has still to wait, and so less and less."""
MAX_GIVING_WAY_SECONDS = 0.002
MAX_DEAF_SECONDS = 0.5
"""How long the main thread sleeps at most. Python acts on a signal only when that thread runs, and one that comes just
before it falls asleep, or that the system gives to another thread, does not wake it."""
_IDLE_SECONDS = 0.05
"""How often the deputy looks at the clock while somebody else works."""


class Waiting:
    """A thread that waits while another one works.

    It sleeps at a bare lock: an interrupt inside those that Python builds of several can leave them locked, or unlocked
    twice.
    """

    __slots__ = ("_gate", "is_done")

    def __init__(self, is_done: Callable[[], bool]) -> None:
        self.is_done = is_done
        self._gate = threading.Lock()
        self._gate.acquire()

    def sleep(self, seconds: float) -> None:
        """Wait until it is woken, or so long."""
        self._gate.acquire(timeout=-1 if seconds == NEVER else seconds)

    def wake(self) -> None:
        """Wake it; the caller has the mutex."""
        if self._gate.locked():
            self._gate.release()


class Working:
    """The threads of one host."""

    def __init__(self, board: Board, steps: Steps[Any], on_end: Callable[[BaseException | None], None]) -> None:
        """`on_end` is called once, with the mutex, when it is over: for a reason, or because it is wanted."""
        self.is_running = False
        self.fault: BaseException | None = None
        self.mutex = threading.Lock()
        self._board = board
        self._clock = board.clock
        self._steps = steps
        self._own = steps.own
        self._on_end = on_end
        #: The thread that is in a turn; whoever calls as that one was told something.
        self.owner = 0
        #: Whether others had something done here while a thread waited for something else.
        self.is_serving = False
        #: The thread that waits for the connections.
        self._worker = 0
        #: What it waits for.
        self._worker_is_done: Callable[[], bool] = lambda: False
        self._waiting = list[Waiting]()
        #: Until when the worker, and the deputy, sleep if nothing comes.
        self._worker_until = NEVER
        self._deputy_until = NEVER
        self._deputy: threading.Thread | None = None
        self._doze = select.epoll()
        #: Whether the deputy is woken by what comes.
        self._is_armed = True
        #: When a thread that worked last had what it waited for.
        self._done_at = -NEVER
        #: How long a thread has to wait lately, and what it naps at.
        self._usual = 0.0
        self._nap = select.epoll()
        self._alarm_line = -1
        self._bell = Bell()
        self._alarm = Bell()
        self._grace = Timer(GRACE_NANOSECONDS)

    # ---------------------------------------------------------------------------------------- beginning and end

    def start(self) -> None:
        """Make the machine's first step, and have a deputy from then on."""
        board = self._board
        board.lines[self._bell.fileno()] = self._bell
        board.poll.register(self._bell, select.EPOLLIN)
        self._doze.register(board.poll.fileno(), _ARMED)
        self._nap.register(self._bell, select.EPOLLIN)
        self._doze.register(self._alarm, select.EPOLLIN)
        self._doze.register(self._grace, select.EPOLLIN)
        self.is_running = True
        self.in_turn(self._steps.start)
        self._deputy = threading.Thread(target=self._stand_in, name="solvent-deputy", daemon=True)
        self._deputy.start()

    def check(self) -> None:
        """Raise what ended it, if it is over."""
        if self.is_running:
            return
        if self.fault is not None:
            raise self.fault
        raise Misuse("P351", "the node is closed, or has not been started")

    def end(self, fault: BaseException | None) -> None:
        """Be over; the caller has the mutex."""
        if self.is_running:
            self.is_running = False
            self.fault = fault
            self._bell.ring()
            self._alarm.ring()
            for waiting in self._waiting:
                waiting.wake()
            self._on_end(fault)

    def stop(self) -> None:
        """Be over, because it is wanted."""
        is_main = get_ident() == SHIELD.main
        if is_main:
            SHIELD.depth += 1
        try:
            with self.mutex:
                self.end(None)
        finally:
            if is_main:
                SHIELD.lower()

    def join(self, seconds: float) -> None:
        """Wait until the deputy is gone, and have nothing open any more that a thread could wait for."""
        deputy = self._deputy
        if deputy is None or deputy.ident == get_ident():
            return
        deputy.join(seconds)
        with self.mutex:
            if not (deputy.is_alive() or self._worker or self._waiting):
                for one in (self._doze, self._nap, self._bell, self._alarm, self._grace):
                    one.close()

    def abandon(self, fault: BaseException) -> None:
        """Be over, in a copy of the process, in which there are no other threads."""
        self.mutex = threading.Lock()
        self.is_running = False
        self.fault = fault
        self.owner = self._worker = 0
        self._waiting.clear()
        self._deputy = None
        self._doze.close()

    # ---------------------------------------------------------------------------------------------------- turns

    def is_mine(self) -> bool:
        """Whether this thread is in a turn: somebody calls who was told something."""
        return self.owner == get_ident()

    def in_turn(self, what: Callable[..., None], *arguments: Any) -> None:
        """Do something to the machine."""
        me = get_ident()
        is_main = me == SHIELD.main
        if is_main:
            SHIELD.depth += 1
        try:
            with self.mutex:
                if not self.is_running:
                    self.check()
                self._turn(me, what, *arguments)
                self._alert()
        finally:
            if is_main:
                SHIELD.lower()

    def _turn(self, me: int, what: Callable[..., None], *arguments: Any) -> None:
        """Do something to the machine, and all that comes of it; the caller has the mutex.

        What is raised ends the host.
        """
        self.owner = me
        self._board.now = time.monotonic()
        try:
            what(*arguments)
            self._steps.finish()
        except BaseException as fault:
            self.end(fault)
            raise
        finally:
            self.owner = 0
        if self._waiting:
            self._wake_waiting()

    def _take(self, events: list[tuple[int, int]]) -> None:
        """Take what the connections and the clock bring."""
        board = self._board
        lines = board.lines
        # As `Board.take` does it: a call less for each message.
        for number, mask in events:
            line = lines.get(number)
            if line is not None:
                line.on_event(mask)
        if board.clock.next_at <= board.now:
            for name, due in board.clock.due(board.now):
                due(name)

    def _wake_waiting(self) -> None:
        """Wake those for whom something has happened."""
        for waiting in self._waiting:
            if waiting.is_done():
                waiting.wake()

    def _alert(self) -> None:
        """Wake whoever works next if it would sleep too long."""
        at = 0.0 if self._own else self._clock.next_at
        if self._worker:
            # Another thread may have brought about what it waits for, and nothing come over a connection.
            if at < self._worker_until or self._worker_is_done():
                self._worker_until = at
                self._bell.ring()
        elif at < self._deputy_until:
            self._deputy_until = at
            self._alarm.ring()

    def _next_at(self) -> float:
        return 0.0 if self._own else self._clock.next_at

    # --------------------------------------------------------------------------------------------------- waiting

    def wait(self, is_done: Callable[[], bool], timeout: float | None) -> bool:
        """Work, or wait for who works, until something is done; tell whether it is."""
        me = get_ident()
        end = NEVER if timeout is None else time.monotonic() + timeout
        is_main = me == SHIELD.main
        if is_main:
            SHIELD.depth += 1
        try:
            with self.mutex:
                try:
                    while True:
                        if is_done():
                            return True
                        if not self.is_running:
                            self.check()
                        if end != NEVER and time.monotonic() >= end:
                            return False
                        if self._worker:
                            self._wait_behind(is_done, end, is_main=is_main)
                        else:
                            self._worker = me
                            self._worker_is_done = is_done
                            if self._is_armed:
                                self._is_armed = False
                                self._doze.modify(self._board.poll.fileno(), 0)
                            else:
                                self._grace.stop()
                            if self._work(is_done, end, is_main=is_main):
                                return True
                finally:
                    self._pass_on(me)
        finally:
            if is_main:
                SHIELD.lower()

    def give_way(self) -> None:
        """Give others the chance to want what this thread got at once: it could get it again and again.

        If it had to wait for that a moment ago, others were in line, and are perhaps slow: it looks for them once.
        """
        if self._board.now - self._done_at < self._usual:
            self._done_at = -NEVER
            counters = self._board.counters
            before = counters.messages_received
            self.wait(lambda: counters.messages_received != before, min(MAX_GIVING_WAY_SECONDS, self._usual))
        else:
            os.sched_yield()

    def _work(self, is_done: Callable[[], bool], end: float, *, is_main: bool) -> bool:
        """Work as the only one until something is done; the mutex is free while nothing comes.

        Tell whether it is done; if not, it is too late for it, or the host is over.
        """
        board, mutex, me = self._board, self.mutex, self._worker
        began = time.monotonic()
        turn_at = 0.0
        while True:
            until = 0.0 if self._own else self._clock.next_at
            self._worker_until = until = min(until, end)
            seconds = -1.0 if until == NEVER else max(0.0, until - time.monotonic())
            is_brief = is_main and not 0 <= seconds <= MAX_DEAF_SECONDS
            mutex.release()
            try:
                try:
                    if is_main:
                        SHIELD.lower()
                    events = board.poll.poll(MAX_DEAF_SECONDS if is_brief else seconds, MAX_EVENTS)
                finally:
                    if is_main:
                        SHIELD.depth += 1
            finally:
                mutex.acquire()
            if not self.is_running:
                return False
            if is_brief and not events:
                continue
            self._turn(me, self._take, events)
            if is_done():
                self.is_serving = turn_at > 0 or len(events) > 1
                self._done_at = board.now
                self._usual += (board.now - began - self._usual) / LATELY
                return self.is_running
            last, turn_at = turn_at, board.now
            if turn_at >= end:
                return False
            nap = min(MAX_NAP_SECONDS, (began + self._usual - turn_at) / MIN_NAPS)
            if nap >= MIN_NAP_SECONDS and turn_at - last < 2 * nap:
                self._set_alarm()
                mutex.release()
                try:
                    self._nap.poll(nap)
                finally:
                    mutex.acquire()

    def _set_alarm(self) -> None:
        """Have a nap end at once when something comes from who brought the last time what was waited for."""
        number = self._board.number_of(self._steps.teller)
        if number == self._alarm_line:
            return
        # It may be closed, and the number be another's that is not watched, or is.
        with suppress(OSError, ValueError):
            self._nap.unregister(self._alarm_line)
        self._alarm_line = number
        with suppress(OSError, ValueError):
            self._nap.register(number, select.EPOLLIN)

    def _wait_behind(self, is_done: Callable[[], bool], end: float, *, is_main: bool) -> None:
        """Wait until the worker says that it is done, or there is none any more; the main thread not always so long."""
        waiting = Waiting(is_done)
        seconds = NEVER if end == NEVER else max(0.0, end - time.monotonic())
        self._waiting.append(waiting)
        self.mutex.release()
        try:
            try:
                if is_main:
                    SHIELD.lower()
                waiting.sleep(min(seconds, MAX_DEAF_SECONDS) if is_main else seconds)
            finally:
                if is_main:
                    SHIELD.depth += 1
        finally:
            self.mutex.acquire()
            self._waiting.remove(waiting)

    def _pass_on(self, me: int) -> None:
        """Have somebody else work, if this thread did or was to."""
        if self._worker == me:
            self._worker = 0
        if self._worker or not self.is_running:
            return
        if self._waiting:
            self._waiting[0].wake()
            return
        if not self._is_armed:
            self._grace.start()
        self._alert()

    # ---------------------------------------------------------------------------------------------- the deputy

    def _stand_in(self) -> None:
        """Work while nobody waits; the deputy's whole life."""
        me, seconds = get_ident(), 0.0
        while True:
            self._doze.poll(seconds)
            with self.mutex:
                if not self.is_running:
                    return
                self._alarm.on_event(0)
                if not self._worker:
                    self._grace.stop()
                    try:
                        self._turn(me, self._take, self._board.poll.poll(0, MAX_EVENTS))
                    except BaseException:  # noqa: BLE001 - everybody who waits gets it
                        return
                    self._is_armed = True
                    self._doze.modify(self._board.poll.fileno(), _ARMED)
                at = self._next_at()
                if self._worker and at != NEVER:
                    at = max(at, time.monotonic() + _IDLE_SECONDS)
                self._deputy_until = at
                seconds = -1.0 if at == NEVER else max(0.0, at - time.monotonic())


__all__ = ["MAX_EVENTS", "Waiting", "Working"]
