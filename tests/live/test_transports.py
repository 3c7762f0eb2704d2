"""The same machines within a process, over TCP, over TCP with TLS, and over NATS."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.protocols.link import Linked, wire_type
from solvent.protocols.machine import NodeId
from solvent_lab.models.talker import Say, Talker, TalkMessage
from tests.live.networks import ARMS, running, until
from tests.loop import in_loop


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
