"""What a host does when something is wrong, or there is too much of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from solvent.errors import Misuse
from solvent.net import Host, Hub, PeerFault
from solvent.protocols.machine import (
    Ask,
    NodeId,
    SetTimer,
)
from tests.loop import in_loop
from tests.unit.net.scripted import Counting, Listener, Scripted, table, until

A, B = NodeId(0), NodeId(1)


@pytest.mark.parametrize("is_awaited", [False, True])
@in_loop
async def test_a_fault_of_the_application_stops_the_node(is_awaited: bool) -> None:  # noqa: FBT001 - a parameter
    """Whoever waits for the node gets what the application raised."""

    async def fail_later() -> None:
        raise ValueError("no idea")

    def fail(_: Any) -> Any:
        if is_awaited:
            return fail_later()
        raise ValueError("no idea")

    host = Host(Scripted(table(go=(Ask("q"),))), Hub().transport(A), application=Listener(fail))
    await host.start()
    host.request("go")
    with pytest.raises(ValueError, match="no idea"):
        await host.wait()
    await host.stop()


@in_loop
async def test_a_broken_invariant_stops_the_node() -> None:
    """The check of a node's own state is made after every step."""

    def check(state: tuple[Any, ...]) -> None:
        assert "bad" not in state, "it went bad"

    host = Host(Scripted(), Hub().transport(A), check=check)
    await host.start()
    host.request("good")
    host.request("bad")
    with pytest.raises(AssertionError, match="it went bad"):
        await host.wait()
    await host.stop()


@in_loop
async def test_nobody_answers_without_an_application() -> None:
    """A question with nobody to answer it is a misuse, named by its kind."""
    host = Host(Scripted(first=(Ask("q"),)), Hub().transport(A))
    with pytest.raises(Misuse, match="nobody here can answer `str`"):
        await host.start()


def test_a_node_that_was_not_started_has_no_state() -> None:
    """Looking at it, or waiting for it, is a misuse."""
    host = Host(Scripted(), Hub().transport(A))
    with pytest.raises(Misuse, match="has not been started"):
        _ = host.state
    with pytest.raises(Misuse, match="has not been started"):
        asyncio.run(host.wait())


@in_loop
async def test_a_stopped_node_takes_no_more_events() -> None:
    """After its end nothing happens, whatever still arrives."""
    host = Host(Scripted(first=(SetTimer("t", 0),)), Hub().transport(A))
    waiting = asyncio.ensure_future(host.run())
    await until(lambda: host._is_running)
    await host.stop()
    host.request("late")
    host._on_fault(PeerFault("x", "y"))
    await asyncio.sleep(0)
    assert host.state == ((), 0)
    await waiting


@in_loop
async def test_a_full_inbox_pauses_the_network() -> None:
    """A node that is behind receives no more until it has caught up; nothing is lost meanwhile."""
    from solvent.net.host import MAX_INBOX

    hub, listener = Hub(), Listener()
    receiver = Host(Counting(), hub.transport(A), application=listener)
    await receiver.start()
    sender = hub.transport(B)
    await sender.open(lambda *_: None, lambda _: None)
    for messages in ["x"] * (MAX_INBOX + 1), ["last"]:
        for message in messages:
            sender.send(A, message)
        sender.flush()
    paused = False
    while not listener.outcomes:
        await asyncio.sleep(0)
        paused = paused or receiver._is_paused
    assert paused
    assert receiver.state == MAX_INBOX + 2
    await receiver.stop()
