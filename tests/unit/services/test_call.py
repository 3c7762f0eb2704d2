"""Calls under a policy: time-outs, retries, signs of life, cancellation."""

from __future__ import annotations

import threading
import time
from itertools import pairwise

import pytest

from solvent.services import Caller, Failure, heartbeat
from tests.unit.services.functions import double, fail
from tests.unit.services.outcomes import LONG, Time, call, python, start, wait_until


def test_a_function_that_hangs_is_given_up() -> None:
    """After the time-out the call fails, and another thread serves the next call."""
    go = threading.Event()
    with Caller([python(lambda: go.wait(LONG), timeout=0.05), python(double, "double")], jobs=1) as caller:
        outcome = call(caller)
        assert outcome.failure() == Failure("TIMEOUT", "no result after 0.05 s")
        assert call(caller, "double", 1).value() == 2
        go.set()
    assert len(outcome.reports) == 1


def test_time_in_the_queue_does_not_count(time_: Time) -> None:
    """The time-out counts from when the function begins."""
    go = threading.Event()

    def work() -> None:
        time_.passes(40, caller.clock)

    with Caller([python(lambda: go.wait(LONG), "block"), python(work, timeout=60)], jobs=1) as caller:
        call(caller, "block")
        outcomes = [call(caller) for _ in range(6)]
        time_.passes(100, caller.clock)
        go.set()
        assert [one.wait() for one in outcomes] == [(None, None, 1)] * 6


def test_retries_until_it_works() -> None:
    """A failed attempt is repeated as often as the policy says, and the number of attempts is told."""
    attempts = list[int]()

    def work() -> str:
        attempts.append(1)
        if len(attempts) < 3:
            raise ValueError("not yet")
        return "now"

    with Caller([python(work, retries=5, backoff=0.001)]) as caller:
        assert call(caller).wait() == ("now", None, 3)


def test_retries_end() -> None:
    """When all attempts have failed, the last failure is reported."""
    with Caller([python(fail, retries=2, backoff=0.001)]) as caller:
        failure = call(caller, "s", "never").failure()
    assert (failure.kind, failure.text, failure.attempts) == ("FAILED", "ValueError: never", 3)


def test_pauses_double_up_to_a_limit() -> None:
    """The pause before a retry doubles each time and stays at its limit."""
    times = list[float]()

    def work() -> None:
        times.append(time.monotonic())
        raise ValueError

    with Caller([python(work, retries=4, backoff=0.02, max_backoff=0.08)]) as caller:
        call(caller).failure()
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert all(pause >= least for pause, least in zip(pauses, (0.02, 0.04, 0.08, 0.08), strict=True))


def test_a_time_out_is_retried(time_: Time) -> None:
    """An attempt that took too long is repeated."""
    go, attempts = threading.Event(), list[int]()

    def work() -> int:
        attempts.append(1)
        if len(attempts) == 1:
            go.wait(LONG)
        return len(attempts)

    with Caller([python(work, timeout=60, retries=1, backoff=0.0)]) as caller:
        outcome = call(caller)
        wait_until(lambda: attempts)
        time_.passes(61, caller.clock)
        assert outcome.wait() == (2, None, 2)
        go.set()


def test_signs_of_life_keep_a_call_alive(time_: Time) -> None:
    """A function that gives signs of life may take longer than the time between two of them."""

    def work() -> str:
        for _ in range(4):
            time_.passes(40, caller.clock)
            heartbeat()
        return "done"

    with Caller([python(work, heartbeat=60)]) as caller:
        assert call(caller).value() == "done"


def test_silence_is_a_time_out() -> None:
    """A function that gives no sign of life for too long is given up."""
    go = threading.Event()
    with Caller([python(lambda: go.wait(LONG), heartbeat=0.05)]) as caller:
        assert call(caller).failure() == Failure("TIMEOUT", "no heartbeat for 0.05 s")
        go.set()


def test_cancelling_ends_a_pause() -> None:
    """A call that pauses before a retry is cancelled at once."""
    with Caller([python(fail, retries=5, backoff=LONG)]) as caller:
        outcome, handle = start(caller, "s", "x")
        wait_until(lambda: caller.clock._heap)
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"


@pytest.mark.parametrize("limits", [{"concurrency": 1}, {"rate": 50.0}, {"concurrency": 2, "rate": 100.0}])
def test_limits_keep_the_order(limits: dict[str, float]) -> None:
    """Calls that wait for their turn begin in the order in which they came."""
    begun = list[int]()
    with Caller([python(begun.append, **limits)], jobs=1) as caller:
        for number in range(10):
            call(caller, "s", number)
    assert begun == list(range(10))
