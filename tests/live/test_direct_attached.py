"""Direct hosts that an asyncio event loop works, and that talk to hosts whose threads wait."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import Misuse
from solvent.net import Codec, Identity
from solvent.net.direct import DirectHost
from solvent.protocols.machine import NodeId, Report, SetTimer, TimerFired
from tests.live.direct_nodes import A, B, Ears, Say, Talk, Talker, Word
from tests.live.networks import until
from tests.loop import in_loop
from tests.unit.net.scripted import Scripted

if TYPE_CHECKING:
    from collections.abc import Iterator

WORDS = 300


class Attached:
    """A node in the running loop, and what it hears."""

    def __init__(self, node: NodeId, places: dict[NodeId, Any], machine: Any = None) -> None:
        self.ears = Ears()
        self.ends = list[BaseException | None]()
        self.host = DirectHost[Any](
            machine or Talker(),
            Identity(node, "talk", "test", b"of the tests"),
            Codec(Word),
            listen=("127.0.0.1", 0),
            application=self.ears,
            find=places.get,
            on_end=self.ends.append,
        )
        self.host.attach(asyncio.get_running_loop())
        places[node] = self.host.address


@contextmanager
def attached(node: NodeId, places: dict[NodeId, Any], machine: Any = None) -> Iterator[Attached]:
    """Have a node in the running loop until the block ends."""
    one = Attached(node, places, machine)
    try:
        yield one
    finally:
        one.host.close()


@contextmanager
def threaded(node: NodeId, places: dict[NodeId, Any]) -> Iterator[Talk]:
    """Have a node whose threads work until the block ends."""
    talk = Talk(node, places)
    try:
        yield talk
    finally:
        talk.close()


@pytest.mark.parametrize("seed", range(3))
@in_loop
async def test_words_arrive_once_and_in_order_however_often_lines_break(seed: int) -> None:
    """Between a loop and threads, both ways."""
    chance = random.Random(seed)
    places: dict[NodeId, Any] = {}
    with attached(A, places) as a, threaded(B, places) as b:
        a.host.start()
        for number in range(WORDS):
            a.host.request(Say(B, number, letters=chance.choice((0, 10, 5000))))
            b.say(A, number)
            line = b.line_to(A)
            if line is not None and chance.random() < 0.05:
                with suppress(OSError):
                    line.shutdown(socket.SHUT_RDWR)
            if chance.random() < 0.3:
                await asyncio.sleep(0)
        await until(lambda: len(a.ears.heard) >= WORDS and len(b.ears.heard) >= WORDS)
        assert a.ears.numbers(B) == b.ears.numbers(A) == list(range(WORDS))


@in_loop
async def test_words_wait_for_a_machine_that_has_not_begun() -> None:
    """Others find the node, and are heard when it begins."""
    places: dict[NodeId, Any] = {}
    with attached(A, places) as a, threaded(B, places) as b:
        b.say(A, 0, 3, wants_echo=True)
        await until(lambda: B in a.host._board.known)
        assert a.ears.heard == []
        a.host.start()
        await until(lambda: len(b.ears.heard) == 3)
        assert a.ears.numbers(B) == [0, 1, 2]


@in_loop
async def test_timers_run_out_in_the_loop() -> None:
    """In its thread, as all that is told."""
    machine = Scripted(lambda what: {"go": (SetTimer("a", 20),), TimerFired("a"): (Report("a"),)}.get(what, ()))
    with attached(A, {}, machine) as a:
        threads = set[int]()
        a.ears.told = lambda _: threads.add(threading.get_ident())  # type: ignore[assignment,method-assign]
        a.host.start()
        a.host.request("go")
        await until(lambda: bool(threads))
        assert threads == {threading.get_ident()}


@in_loop
async def test_what_goes_wrong_ends_the_host_and_is_told_once() -> None:
    """Whoever wants something afterwards gets it."""

    class Mistake(Exception):
        pass

    def fail(what: Any) -> Any:
        raise Mistake(what)

    with attached(A, {}, Scripted(fail)) as a:
        a.host.start()
        a.host.request("go")
        assert [type(end) for end in a.ends] == [Mistake]
        with pytest.raises(Mistake):
            a.host.request("go")
    assert len(a.ends) == 1


@in_loop
async def test_a_closed_host_leaves_nothing_in_the_loop() -> None:
    """And is wanted nothing of any more."""
    with attached(A, {}) as a:
        a.host.start()
        number = a.host._board.poll.fileno()
    assert a.ends == [None]
    assert not asyncio.get_running_loop().remove_reader(number)
    with pytest.raises(Misuse, match="closed"):
        a.host.request("go")
