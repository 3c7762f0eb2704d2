"""Calls under a policy: attempts, time-outs, heartbeats, pauses, retries, cancellation.

    Call ── limit ──▶ Attempt 1 ── failed ──▶ pause ── limit ──▶ Attempt 2 ──▶ done(value, failure, 2)

A call is what the caller asked for; an attempt is one try. The service's kind carries out an attempt and must lead it
to `settle`, now or later, from any thread. It calls `begin` when the service begins (time in a queue does not count for
the service), and `on_stop` with a function that ends the running call.

A call that claims resources waits for its turn first (`ClaimQueue`), and its time counts from when it has them
(`begun`). Its outcome is sealed before its changes are handed on: changes that are handed on are never reported as
failed.

An attempt is stopped by its time-out, by missing heartbeats, or because the call is cancelled. If its kind `waits`, the
outcome is reported when the call has really ended (a process group is dead); otherwise at once (a thread cannot be
ended).
"""

from __future__ import annotations

import threading
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from solvent.services.admission import claims_among
from solvent.services.failure import Failure, failure_of
from solvent.services.threads import LOOK_SECONDS, ThreadJob, report_fault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from solvent.services.admission import CallLimit, ClaimQueue, Lender
    from solvent.services.clock import Clock, Timer
    from solvent.services.current_call import Allowance, CallIdentity
    from solvent.services.failure import Done, Kind
    from solvent.services.observer import CallSeen
    from solvent.services.threads import Threads
    from solvent.workflows.model import Service

Kept = TypeVar("Kept")

MAX_DOUBLINGS = 60


def cancelled_failure() -> Failure:
    """Return the failure of a cancelled call."""
    return Failure("CANCELLED", "cancelled")


class Attempt(ThreadJob):
    """One try of a call, as a kind of service sees it."""

    __slots__ = (
        "_beat_at", "_call", "_cell", "_doom", "_is_sealed", "_stopper", "_timers", "_waits", "clock", "number", "task",
        "trace",
    )  # fmt: skip

    def __init__(self, call: Call, clock: Clock, number: int) -> None:
        super().__init__(_no_function, call.arguments, call.keywords)
        self.task = call.task
        self.number = number
        #: The `traceparent` for the service, so that its spans belong to this attempt's.
        self.trace = ""
        self.clock = clock
        self._call = call
        self._cell = [call]
        self._doom: Failure | None = None
        self._is_sealed = False
        self._stopper: Callable[[], None] | None = None
        self._waits = False
        self._timers: tuple[Timer, ...] = ()
        self._beat_at = 0.0

    @property
    def service(self) -> Service:
        """The service that is called."""
        return self._call.service

    @property
    def identity(self) -> CallIdentity | None:
        """The identity of the call, if the run is recorded; a further attempt repeats it."""
        known = self._call.identity
        return known if known is None or self.number == 1 else known._replace(repeated=True)

    @property
    def seen(self) -> CallSeen | None:
        """The call as an observer sees it, if there is one."""
        return self._call.seen

    def begin(self) -> None:
        """Note that the service begins: from now on its time counts, unless it has to wait for resources."""
        if self._call.seen is not None:
            self._call.seen.began()
        if not self._call.claims:
            self.begun()

    def begun(self) -> None:
        """Note that the service has its resources, and start its time-outs."""
        policy = self._call.service.policy
        self._beat_at = monotonic()
        timers = []
        if policy.timeout is not None:
            timers.append(self.clock.after(policy.timeout, self._on_timeout))
        if policy.heartbeat is not None:
            timers.append(self.clock.after(policy.heartbeat, self._on_silence))
        if timers:
            self._timers = tuple(timers)
            if not self._cell:
                self._disarm()

    def begin_when(self, is_running: Callable[[], bool]) -> None:
        """Let time count from when `is_running` returns true, as far as can be told by polling."""
        timeout = self._call.service.policy.timeout
        if timeout is None:
            return

        def look() -> None:
            if not self._cell:
                return
            if was_running:
                self._on_timeout()
            else:
                # It may have begun just now, so it gets its full time; at most, it gets twice that.
                self.begin_when(is_running)

        was_running = is_running()
        self._timers = (self.clock.after(timeout, look),)
        if not self._cell:
            self._disarm()

    def beat(self) -> None:
        """Note a heartbeat."""
        self._beat_at = monotonic()

    def seal(self) -> bool:
        """Make the outcome final, unless the attempt was stopped or has failed."""
        with self._call.lock:
            self._is_sealed = not self.over and bool(self._cell)
            return self._is_sealed

    def on_stop(self, stopper: Callable[[], None], *, waits: bool = False) -> None:
        """Set the function that ends the running call; `waits` if the outcome waits for that end."""
        with self._call.lock:
            self._stopper = stopper
            self._waits = waits
            late = self.over
        if late:
            stopper()

    def stop(self, kind: Kind, text: str) -> None:
        """End the attempt from outside."""
        with self._call.lock:
            if self.over or self._is_sealed:
                return
            self.over = True
            self._doom = Failure(kind, text)
            stopper, waits = self._stopper, self._waits
        if stopper is not None:
            try:
                stopper()
            except Exception:  # noqa: BLE001 -- the attempt must end whatever happens
                report_fault()
        if not waits:
            self.settle(None, None)

    def cancel(self) -> None:
        """End the attempt, and with it the call."""
        self._call.cancel()

    def succeed(self, value: Any) -> None:
        """Report a result."""
        self.settle(value, None)

    def fail(self, kind: Kind, text: str, output: str = "") -> None:
        """Report a failure."""
        self.settle(None, Failure(kind, text, output))

    def settle(self, value: Any, failure: Failure | None) -> None:
        """Report the outcome, unless one has been reported; that the attempt was stopped takes precedence."""
        try:
            call = self._cell.pop()
        except IndexError:
            return
        doom = self._doom
        self._disarm()
        if self._is_sealed and failure is not None and failure.kind == "LOST":
            failure = Failure("LOST", f"{failure.text}; it may have handed on what it had changed", failure.output)
        if doom is not None:
            value = None
            # One that is not waited for may happen to end before this; its output would depend on chance.
            output = failure.output if failure is not None and self._waits else ""
            failure = Failure(doom.kind, doom.text, output)
        elif failure is not None:
            failure = failure.after(self.printed)
        call.printed = self.printed
        call.end_attempt(value, failure)

    def _disarm(self) -> None:
        for timer in self._timers:
            timer.cancel()

    def _on_timeout(self) -> None:
        self.stop("TIMEOUT", f"no result after {self._call.service.policy.timeout:g} s")

    def _on_silence(self) -> None:
        """Stop if there was no heartbeat for too long; otherwise look again when the next is due."""
        heartbeat = self._call.service.policy.heartbeat
        assert heartbeat is not None
        rest = self._beat_at + heartbeat - monotonic()
        if rest <= 0:
            self.stop("TIMEOUT", f"no heartbeat for {heartbeat:g} s")
        elif self._cell:
            self._timers = (*self._timers[:-1], self.clock.after(rest, self._on_silence))
            if not self._cell:
                self._disarm()


class Call:
    """A call and its attempts; also the handle by which it is cancelled."""

    __slots__ = (
        "_allowance", "_attempt", "_cell", "_claim_queue", "_clock", "_forget", "_launch", "_limit", "_may_begin",
        "_timer", "arguments", "attempts", "claims", "identity", "keywords", "lock", "over", "printed", "seen",
        "service", "task",
    )  # fmt: skip

    def __init__(
        self,
        service: Service,
        task: str,
        arguments: list[Any],
        keywords: dict[str, Any],
        done: Done,
        *,
        launch: Callable[[Attempt], None],
        limit: CallLimit | None,
        clock: Clock,
        forget: Callable[[Call], None],
        claim_queue: ClaimQueue | None = None,
        identity: CallIdentity | None = None,
        may_begin: Callable[[], bool] | None = None,
        allowance: Allowance | None = None,
        seen: CallSeen | None = None,
    ) -> None:
        self.service = service
        self.seen = seen
        self._allowance = allowance
        self._may_begin = may_begin
        self.identity = identity
        self.task = task
        self.arguments = arguments
        self.keywords = keywords
        self.claims = () if claim_queue is None else claims_among((*arguments, *keywords.values()))
        self.attempts = 0
        self.over = False
        #: The end of what its last attempt has printed.
        self.printed = ""
        self.lock = threading.Lock()
        self._cell = [done]
        self._launch = launch
        self._limit = limit
        self._claim_queue = claim_queue if self.claims else None
        self._clock = clock
        self._forget = forget
        self._attempt: Attempt | None = None
        self._timer: Timer | None = None

    def enter(self) -> None:
        """Make the next attempt as soon as the limits of the service allow."""
        if self._limit is None:
            self.launch()
        else:
            self._limit.enter(self)

    def launch(self) -> None:
        """Make the next attempt as soon as it has what it claims."""
        if self._claim_queue is None:
            self.proceed()
        else:
            self._claim_queue.enter(self)

    def proceed(self) -> None:
        """Make the next attempt as soon as it may begin."""
        if self._may_begin is not None and not self.over and not self._may_begin():
            self._clock.after(LOOK_SECONDS, self.proceed)
            return
        with self.lock:
            self._timer = None
            attempt = None
            if not self.over:
                self.attempts += 1
                attempt = self._attempt = Attempt(self, self._clock, self.attempts)
        if attempt is None:
            self._leave()
            return
        if self.seen is not None:
            attempt.trace = self.seen.attempt(attempt.number)
        try:
            self._launch(attempt)
        except Exception as error:  # noqa: BLE001 -- whatever prevents the call is a failure of the call
            attempt.settle(None, failure_of(error))

    def cancel(self) -> None:
        """End the call; its outcome may be reported before this returns."""
        with self.lock:
            if self.over:
                return
            self.over = True
            attempt, timer = self._attempt, self._timer
        if timer is not None:
            timer.cancel()
        if attempt is not None:
            attempt.stop("CANCELLED", "cancelled")
        else:
            self._finish(None, cancelled_failure())
            if self._claim_queue is not None:
                self._claim_queue.admit()

    def end_attempt(self, value: Any, failure: Failure | None) -> None:
        """Take an attempt's outcome: report it, or retry after a pause."""
        if self.seen is not None:
            self.seen.attempted(failure)
        policy, allowance = self.service.policy, self._allowance
        max_attempts = policy.retries + 1 if allowance is None else allowance.attempts
        if failure is None or failure.kind == "CANCELLED" or self.attempts >= max_attempts:
            try:
                self._finish(value, failure)
            finally:
                # Whoever gets a resource next answers later: answers come in the order of changes.
                self._leave()
            return
        self._leave()
        pause = min(policy.max_backoff, policy.backoff * 2 ** min(self.attempts - 1, MAX_DOUBLINGS))
        with self.lock:
            self._attempt = None
            is_over = self.over
            if not is_over and allowance is None:
                self._timer = self._clock.after(pause, self.enter)
                return
        if is_over or allowance is None:
            self._finish(None, cancelled_failure())
        else:
            # Before the pause, so that the failed attempt is recorded if this process dies during it.
            allowance.before_next(failure, partial(self._enter_after, pause))

    def _enter_after(self, pause: float) -> None:
        """Make the next attempt after a pause."""
        with self.lock:
            if not self.over:
                self._timer = self._clock.after(pause, self.enter)

    def is_pausing(self, announced: int) -> bool:
        """Return whether it is between two attempts: all announced ones have failed, and no outcome is reported."""
        with self.lock:
            return self._attempt is None and self.attempts >= announced and bool(self._cell)

    def _leave(self) -> None:
        if self._claim_queue is not None:
            self._claim_queue.leave(self)
        if self._limit is not None:
            self._limit.leave()

    def _finish(self, value: Any, failure: Failure | None) -> None:
        try:
            done = self._cell.pop()
        except IndexError:
            return
        if failure is not None:
            failure = msgspec.structs.replace(failure, attempts=self.attempts)
        if self.seen is not None:
            self.seen.ended(failure, self.attempts)
        try:
            done(value, failure, self.attempts)
        finally:
            self._forget(self)


class Facilities(Protocol):
    """The part of a `Caller` that the kinds of services use."""

    folder: Path | None
    lender: Lender | None
    threads: Threads

    def keep(self, name: str, make: Callable[[Any], Kept]) -> Kept:
        """Return an object that the services of a kind share, made for the first of them."""

    def open_threads(self, jobs: int, farewell: Callable[[], None]) -> Threads:
        """Open another pool of threads, for calls that only wait."""


def _no_function(*_arguments: Any, **_keywords: Any) -> None:
    raise AssertionError("an attempt gets its function before it runs in a thread")


__all__ = ["Attempt", "Call", "Facilities", "cancelled_failure"]
