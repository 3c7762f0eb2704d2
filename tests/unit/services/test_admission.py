"""When calls may begin: limits of concurrency and rate, and resources that calls claim."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from solvent.services import Caller, heartbeat
from solvent.services.admission import CallLimits, ClaimQueue
from solvent.services.current_call import CURRENT, begun, sealed
from solvent.workflows.model import Claim
from tests.unit.services.functions import fail
from tests.unit.services.outcomes import LONG, Outcome, Time, call, python, start, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.workflows.model import Service


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


def test_callers_share_limits() -> None:
    """Calls of another caller wait for their turn, too, also if that one was closed meanwhile."""
    go, limits, begun = threading.Event(), CallLimits(), list[int]()

    def work(number: int) -> int:
        begun.append(number)
        go.wait(LONG)
        return number

    services = [python(work, concurrency=1)]
    with Caller(services, jobs=4, limits=limits) as one, Caller(services, jobs=4, limits=limits) as other:
        first = call(one, "s", 1)
        wait_until(lambda: begun == [1])
        second, third = start(other, "s", 2), call(one, "s", 3)
        second[1].cancel()
        assert begun == [1]
        go.set()
        assert [first.value(), third.value()] == [1, 3]
    assert begun == [1, 3]
    limits.close()


WRITE, READ, LOW, HIGH = Claim("g"), Claim("g", "read"), Claim("g", "write", 0, 5), Claim("g", "write", 5)
OTHER = Claim("h")


class One:
    """Somebody who waits for a turn."""

    def __init__(self, *claims: Claim) -> None:
        self.claims = claims
        self.over = False
        self.is_in = False

    def proceed(self) -> None:
        """Take the turn."""
        self.is_in = True


def entered(*several: One) -> tuple[ClaimQueue, list[bool]]:
    """Let all enter, in order, and tell who is in."""
    turns = ClaimQueue()
    for one in several:
        turns.enter(one)
    return turns, [one.is_in for one in several]


@pytest.mark.parametrize(
    "claims, who",
    [
        ([(WRITE,), (WRITE,), (OTHER,)], [True, False, True]),
        ([(READ,), (READ,), (WRITE,), (READ,)], [True, True, False, False]),
        ([(LOW,), (HIGH,), (LOW,), (WRITE,)], [True, True, False, False]),
        ([(WRITE,), (WRITE, OTHER), (OTHER,)], [True, False, False]),
        ([(), (WRITE,), ()], [True, True, True]),
    ],
)
def test_who_goes_in_at_once(claims: list[tuple[Claim, ...]], who: list[bool]) -> None:
    """Those go in whom nobody before them is in the way of, whether inside or waiting."""
    assert entered(*(One(*some) for some in claims))[1] == who


class Lender:
    """Lends nothing but the names of resources."""

    services = ("f",)

    def __init__(self) -> None:
        self.is_there = threading.Event()
        self.is_there.set()
        self.kept = list[bool]()

    def lent(self, _name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wait for what is claimed, call the function, and ask whether its outcome counts."""

        def call(*arguments: Any) -> Any:
            self.is_there.wait(LONG)
            begun()
            value = function(*arguments)
            self.kept.append(sealed())
            return value

        return call

    lent_awaited: Any = None

    @contextmanager
    def paths(self, arguments: list[Any], keywords: dict[str, Any]) -> Iterator[Any]:
        """Lend no files."""
        raise NotImplementedError
        yield arguments, keywords


def started(caller: Caller, *arguments: Any) -> tuple[Outcome, Any]:
    """Start a call of the service with resources."""
    outcome = Outcome()
    return outcome, caller.start("f", "T", list(arguments), {}, outcome)


def service(function: Callable[..., Any], **policy: Any) -> Service:
    """Make the service that may have resources."""
    return python(function, "f", **policy)


def test_calls_that_claim_the_same_do_not_run_together() -> None:
    """Of calls that write a resource one runs at a time, and other calls of the same service run beside it."""
    inside, most, both = list[int](), list[int](), threading.Barrier(2, timeout=LONG)

    def work(claim: Any) -> None:
        if claim is None:
            both.wait()
            return
        inside.append(1)
        most.append(len(inside))
        if not both.broken and len(most) == 1:
            both.wait()
        inside.pop()

    with Caller([service(work)], jobs=8, lender=Lender()) as caller:
        for outcome, _ in [started(caller, claim) for claim in (WRITE, WRITE, None, WRITE)]:
            outcome.value()
    assert max(most) == 1


def test_waiting_for_a_resource_is_no_time_of_the_service(time_: Time) -> None:
    """A time-out counts from when the call has what it claims."""
    lender, go = Lender(), threading.Event()
    lender.is_there.clear()
    with Caller([service(lambda _: go.wait(LONG), timeout=10)], jobs=2, lender=lender) as caller:
        outcome, _ = started(caller, WRITE)
        time_.passes(1000, caller.clock)
        assert not outcome.reports
        lender.is_there.set()
        wait_until(lambda: (time_.passes(11, caller.clock), bool(outcome.reports))[1])
        assert outcome.failure().kind == "TIMEOUT"
        go.set()
        wait_until(lambda: lender.kept == [False])


def test_a_cancelled_call_gives_its_place_up() -> None:
    """Who waits behind a call that is cancelled while it waits gets in when it may."""
    go = threading.Event()
    with Caller(
        [service(lambda claim: claim.mode == "read" or go.wait(LONG), concurrency=3)], lender=Lender()
    ) as caller:
        (first, _), (second, handle), (third, _) = (started(caller, claim) for claim in (WRITE, WRITE, READ))
        handle.cancel()
        assert second.failure().kind == "CANCELLED"
        go.set()
        assert (first.value(), third.value()) == (True, True)


def test_what_is_sealed_cannot_be_cancelled() -> None:
    """A call whose outcome counts is done, whoever cancels it then."""
    lender, is_sealed, go = Lender(), threading.Event(), threading.Event()

    class Slow(list[bool]):
        def append(self, one: bool) -> None:  # noqa: FBT001 -- it takes the place of a list
            super().append(one)
            is_sealed.set()
            go.wait(LONG)

    lender.kept = Slow()
    with Caller([service(lambda _: heartbeat() or 3, timeout=1000)], lender=lender) as caller:
        outcome, handle = started(caller, WRITE)
        assert is_sealed.wait(LONG)
        handle.cancel()
        go.set()
        assert outcome.value() == 3


def test_what_is_lost_after_it_was_sealed_may_have_happened() -> None:
    """If whoever runs a call is gone when its outcome was to count, the failure says that it may have handed on."""

    def work(_: Any) -> None:
        assert sealed()
        job: Any = CURRENT.get()
        job.fail("LOST", "gone")

    with Caller([service(work)], lender=Lender()) as caller:
        outcome, _ = started(caller, WRITE)
        assert outcome.failure().text == "gone; it may have handed on what it had changed"
