"""Nodes that meet before they talk, are found and forgotten while they run, or have forgotten who they were."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from solvent.net import Codec, Host, TcpTransport, Unwelcome, meet
from solvent.protocols.machine import Message, NodeId
from tests.live.networks import Listener, identity
from tests.loop import in_loop
from tests.unit.net.scripted import Scripted

A, B = NodeId(0), NodeId(1)


class Word(Message, frozen=True, gc=False):
    """Something said."""

    text: str


async def _started(node: int, *, listener: Listener | None = None, **options: Any) -> tuple[TcpTransport, Host[Any]]:
    kept = {name: options.pop(name) for name in ("birth", "where", "secret", "run") if name in options}
    way = TcpTransport(identity(node, **kept), Codec(Word), **options)
    host: Host[Any] = Host(Scripted(), way, application=listener or Listener())
    await host.start()
    return way, host


def _heard(host: Host[Any]) -> list[Any]:
    return [event for event in host.state[2:] if isinstance(event, tuple)]


@in_loop
async def test_who_is_there_is_told() -> None:
    """A node that knows an address and not who is there finds out, if it knows name and secret."""
    way, host = await _started(7)
    assert await meet(identity(1), way.address) == 7
    assert await meet(identity(1), way.address, NodeId(7)) == 7
    with pytest.raises(Unwelcome, match="it wants node 3"):
        await meet(identity(1), way.address, NodeId(3))
    with pytest.raises(Unwelcome, match="the run `another`"):
        await meet(identity(1, run="another"), way.address)
    with pytest.raises(Unwelcome, match="does not know the secret"):
        await meet(identity(1, secret=b"another"), way.address)
    await host.stop()
    with pytest.raises(ConnectionRefusedError):
        await meet(identity(1), way.address)


@pytest.mark.parametrize("answer", [b"", b"\x00\x00\x00\x03abc", b"HTTP/1.1 400 Bad Request\r\n\r\n"])
@in_loop
async def test_who_is_no_node_is_told_apart(answer: bytes) -> None:
    """Whatever answers at an address that is no node is an error, and no crash."""

    async def say(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()

    server = await asyncio.start_server(say, "127.0.0.1", 0)
    with pytest.raises((Unwelcome, OSError)):
        await meet(identity(1), server.sockets[0].getsockname())
    server.close()


@in_loop
async def test_what_is_to_be_done_before_is_done_before() -> None:
    """The node listens, but its machine begins only afterwards; what goes wrong leaves nothing behind."""
    way = TcpTransport(identity(0), Codec(Word))
    host: Host[Any] = Host(Scripted(), way)
    seen = list[Any]()

    async def before() -> None:
        seen.append(await meet(identity(1), way.address))
        with pytest.raises(Exception, match="not been started"):
            _ = host.state

    await host.start(before)
    assert seen == [0]
    assert host.state == ((), 0)
    await host.stop()

    async def fails() -> None:
        raise ValueError("before")

    again = TcpTransport(identity(0), Codec(Word))
    with pytest.raises(ValueError, match="before"):
        await Host(Scripted(), again).start(fails)
    with pytest.raises(ConnectionRefusedError):
        await meet(identity(1), again.address)
