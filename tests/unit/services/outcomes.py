"""What the tests of services share: starting calls and waiting for their outcomes."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

from solvent.workflows.model import Policy, Service

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.services import Caller, Failure, Handle
    from solvent.services.clock import Clock

LONG = 200.0
"""Seconds that no test should ever wait in full."""


class Outcome:
    """Takes the outcome of a call, and notices when there is a second one."""

    def __init__(self) -> None:
        self.reports: list[tuple[Any, Failure | None, int]] = []
        self._event = threading.Event()

    def __call__(self, value: Any, failure: Failure | None, attempts: int) -> None:
        """Take an outcome."""
        self.reports.append((value, failure, attempts))
        self._event.set()

    def wait(self) -> tuple[Any, Failure | None, int]:
        """Wait for the outcome."""
        assert self._event.wait(LONG), "no outcome"
        return self.reports[0]

    def value(self) -> Any:
        """Wait for the result."""
        value, failure, _ = self.wait()
        assert failure is None, failure
        return value

    def failure(self) -> Failure:
        """Wait for the failure."""
        value, failure, attempts = self.wait()
        assert failure is not None, value
        assert value is None
        assert failure.attempts == attempts
        return failure


class Time:
    """Time as services see it, which tests let pass: no test need be quick enough for a time-out."""

    def __init__(self) -> None:
        self._passed = 0.0

    def now(self) -> float:
        """Give the time."""
        return time.monotonic() + self._passed

    def passes(self, seconds: float, clock: Clock) -> None:
        """Let time pass, and return when all that was due has happened."""
        self._passed += seconds
        done = threading.Event()
        clock.after(0.0, done.set)
        with clock._change:
            clock._change.notify()
        assert done.wait(LONG), "the clock stands still"

    def wait_for_sign(self, caller: Caller) -> None:
        """Wait until the only call there is has given a sign of life, from now on."""
        now = self.now()
        (one,) = caller._live
        attempt = one._attempt
        assert attempt is not None
        wait_until(lambda: attempt._beat_at > now)


def start(caller: Caller, service: str = "s", *arguments: Any, **keywords: Any) -> tuple[Outcome, Handle]:
    """Start a call."""
    outcome = Outcome()
    return outcome, caller.start(service, "T1", list(arguments), keywords, outcome)


def call(caller: Caller, service: str = "s", *arguments: Any, **keywords: Any) -> Outcome:
    """Start a call that is not to be cancelled."""
    return start(caller, service, *arguments, **keywords)[0]


def python(function: Callable[..., Any], name: str = "s", **policy: Any) -> Service:
    """Make a service of a function."""
    return Service(name, function=function, policy=Policy(**policy))


def wait_until(condition: Callable[[], Any]) -> None:
    """Wait until something is true."""
    end = time.monotonic() + LONG
    while not condition():
        assert time.monotonic() < end, "it never became true"
        time.sleep(0.005)
