"""Attempts that agents make for each other, step by step: none is made twice by who may only have been stopped."""

from __future__ import annotations

import time
from contextlib import ExitStack
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.agents.remote_calls import AttemptUnmade, GuestEnded, RemoteCalls, _read
from solvent.runs.registry import calls_of
from solvent.runs.turns import Inbox
from solvent.services import Caller
from solvent.services.current_call import CallIdentity
from solvent.services.observer import CallSeen
from solvent.store.leases import Heartbeats
from solvent.workflows.model import Service, Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.runs.call_queue import Place
    from solvent.services import Failure
    from solvent.store import Store

RUN = "r"
SHARD = 0
MADE: list[int] = []


def make(number: int) -> int:
    """Note that it is made."""
    MADE.append(number)
    return number


async def hang(number: int) -> int:
    """Note that it is made, and never end."""
    import asyncio

    MADE.append(number)
    await asyncio.Event().wait()
    return number


FLOW = Workflow("w", (), (Service("make", function=make), Service("hang", function=hang)))


class Side:
    """One agent, as far as calls of others go: its thread is that of the test."""

    def __init__(self, store: Store, name: str, stack: ExitStack, observer: Any = None) -> None:
        self.came: Inbox[Any] = Inbox()
        self.may_act = True
        self.store = store
        self.read = 0
        self.remote = RemoteCalls(store, RUN, name, token=f"{name}-1", heartbeats=Heartbeats(store), put=self.came.put)
        self.caller = Caller(FLOW.services, jobs=1, may_begin=lambda: self.may_act, observer=observer)
        stack.callback(self.caller.close, cancel=True)
        self.asked: list[Any] = []
        stack.callback(lambda: [one.detach() for one in self.asked])
        self.remote.open(self.caller, FLOW.services, frozenset())

    def turn(self, *, may_ask: bool = True) -> None:
        """Take what has come, read what was said, and say what is to be said."""
        while not self.came.empty():
            item = self.came.get()
            if isinstance(item, GuestEnded):
                item.guest.owner.end(item)
        found = self.store.read(calls_of(RUN), self.read)
        self.remote.hear(found)
        self.read = found[-1].position if found else self.read
        self.remote.flush(may_ask=may_ask)

    def lapse(self) -> None:
        """See that others may have presumed this agent dead, as agents do before all else."""
        self.remote.after_lapse()
        self.may_act = True


class Call:
    """A call of a shard, as far as the messages about it look at it."""

    def __init__(self, side: Side, service: str = "make", key: str = "T") -> None:
        self.key, self.handle = key, None
        self.execution = SimpleNamespace(mailbox=SimpleNamespace(shard=SHARD), calls=SimpleNamespace(out={self: None}))
        self.request, self.instance = SimpleNamespace(service=service), SimpleNamespace(inside=None)
        self.outcomes: list[tuple[Any, Failure | None]] = []
        self._side = side

    def begin(self, asked: Any) -> Any:
        """Make the call where it was asked for."""
        self._side.asked.append(asked)
        return self._side.caller.start(
            self.request.service, self.key, [1], {}, self._done, CallIdentity(RUN, self.key, self.key, False, 0.0),
            launch=asked.launch,
        )  # fmt: skip

    def _done(self, value: Any, failure: Failure | None, _attempts: int) -> None:
        self.outcomes.append((value, failure))

    def ask(self, place: Place) -> Any:
        """Have an attempt made elsewhere; return how it is known here."""
        asked = self._side.remote.ask(self, place)  # type: ignore[arg-type]  # as much of a call as is needed
        asked.number = 1
        self.begin(asked)
        return asked

    def adopt(self, agent: str) -> Any:
        """Wait for the attempt that was asked for before."""
        asked = self._side.remote.adopt(self, agent, 1)  # type: ignore[arg-type]
        if asked is not None:
            self.begin(asked)
        return asked


@pytest.fixture
def sides(store: Store) -> Iterator[tuple[Side, Side, Side]]:
    """Return an agent that has a shard, one that has it after that, and one that makes calls."""
    MADE.clear()
    with ExitStack() as stack:
        first, second, maker = (Side(store, name, stack) for name in ("first", "second", "maker"))
        first.remote.take_shard(SHARD, 1)
        yield first, second, maker


def place_of(side: Side, maker: Side) -> Place:
    """Let an agent know that another one has room; return where that is."""
    maker.remote.offer()
    maker.turn()
    side.turn()
    return side.remote._peers["maker"]


def until(is_so: Callable[[], Any]) -> None:
    """Wait until something is so."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.001)


def said(store: Store, kind: type) -> list[Any]:
    """Return what was said of one kind."""
    return [one for record in store.read(calls_of(RUN)) for one in _read(record) if isinstance(one, kind)]


def test_what_was_asked_of_one_that_looked_dead_is_not_begun_when_it_returns(
    sides: tuple[Side, Side, Side], store: Store
) -> None:
    """It was stopped before it read that it is asked; who asked makes the call itself, and has not yet said so."""
    first, _, maker = sides
    Call(first).ask(place_of(first, maker))
    maker.may_act = False
    first.turn()
    # Here `first` takes it for dead, notes that, and makes the call; its word that it is not wanted comes later.
    maker.lapse()
    maker.turn()
    first.turn()
    maker.turn()
    assert [one.is_released for one in said(store, AttemptUnmade)] == [False]
    assert MADE == []


def test_what_is_given_up_as_not_begun_never_begins(store: Store) -> None:
    """A thread is about to begin the service when the agent gives the attempt up."""
    MADE.clear()
    gives_up = list[Any]()

    class Late(CallSeen):
        def began(self) -> None:
            while gives_up:
                gives_up.pop()()

    observer = SimpleNamespace(call=lambda *_: Late())
    with ExitStack() as stack:
        first, maker = Side(store, "first", stack), Side(store, "maker", stack, observer)
        first.remote.take_shard(SHARD, 1)
        Call(first).ask(place_of(first, maker))
        gives_up.append(maker.remote.after_lapse)
        first.turn()
        maker.turn()
        until(lambda: not gives_up)
        until(lambda: not maker.caller._live)
        maker.turn()
        assert [one.is_released for one in said(store, AttemptUnmade)] == [False]
        assert MADE == []


def test_what_is_asked_for_a_shard_that_another_agent_has_is_not_made(sides: tuple[Side, Side, Side]) -> None:
    """An agent is stopped just before it asks; another takes its shard, and has the call made elsewhere."""
    first, second, maker = sides
    Call(first).ask(place_of(first, maker))
    second.remote.take_shard(SHARD, 2)
    assert Call(second).adopt("maker") is None
    first.turn()
    maker.turn()
    assert MADE == []
    assert said(maker.store, AttemptUnmade) == []


def test_what_was_asked_before_a_shard_moved_is_made_and_adopted(sides: tuple[Side, Side, Side]) -> None:
    """The attempt goes on though who asked is gone, and its answer reaches who has the shard."""
    first, second, maker = sides
    Call(first).ask(place_of(first, maker))
    first.turn()
    second.remote.take_shard(SHARD, 2)
    call = Call(second)
    assert call.adopt("maker") is not None
    maker.turn()
    until(lambda: not maker.came.empty())
    maker.turn()
    second.turn()
    assert call.outcomes == [(1, None)]
    assert MADE == [1]


def test_what_an_agent_before_has_called_off_is_made_again(sides: tuple[Side, Side, Side]) -> None:
    """Why it did so is in no journal: for who has the shard by now the attempt was lost, and not cancelled."""
    first, second, maker = sides
    before = Call(first, "hang")
    asked = before.ask(place_of(first, maker))
    first.turn()
    maker.turn()
    until(lambda: MADE)
    first.remote.call_off(asked)
    first.turn()
    second.remote.take_shard(SHARD, 2)
    call = Call(second, "hang")
    assert call.adopt("maker") is not None
    second.turn()
    maker.turn()
    until(lambda: not maker.came.empty())
    maker.turn()
    second.turn()
    assert call.outcomes in ([], [(None, None)])
    assert [(one.key, why) for one, why in second.remote.lost()] == [("T", "agent")]


def test_what_is_called_off_too_late_does_not_count(sides: tuple[Side, Side, Side]) -> None:
    """An agent that has lost the shard calls an attempt off, which another one waits for."""
    first, second, maker = sides
    asked = Call(first, "hang").ask(place_of(first, maker))
    first.turn()
    maker.turn()
    until(lambda: MADE)
    first.remote.call_off(asked)
    second.remote.take_shard(SHARD, 2)
    call = Call(second, "hang")
    assert call.adopt("maker") is not None
    second.turn()
    first.turn()
    maker.turn()
    assert [*maker.remote._guests] == [(SHARD, "T", 1)]
    # It is the same when nothing was said yet, and the shard is found to be lost.
    first.remote.call_off(asked)
    first.remote.forget(asked.call.execution)
    assert first.remote._said == []


def test_an_adopted_call_that_is_cancelled_at_once_ends(sides: tuple[Side, Side, Side]) -> None:
    """The attempt has an answer already, or gets one later: the call has ended as cancelled in either case."""
    first, second, maker = sides
    Call(first, "hang").ask(place_of(first, maker))
    first.turn()
    maker.turn()
    until(lambda: MADE)
    second.remote.take_shard(SHARD, 2)
    call = Call(second, "hang")
    asked = second.remote.adopt(call, "maker", 1)  # type: ignore[arg-type]
    assert asked is not None
    handle = call.begin(asked)
    handle.cancel()
    second.turn()
    maker.turn()
    until(lambda: not maker.came.empty())
    maker.turn()
    second.turn()
    [(_, failure)] = call.outcomes
    assert failure is not None
    assert failure.kind == "CANCELLED"
