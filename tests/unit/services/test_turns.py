"""Whose turn it is with resources."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from solvent.services import Caller, heartbeat
from solvent.services.admission import Turns
from solvent.services.current_call import CURRENT, begun, sealed
from solvent.workflows.model import Claim
from tests.unit.services.outcomes import LONG, Outcome, Time, python, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.workflows.model import Service

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


def entered(*several: One) -> tuple[Turns, list[bool]]:
    """Let all enter, in order, and tell who is in."""
    turns = Turns()
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


def test_one_after_the_other() -> None:
    """Whoever leaves lets in those who waited, first come first."""
    several = [One(WRITE) for _ in range(3)]
    turns, _ = entered(*several)
    turns.leave(several[0])
    assert [one.is_in for one in several] == [True, True, False]
    turns.leave(several[1])
    assert several[2].is_in


def test_who_no_longer_wants_to_is_in_nobodys_way() -> None:
    """A cancelled one goes in at once, to leave, and those behind it have its place."""
    reader, writer, behind = One(READ), One(WRITE), One(READ)
    turns, _ = entered(reader, writer, behind)
    writer.over = True
    turns.admit()
    assert writer.is_in
    turns.leave(writer)
    assert behind.is_in


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
