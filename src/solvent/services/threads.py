"""Worker threads: the short path from a call to a Python function and back.

    start ── put ──▶ SimpleQueue ── get ──▶ function(…) ──▶ done(value, failure, 1)

A call is one small object and one passage through a queue: no future, no condition, no lock of ours. A thread is
started when a job finds no waiting thread, up to `jobs`; `_idle` holds one mark for each waiting thread, and `put`
takes a mark or starts a thread.

A function that runs in a thread cannot be stopped. When its call is cancelled or takes too long, its *seat* is given
up: the outcome is reported at once, another thread takes its place, and the old one ends when the function does. At
most `MAX_GIVEN_UP` threads may remain like that; beyond it every call fails at once and says why.

Exactly one outcome: the callback is in a list of one, and only the thread that pops it (`list.pop` is atomic) calls it.

Waking another thread takes longer than a small function. So whoever starts calls may have `after` called in the thread
that has made one, when its outcome is reported and the thread is free: it can go on there with what follows, and the
thread finds the next job in the queue without anybody being woken.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from queue import Empty, SimpleQueue
from time import sleep
from typing import TYPE_CHECKING, Any, Protocol

from solvent.services.current_call import CURRENT, end_if_forked
from solvent.services.failure import Failure, failure_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services.current_call import CallIdentity
    from solvent.services.failure import Done

MAX_GIVEN_UP = 1_000
LOOK_SECONDS = 0.05
"""How often to look for calls to cancel while the threads end, and whether calls may begin."""


_thread = threading.local()


def is_before(after: Callable[[], None]) -> bool:
    """Return whether this is a worker thread that calls `after` when its job has ended."""
    return getattr(_thread, "after", None) == after


def default_jobs() -> int:
    """Return the default number of threads, which is that of `concurrent.futures`."""
    return min(32, (os.cpu_count() or 1) + 4)


def report_fault() -> None:
    """Report an exception of a callback the way threads do: it must not end the thread that met it."""
    threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), threading.current_thread())))


class Seat:
    """A thread's place in the pool."""

    __slots__ = ("given_up", "job", "thread")

    def __init__(self) -> None:
        self.given_up = False
        self.job: Any = None
        self.thread: threading.Thread | None = None


class ThreadJob:
    """A function to be run in a worker thread; subclasses take its outcome."""

    __slots__ = ("arguments", "function", "keywords", "over", "printed", "seat")

    @property
    def identity(self) -> CallIdentity | None:
        """The identity of the call, if the run is recorded."""
        return None

    def __init__(self, function: Callable[..., Any], arguments: list[Any], keywords: dict[str, Any]) -> None:
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.over = False
        self.printed = ""
        """The end of what it has printed, if it is a call of a recorded run."""
        self.seat: Any = None
        """Where it runs: the seat of a thread, or what another kind of pool needs to find it."""

    def begin(self) -> None:
        """Note that the function is about to run."""

    def beat(self) -> None:
        """Note a heartbeat."""

    def begun(self) -> None:
        """Note that the function has its resources."""

    def seal(self) -> bool:
        """Return whether the outcome counts."""
        return not self.over

    def settle(self, value: Any, failure: Failure | None) -> None:
        """Take the outcome."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Abandon the job."""
        raise NotImplementedError


class Pool(Protocol):
    """Runs jobs."""

    def give_up(self, job: Any) -> None:
        """Stop running a job, as far as possible."""


class Single(ThreadJob):
    """A call without any policy: one attempt, reported as it ends. It is its own handle."""

    __slots__ = ("_cell", "_identity", "_pool")

    def __init__(  # noqa: PLR0917 -- as `Caller.start`
        self,
        function: Callable[..., Any],
        arguments: list[Any],
        keywords: dict[str, Any],
        done: Done,
        pool: Pool,
        identity: CallIdentity | None = None,
    ) -> None:
        # Written out instead of calling the base class: this is the path that thousands of calls take.
        self.function = function
        self.arguments = arguments
        self.keywords = keywords
        self.over = False
        self.printed = ""
        self.seat = None
        self._cell = [done]
        self._pool = pool
        self._identity = identity

    @property
    def identity(self) -> CallIdentity | None:
        """The identity of the call, if the run is recorded."""
        return self._identity

    def settle(self, value: Any, failure: Failure | None, attempts: int = 1) -> None:
        """Report the outcome, unless one has been reported."""
        try:
            done = self._cell.pop()
        except IndexError:
            return
        done(value, failure if failure is None else failure.after(self.printed), attempts)

    def cancel(self) -> None:
        """Report the call as cancelled; a running function continues, and its result is dropped."""
        try:
            # Before the function can see it: one that returns because of it is too late.
            done = self._cell.pop()
        except IndexError:
            return
        self.over = True
        attempts = 0 if self.seat is None else 1
        self._pool.give_up(self)
        done(None, Failure("CANCELLED", "cancelled", attempts=attempts), attempts)


class Threads:
    """A pool of worker threads."""

    def __init__(
        self,
        jobs: int | None = None,
        may_begin: Callable[[], bool] | None = None,
        after: Callable[[], None] | None = None,
    ) -> None:
        """`may_begin` is called before each job; while it returns false, jobs wait. `after` must not raise."""
        self.jobs = jobs or default_jobs()
        self._may_begin = may_begin
        self._after = after
        self.refusal: str | None = None
        self._queue: SimpleQueue[ThreadJob | None] = SimpleQueue()
        self._idle: deque[None] = deque(maxlen=self.jobs)
        # Changed under `_lock`; read without it where a value that is late by one does no harm.
        self._seats: set[Seat] = set()
        self._given_up = 0
        self._lock = threading.Lock()

    def count_waiting(self) -> int:
        """Return how many jobs wait for a thread, roughly."""
        return self._queue.qsize()

    def put(self, job: ThreadJob) -> None:
        """Let the next free thread run a job."""
        if self.refusal is not None:
            job.settle(None, Failure("FAILED", self.refusal))
            return
        self._queue.put(job)
        try:
            self._idle.pop()
        except IndexError:
            if len(self._seats) < self.jobs:
                self._add_thread()

    def give_up(self, job: ThreadJob) -> None:
        """Let another thread take the place of the one that runs a job, if one does."""
        seat = job.seat
        if seat is None:
            return
        with self._lock:
            if seat.job is not job or seat.given_up:
                return
            seat.given_up = True
            self._seats.discard(seat)
            self._given_up += 1
            if self._given_up > MAX_GIVEN_UP:
                self.refusal = f"{self._given_up} functions that were given up still hold their threads"
        if self.refusal is None:
            self._add_thread()
        elif not self._seats:
            self._drain(Failure("FAILED", self.refusal))

    def close(self, *, cancel: bool = False) -> None:
        """End the threads: after all queued jobs, or, with `cancel`, at once, giving up running ones."""
        if cancel:
            self._drain(None)
            for seat in list(self._seats):
                job = seat.job
                if job is not None:
                    job.cancel()
        with self._lock:
            seats = list(self._seats)
            self.jobs = 0
            ends = len(seats) + self._given_up
        for _ in range(ends):
            self._queue.put(None)
        for seat in seats:
            thread = seat.thread
            if thread is None or thread is threading.current_thread():
                continue
            while thread.is_alive() and not seat.given_up:
                # A job may have been on its way from the queue to its seat while the others were cancelled.
                job = seat.job
                if cancel and job is not None:
                    job.cancel()
                thread.join(LOOK_SECONDS if cancel else None)

    def _drain(self, failure: Failure | None) -> None:
        """Empty the queue: fail its jobs, or cancel them if no failure is given."""
        while True:
            try:
                job = self._queue.get_nowait()
            except Empty:
                return
            if job is None:
                continue
            if failure is None:
                job.cancel()
            else:
                job.settle(None, failure)

    def _add_thread(self) -> None:
        with self._lock:
            if len(self._seats) >= self.jobs:
                return
            seat = Seat()
            seat.thread = threading.Thread(target=self._work, args=(seat,), name="solvent-worker", daemon=True)
            try:
                seat.thread.start()
            except RuntimeError as error:
                failure = Failure("FAILED", f"no worker thread could be started: {error}")
                alone = not self._seats
            else:
                # Under the same lock as its start: `close` waits for every thread it finds here.
                self._seats.add(seat)
                return
        if alone:
            self._drain(failure)

    def _work(self, seat: Seat) -> None:
        """Run jobs until the pool closes or the seat is given up."""
        get, idle, note, may_begin, after = self._queue.get, self._idle, CURRENT.set, self._may_begin, self._after
        home = os.getpid()
        _thread.after = after
        while (job := get()) is not None:
            # First the seat, then the question: a thread that cancels the job finds its seat, or the job does not
            # begin.
            job.seat = seat
            seat.job = job
            while may_begin is not None and not may_begin() and not job.over:
                sleep(LOOK_SECONDS)
            if not job.over:
                note(job)
                _run(job, home)
            seat.job = None
            if seat.given_up:
                self._leave()
                return
            del job  # A waiting thread must not keep arguments and results alive.
            # Before `after`: the first job that it puts is for this thread.
            idle.append(None)
            if after is not None:
                after()
        if seat.given_up:
            # Given up just after its job had ended: the end mark it took was meant for another thread.
            self._queue.put(None)

    def _leave(self) -> None:
        with self._lock:
            self._given_up -= 1
            if self.refusal is not None and self._given_up <= MAX_GIVEN_UP // 2:
                self.refusal = None
        # A thread that was given up beyond the limit was not replaced.
        if len(self._seats) < self.jobs and not self._queue.empty():
            self._add_thread()


def _run(job: ThreadJob, home: int) -> None:
    """Run a job's function and report its outcome; nothing it raises may end the thread."""
    value = failure = None
    try:
        job.begin()
        value = job.function(*job.arguments, **job.keywords)
    except BaseException as error:  # noqa: BLE001 -- `sys.exit` in a service fails the call, not the worker
        failure = failure_of(error)
    end_if_forked(home)
    try:
        job.settle(value, failure)
    except BaseException:  # noqa: BLE001 -- a fault of the callback; reported, and the thread goes on
        report_fault()


__all__ = ["Seat", "Single", "ThreadJob", "Threads", "default_jobs", "is_before", "report_fault"]
