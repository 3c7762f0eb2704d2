"""Which calls of a run an agent makes now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pytest

from solvent.lang.molecule import List, Symbol
from solvent.runs import call_queue as module
from solvent.runs.call_queue import AHEAD_SECONDS, CallQueue
from solvent.runs.calls import OpenCall
from solvent.runs.functions import Request
from solvent.services import Caller
from solvent.workflows.model import Policy, Service

if TYPE_CHECKING:
    from collections.abc import Iterator

JOBS = 3
OFFERED: WeakKeyDictionary[CallQueue, tuple[Caller, dict[str, Service]]] = WeakKeyDictionary()
"""Who makes the calls of each queue, and of which services."""


def quick() -> None:
    """Do nothing."""


async def awaited() -> None:
    """Do nothing, in the loop."""


class At:
    """An execution, as far as calls look at it."""

    within, inside = "", None

    def __init__(self, calls: CallQueue, refuses: frozenset[str] = frozenset()) -> None:
        self.root = self
        self.caller, self.services = OFFERED[calls]
        self.is_leaving = False
        self.admitted: list[Any] = []
        self._refuses = refuses

    def admit(self, call: Any) -> bool:
        """Take a call."""
        if call.task in self._refuses:
            return False
        self.admitted.append(call)
        return True


class Clock:
    """A clock that a test moves: on a busy machine nothing is sure to take a short time."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        """Give the time."""
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Let time stand still, unless a test moves it."""
    found = Clock()
    monkeypatch.setattr(module, "time", found)
    return found


@pytest.fixture
def calls(clock: Clock) -> Iterator[CallQueue]:
    """Give calls of services with and without limits."""
    services = (
        Service("quick", function=quick),
        Service("awaited", function=awaited),
        Service("narrow", function=awaited, policy=Policy(concurrency=2)),
        Service("paced", function=awaited, policy=Policy(rate=4.0)),
        Service("single", function=quick, policy=Policy(concurrency=1)),
        Service("slow", function=quick, policy=Policy(rate=1.0)),
    )
    with Caller(services, jobs=JOBS) as caller:
        queue = CallQueue(caller)
        OFFERED[queue] = caller, {one.name: one for one in services}
        yield queue


def given(calls: CallQueue, service: str, count: int, at: Any = None) -> Any:
    """Let calls wait, and give what has them."""
    at = at or At(calls)
    for number in range(count):
        flight: Any = None
        request = Request(Symbol("T"), service, None, List(()))
        calls.wait(OpenCall(at, flight, request, f"{service}{number}"))
    return at


def test_many_short_calls_are_made_ahead(calls: CallQueue) -> None:
    """When calls were seen to end at once, more are noted than there are threads."""
    at = given(calls, "quick", 100)
    calls.admit()
    calls.go()
    for call in list(at.admitted):
        calls.end(call, is_done=True)
    calls.admit()
    assert len(at.admitted) > 3 * JOBS


def test_calls_that_take_long_are_not_made_ahead(calls: CallQueue, clock: Clock) -> None:
    """As many are noted as threads."""
    at = given(calls, "quick", 100)
    calls.admit()
    calls.go()
    clock.now += 8 * AHEAD_SECONDS * JOBS
    for call in list(at.admitted):
        calls.end(call, is_done=True)
    calls.admit()
    assert len(at.admitted) == 2 * JOBS


def test_services_take_turns(calls: CallQueue) -> None:
    """Many calls of one service do not keep another's waiting."""
    first = given(calls, "quick", 50)
    other = given(calls, "awaited", 1)
    assert calls.admit() == {first, other}


def test_calls_of_places_that_are_left_come_last(calls: CallQueue) -> None:
    """They are made only when there are no others."""
    left = given(calls, "quick", 2)
    left.is_leaving = True
    kept = given(calls, "quick", JOBS)
    assert calls.admit() == {kept}
    for call in kept.admitted:
        calls.end(call, is_done=False)
    assert calls.admit() == {left}


def test_calls_of_a_shard_that_is_kept_after_all_come_in_their_turn(calls: CallQueue) -> None:
    """They were put off while it was to be left, and are made before those that came later."""
    kept = given(calls, "quick", JOBS)
    calls.admit()
    left = given(calls, "quick", 2)
    left.is_leaving = True
    for call in kept.admitted:
        calls.end(call, is_done=False)
    later = given(calls, "quick", JOBS)
    assert calls.admit() == {later}
    left.is_leaving = False
    given(calls, "quick", JOBS, later)
    for call in later.admitted[:2]:
        calls.end(call, is_done=False)
    assert calls.admit() == {left}
    assert [call.task for call in left.admitted] == ["quick0", "quick1"]
    assert calls.waiting == JOBS


def test_a_call_that_is_not_made_takes_no_room(calls: CallQueue) -> None:
    """It was cancelled, or its shard is gone."""
    at = given(calls, "quick", 10, At(calls, frozenset({"quick0", "quick1"})))
    calls.admit()
    assert len(at.admitted) == JOBS


@pytest.mark.parametrize("service", ["single", "slow"])
def test_calls_that_wait_for_their_own_limits_take_no_room(calls: CallQueue, service: str) -> None:
    """Though many calls of a limited service are ready, as many of another are made as there are threads."""
    limited = given(calls, service, 20)
    calls.admit()
    other = given(calls, "quick", 20)
    calls.admit()
    assert 1 <= len(limited.admitted) <= JOBS + 2
    assert len(other.admitted) == JOBS
