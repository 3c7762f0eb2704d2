"""Worker threads: the short path of Python functions without a policy."""

from __future__ import annotations

import os
import re
import threading
import warnings
from typing import TYPE_CHECKING

import pytest

from solvent.services import Caller, Failure, cancelled
from solvent.services.threads import ThreadJob, Threads
from tests.unit.services.functions import double, fail, interrupt, leave
from tests.unit.services.outcomes import LONG, call, python, start, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_raised_exception_is_a_failure() -> None:
    """What a function raises becomes a failure that names exception and place."""
    with Caller([python(fail)]) as caller:
        failure = call(caller, "s", "no such column\nat all").failure()
    assert (failure.kind, failure.text) == ("FAILED", "ValueError: no such column at all")
    assert failure.output.startswith('  File "')
    assert re.search(r"in fail\n    raise ValueError.*\nValueError", failure.output)


@pytest.mark.parametrize("function", [leave, interrupt])
def test_an_exit_fails_the_call_only(function: Callable[[], None]) -> None:
    """`sys.exit` and an interrupt in a function fail the call, and the worker goes on."""
    with Caller([python(function), python(double, "double")], jobs=1) as caller:
        assert call(caller).failure().kind == "FAILED"
        assert call(caller, "double", 1).value() == 2


def test_as_many_threads_as_needed() -> None:
    """Calls that wait for each other all run at once, up to the number of jobs."""
    barrier = threading.Barrier(4, timeout=LONG)
    with Caller([python(barrier.wait)], jobs=4) as caller:
        assert sorted(one.value() for one in [call(caller) for _ in range(4)]) == [0, 1, 2, 3]


def test_not_more_threads_than_jobs() -> None:
    """There are never more calls running than jobs, and calls that follow each other share a thread."""
    seen = set[int]()
    with Caller([python(lambda: seen.add(threading.get_ident()))], jobs=2) as caller:
        for one in [call(caller) for _ in range(50)]:
            one.value()
    assert 1 <= len(seen) <= 2


def test_a_waiting_thread_is_used_again() -> None:
    """A call that comes when a thread waits starts no other."""
    threads = set[int]()
    with Caller([python(lambda: threads.add(threading.get_ident()))], jobs=8) as caller:
        for _ in range(20):
            call(caller).value()
            wait_until(lambda: len(caller.threads._idle) >= len(threads))
    assert len(threads) == 1


def test_a_call_that_waits_can_be_cancelled() -> None:
    """A cancelled call that has not begun never begins."""
    go, ran = threading.Event(), list[int]()
    with Caller([python(go.wait, "block"), python(ran.append)], jobs=1) as caller:
        call(caller, "block", LONG)
        outcome, handle = start(caller, "s", 1)
        handle.cancel()
        assert outcome.failure() == Failure("CANCELLED", "cancelled", attempts=0)
        go.set()
    assert ran == []


def test_a_running_function_learns_that_it_is_cancelled() -> None:
    """Cancelling reports at once, the function sees `cancelled()`, and another thread takes its place."""
    running, seen = threading.Event(), threading.Event()

    def work() -> str:
        running.set()
        wait_until(cancelled)
        seen.set()
        return "too late"

    with Caller([python(work), python(double, "double")], jobs=1) as caller:
        outcome, handle = start(caller)
        assert running.wait(LONG)
        handle.cancel()
        handle.cancel()
        assert outcome.failure().kind == "CANCELLED"
        assert call(caller, "double", 1).value() == 2
        assert seen.wait(LONG)
    assert len(outcome.reports) == 1


@pytest.mark.parametrize("policy", [{}, {"retries": 5}])
def test_a_function_that_ends_because_it_is_cancelled_is_too_late(
    policy: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a function does when it sees that it is cancelled changes nothing, even if it is quicker than the caller."""
    running = threading.Event()

    def work() -> None:
        running.set()
        wait_until(cancelled)
        raise ValueError("too late")

    with Caller([python(work, **policy)], jobs=1) as caller:
        give_up = caller.threads.give_up

        def give_up_slowly(job: ThreadJob) -> None:
            wait_until(lambda: job.seat.job is None)
            give_up(job)

        monkeypatch.setattr(caller.threads, "give_up", give_up_slowly)
        outcome, handle = start(caller)
        assert running.wait(LONG)
        handle.cancel()
        assert outcome.failure() == Failure("CANCELLED", "cancelled", attempts=1)
    assert len(outcome.reports) == 1


def test_cancelling_what_is_done_does_nothing() -> None:
    """A call that is done stays done."""
    with Caller([python(double)]) as caller:
        outcome, handle = start(caller, "s", 1)
        outcome.wait()
        handle.cancel()
    assert outcome.reports == [(2, None, 1)]


def test_a_faulty_callback_does_not_end_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """An exception of `done` is reported as threads do, and the next call is served."""
    reported = list[str]()
    monkeypatch.setattr(threading, "excepthook", lambda seen: reported.append(str(seen.exc_value)))

    def faulty(*_: object) -> None:
        raise ValueError("fault of the callback")

    with Caller([python(double)], jobs=1) as caller:
        caller.start("s", "T1", [1], {}, faulty)
        assert call(caller, "s", 1).value() == 2
    assert reported == ["fault of the callback"]


def test_closing_waits_for_what_is_queued() -> None:
    """Closing returns when every call has its outcome."""
    with Caller([python(double)], jobs=2) as caller:
        outcomes = [call(caller, "s", number) for number in range(200)]
    assert [one.reports for one in outcomes] == [[(2 * number, None, 1)] for number in range(200)]


def test_closing_with_cancel_waits_for_nobody() -> None:
    """Closing with `cancel` cancels what is queued and what runs."""
    go, running = threading.Event(), threading.Event()

    def block() -> None:
        running.set()
        go.wait(LONG)

    caller = Caller([python(block)], jobs=1)
    outcomes = [call(caller) for _ in range(10)]
    assert running.wait(LONG)
    caller.close(cancel=True)
    assert {one.failure().kind for one in outcomes} == {"CANCELLED"}
    assert [len(one.reports) for one in outcomes] == [1] * 10
    go.set()


class OnItsWay(ThreadJob):
    """A job that comes to its seat only when the others have been cancelled."""

    __slots__ = ("_seat", "cancelled", "pool", "taken")

    def __init__(self, pool: Threads) -> None:
        self.pool = pool
        self.taken, self.cancelled = threading.Event(), threading.Event()
        super().__init__(self.cancelled.wait, [LONG], {})

    @property
    def seat(self) -> object:
        """Where it runs."""
        return self._seat

    @seat.setter
    def seat(self, seat: object) -> None:
        if seat is not None:
            self.taken.set()
            wait_until(lambda: self.pool.jobs == 0)
        self._seat = seat

    def settle(self, value: object, failure: Failure | None) -> None:
        """Take the outcome."""

    def cancel(self) -> None:
        """Give the job up."""
        self.cancelled.set()


def test_closing_with_cancel_misses_no_job() -> None:
    """A job that a thread has just taken from the queue when all are cancelled is cancelled too."""
    pool = Threads(1)
    job = OnItsWay(pool)
    pool.put(job)
    assert job.taken.wait(LONG)
    pool.close(cancel=True)
    assert job.cancelled.is_set()


def test_hanging_functions_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """When too many functions that were given up hold threads, calls fail and say so; later they work again."""
    monkeypatch.setattr("solvent.services.threads.MAX_GIVEN_UP", 3)
    go, running = threading.Event(), list[int]()

    def block() -> None:
        running.append(1)
        go.wait(LONG)

    with Caller([python(block, "block"), python(double)], jobs=1) as caller:
        for number in range(1, 5):
            outcome, handle = start(caller, "block")
            wait_until(lambda number=number: len(running) == number)
            handle.cancel()
            outcome.failure()
        assert call(caller, "s", 1).failure().text == "4 functions that were given up still hold their threads"
        go.set()
        wait_until(lambda: caller.threads.refusal is None)
        assert call(caller, "s", 1).value() == 2


def test_what_a_service_forks_ends_where_the_service_does() -> None:
    """A child that returns from the service, or raises, ends there, and reports nothing."""
    with Caller([python(fork)], jobs=1) as caller:
        outcomes = [call(caller, "s", is_good) for is_good in (True, False)]
        for child in [one.value() for one in outcomes]:
            wait_until(lambda child=child: os.waitpid(child, os.WNOHANG)[0] == child)
        assert [len(one.reports) for one in outcomes] == [1, 1]


def fork(is_good: bool) -> int:  # noqa: FBT001 -- as services are called
    """Leave a copy of this process; give its number."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if not child and not is_good:
        raise ValueError("in the child")
    return child
