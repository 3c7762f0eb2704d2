"""Limits of number and pace."""

from __future__ import annotations

import threading
import time

from solvent.services import Caller
from solvent.services.admission import Gates
from tests.unit.services.functions import fail
from tests.unit.services.outcomes import LONG, Time, call, python, start, wait_until


def test_not_more_at_once_than_allowed() -> None:
    """Of a service with a limit, no more calls run at the same time, but that many do."""
    lock, inside, most = threading.Lock(), list[int](), list[int]()
    three = threading.Barrier(3, timeout=LONG)

    def work() -> None:
        with lock:
            inside.append(1)
            most.append(len(inside))
        three.wait()
        time.sleep(0.01)
        with lock:
            inside.pop()

    with Caller([python(work, concurrency=3)], jobs=16) as caller:
        for one in [call(caller) for _ in range(42)]:
            one.value()
    assert max(most) == 3


def test_a_limit_of_one_service_is_not_one_of_another() -> None:
    """While calls of one service wait for their turn, those of another run."""
    go = threading.Event()
    services = [python(lambda: go.wait(LONG), "slow", concurrency=1), python(lambda: "quick", concurrency=1)]
    with Caller(services, jobs=4) as caller:
        slow = [call(caller, "slow") for _ in range(20)]
        assert call(caller).value() == "quick"
        go.set()
        assert [one.value() for one in slow] == [True] * 20


def test_the_pace_is_kept(time_: Time) -> None:
    """Calls of a service with a rate begin that far apart, retries among them."""
    begun = list[int]()

    def work() -> None:
        begun.append(1)
        raise ValueError

    with Caller([python(work, rate=1 / 100, retries=1, backoff=0.0)], jobs=8) as caller:
        outcomes = [call(caller) for _ in range(5)]
        for number in range(1, 10):
            wait_until(lambda number=number: len(begun) >= number)
            time_.passes(60, caller.clock)
            assert len(begun) == number
            time_.passes(60, caller.clock)
        for one in outcomes:
            one.failure()
    assert len(begun) == 10


def test_cancelled_calls_leave_the_queue() -> None:
    """A call that is cancelled while it waits for its turn never begins, and those behind it do."""
    go, ran = threading.Event(), list[str]()

    def work(name: str) -> None:
        ran.append(name)
        go.wait(LONG)

    with Caller([python(work, concurrency=1)], jobs=4) as caller:
        call(caller, "s", "first")
        outcome, handle = start(caller, "s", "second")
        third = call(caller, "s", "third")
        wait_until(lambda: ran == ["first"])
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"
        go.set()
        third.value()
    assert ran == ["first", "third"]


def test_a_given_up_call_makes_room() -> None:
    """A call that took too long no longer counts, although its function may go on."""
    go = threading.Event()
    with Caller([python(lambda: go.wait(LONG), concurrency=1, timeout=0.05)], jobs=2) as caller:
        kinds = [one.failure().kind for one in [call(caller), call(caller)]]
        go.set()
    assert kinds == ["TIMEOUT", "TIMEOUT"]


def test_thousands_that_fail_at_once_need_no_stack() -> None:
    """Calls that end while they are let in do not pile up on each other."""
    with Caller([python(fail, concurrency=1)], jobs=1) as caller:
        caller.threads.refusal = "no thread to be had"
        outcomes = [call(caller, "s", "x") for _ in range(5_000)]
        assert {one.failure().text for one in outcomes} == {"no thread to be had"}
        caller.threads.refusal = None


def test_callers_that_share_gates_share_limits() -> None:
    """Calls of another caller wait for their turn, too, also if that one was closed meanwhile."""
    go, gates, begun = threading.Event(), Gates(), list[int]()

    def work(number: int) -> int:
        begun.append(number)
        go.wait(LONG)
        return number

    services = [python(work, concurrency=1)]
    with Caller(services, jobs=4, gates=gates) as one, Caller(services, jobs=4, gates=gates) as other:
        first = call(one, "s", 1)
        wait_until(lambda: begun == [1])
        second, third = start(other, "s", 2), call(one, "s", 3)
        second[1].cancel()
        assert begun == [1]
        go.set()
        assert [first.value(), third.value()] == [1, 3]
    assert begun == [1, 3]
    gates.close()
