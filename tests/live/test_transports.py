"""The same machines within a process, over TCP, over TCP with TLS, and over NATS."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.protocols.link import Linked, wire_type
from solvent.protocols.machine import Effects, Event, Message, NodeId, Received, Requested, Send
from solvent_lab.models.talker import Say, Talker, TalkMessage
from tests.live.networks import ARMS, running, until
from tests.loop import in_loop


class Ping(Message, frozen=True, gc=False):
    """To be echoed."""

    number: int


class Pong(Message, frozen=True, gc=False):
    """The echo."""

    number: int


class Echo:
    """Echoes every ping; keeps the numbers of the echoes it gets, in order."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[tuple[int, ...], Effects]:
        """Begin with nothing."""
        del saved, life
        return (), ()

    def step(self, state: tuple[int, ...], event: Event) -> tuple[tuple[int, ...], Effects]:
        """Answer."""
        match event:
            case Received(sender, Ping(number)):
                return state, (Send(sender, Pong(number)),)
            case Received(_, Pong(number)):
                return (*state, number), ()
            case Requested((to, numbers)):
                return state, tuple(Send(to, Ping(number)) for number in numbers)
            case _:
                return state, ()


@pytest.mark.parametrize("arm", ARMS)
@in_loop
async def test_echoes_come_back_in_order(arm: str) -> None:
    """Pings to another node, and to oneself, come back in the order sent."""
    async with running(arm, [Echo(), Echo()], Ping | Pong) as hosts:
        for to in (1, 0):
            hosts[0].request((NodeId(to), range(to * 1000, to * 1000 + 500)))
        await until(lambda: len(hosts[0].state) == 1000)
        assert sorted(hosts[0].state[:]) == [*range(500), *range(1000, 1500)]
        assert [number for number in hosts[0].state if number >= 1000] == list(range(1000, 1500))


@pytest.mark.parametrize("arm", ARMS)
@in_loop
async def test_linked_talkers_understand_each_other(arm: str) -> None:
    """Everything said through a link is heard, and everybody is told that it was taken."""
    nodes = tuple(NodeId(number) for number in range(3))
    machines = [Linked(Talker(echoes=True), me=me, peers=nodes, tells_all_taken=True) for me in nodes]
    async with running(arm, machines, wire_type(TalkMessage)) as hosts:
        for host in hosts:
            for number in range(300):
                host.request(Say(NodeId(number % 3), is_cheap=number % 10 == 0))
        await until(lambda: all(_has_heard_all(host.state.inner) for host in hosts))
        await until(lambda: all(host.state.inner.is_all_taken for host in hosts))
        assert all(host.state.unacknowledged == 0 for host in hosts)


def _has_heard_all(state: Any) -> bool:
    # 90 counted words to each, and the echoes of 90.
    return len(state.listening) == 3 and all(listening.heard == 180 for listening in state.listening.values())
