"""What TCP brings that a simulated network does not: strangers, ports, connections that break."""

from __future__ import annotations

import asyncio
import struct
from typing import Any

import pytest

from solvent.errors import NodeProblem
from solvent.net import Codec, Host, PeerFault, TcpTransport, handshake, incoming
from solvent.net.handshake import Challenge
from solvent.protocols.link import Linked, wire_type
from solvent.protocols.machine import NodeId
from solvent_lab.models.talker import Say, Talker, TalkMessage
from tests.live.networks import Listener, identity, introduce, until
from tests.loop import in_loop

A, B = NodeId(0), NodeId(1)
WIRE = wire_type(TalkMessage)


def _talker(node: int, *, port: int = 0, listener: Listener | None = None, **options: Any) -> tuple[Any, Host[Any]]:
    way = TcpTransport(identity(node, **options), Codec(WIRE), port=port)
    machine = Linked(Talker(), me=NodeId(node), peers=(A, B), resend_after=20, tells_all_taken=True)
    return way, Host(machine, way, application=listener or Listener())


def _is_open(way: TcpTransport) -> bool:
    connection = way._ways[B]._connection if B in way._ways else None
    return connection is not None and connection.is_open


def _faults(listener: Listener) -> list[str]:
    return [outcome.reason for outcome in listener.outcomes if isinstance(outcome, PeerFault)]


async def _dial(way: TcpTransport) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection(*way.address)


async def _shake_hands(way: TcpTransport, node: int = 1) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Dial a node as another one that knows the secret."""
    reader, writer = await _dial(way)
    me = identity(node)
    said = handshake.hello(me, A)
    writer.write(handshake.encode(said))
    (length,) = struct.unpack("!I", await reader.readexactly(4))
    asked = handshake.decode(await reader.readexactly(length))
    assert isinstance(asked, Challenge)
    writer.write(handshake.encode(handshake.prove(me, said, asked)))
    return reader, writer


@pytest.mark.parametrize(
    "bytes_,reason",
    [
        (b"GET / HTTP/1.1\r\n\r\n", "a frame of 1195725856 bytes"),
        (b"\x00\x00\x00\x03abc", "no handshake"),
        (handshake.encode(handshake.Proof(b"")), "it does not say hello"),
        (handshake.encode(handshake.hello(identity(1, run="another"), A)), "it belongs to the run `another`"),
    ],
    ids=["http", "junk", "no hello", "another run"],
)
@in_loop
async def test_a_strangers_nonsense_is_dropped_and_reported(bytes_: bytes, reason: str) -> None:
    """Whatever a stranger sends, its connection is closed, the node tells of it and goes on."""
    listener = Listener()
    way, host = _talker(0, listener=listener)
    await host.start()
    reader, writer = await _dial(way)
    writer.write(bytes_)
    await reader.read()
    assert [reason in fault for fault in _faults(listener)] == [True]
    assert host.counters.peer_faults == 1
    host.request(Say(A))
    await until(lambda: A in host.state.inner.listening)
    writer.close()
    await host.stop()


@pytest.mark.parametrize("body", [b"\xc1", b"\x91\x93\xa1q\x00\x00", b""], ids=["no msgpack", "unknown", "empty"])
@in_loop
async def test_nonsense_after_the_handshake_closes_the_connection(body: bytes) -> None:
    """A known node that says what is no message is cut off too."""
    listener = Listener()
    way, host = _talker(0, listener=listener)
    await host.start()
    reader, writer = await _shake_hands(way)
    writer.write(struct.pack("!I", len(body)) + body)
    await reader.read()
    assert [outcome.peer for outcome in listener.outcomes] == ["node 1"]
    writer.close()
    await host.stop()


@in_loop
async def test_a_dialler_without_the_secret_is_cut_off() -> None:
    """A proof that is none ends the connection."""
    listener = Listener()
    way, host = _talker(0, listener=listener)
    await host.start()
    reader, writer = await _dial(way)
    writer.write(handshake.encode(handshake.hello(identity(1), A)) + handshake.encode(handshake.Proof(b"guess")))
    await reader.read()
    assert _faults(listener) == ["it does not know the secret of this run"]
    writer.close()
    await host.stop()


@in_loop
async def test_nodes_with_different_secrets_do_not_talk() -> None:
    """Neither side takes the other's messages, and the dialler is told why, once."""
    listener = Listener()
    one, first = _talker(0, listener=listener, secret=b"one")
    two, second = _talker(1, secret=b"two")
    await first.start()
    await second.start()
    introduce([one, two])
    first.request(Say(B))
    await until(lambda: first.counters.peer_faults > 0)
    await until(lambda: two.counters.bytes_received > 150)
    assert _faults(listener) == ["it does not know the secret of this run"]
    assert second.state.inner.listening.get(A) is None
    await first.stop()
    await second.stop()


@in_loop
async def test_a_silent_stranger_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection without a handshake is closed after a while."""
    monkeypatch.setattr(incoming, "MAX_HANDSHAKE_SECONDS", 0.01)
    listener = Listener()
    way, host = _talker(0, listener=listener)
    await host.start()
    reader, writer = await _dial(way)
    assert await reader.read() == b""
    assert _faults(listener) == ["no handshake in time"]
    writer.close()
    await host.stop()


@in_loop
async def test_many_strangers_are_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond a number of connections without a handshake, further ones are closed at once."""
    monkeypatch.setattr(incoming, "MAX_STRANGERS", 2)
    listener = Listener()
    way, host = _talker(0, listener=listener)
    await host.start()
    connections = [await _dial(way) for _ in range(3)]
    assert await connections[2][0].read() == b""
    assert _faults(listener) == ["too many connections that do not say who they are"]
    for _, writer in connections:
        writer.close()
    await host.stop()


@in_loop
async def test_a_port_in_use_is_a_clear_error() -> None:
    """The second node at a port is told what to do."""
    way, host = _talker(0)
    await host.start()
    _, other = _talker(1, port=way.address[1])
    with pytest.raises(NodeProblem, match="is in use") as caught:
        await other.start()
    assert caught.value.code == "N102"
    assert "give another port" in caught.value.hint
    await host.stop()


@pytest.mark.parametrize("port,code", [(99_999, "N101"), (-1, "N101")])
@in_loop
async def test_no_port_is_a_clear_error(port: int, code: str) -> None:
    """A number that is no port is told as such."""
    with pytest.raises(NodeProblem) as caught:
        await _talker(0, port=port)[1].start()
    assert caught.value.code == code


@in_loop
async def test_an_address_of_another_machine_is_a_clear_error() -> None:
    """A node cannot listen where this machine is not."""
    way = TcpTransport(identity(0), Codec(WIRE), host="192.0.2.1")
    with pytest.raises(NodeProblem, match="cannot listen at") as caught:
        await way.open(lambda *_: None, lambda _: None)
    assert caught.value.code == "N103"


@in_loop
async def test_a_connection_that_breaks_is_made_again() -> None:
    """Messages lost with a connection are sent again over the next, and heard once."""
    one, first = _talker(0)
    two, second = _talker(1)
    await first.start()
    await second.start()
    introduce([one, two])
    for number in range(1, 300):
        first.request(Say(B))
        if number % 50 == 0:
            await until(lambda: _is_open(one))
            one._ways[B]._connection._transport.abort()
    await until(lambda: second.state.inner.listening.get(A) and first.state.inner.is_all_taken)
    assert second.state.inner.listening[A].heard == 299
    await first.stop()
    await second.stop()


@in_loop
async def test_the_latest_connection_of_a_node_counts() -> None:
    """A node that dials again replaces its former connection."""
    way, host = _talker(0)
    await host.start()
    reader, writer = await _shake_hands(way)
    await until(lambda: B in way._hall.known)
    _, again = await _shake_hands(way)
    assert await reader.read() == b""
    assert len(way._hall.known) == 1
    writer.close()
    again.close()
    await host.stop()


@in_loop
async def test_a_slow_reader_holds_a_writer_up() -> None:
    """Messages wait while the other side does not read, and all come through when it does."""
    one = TcpTransport(identity(0), Codec(str))
    two = TcpTransport(identity(1), Codec(str))
    got = list[Any]()
    await one.open(lambda *_: None, lambda _: None)
    await two.open(lambda _, messages: got.extend(messages), lambda _: None)
    introduce([one, two])
    two.pause()
    text = "x" * 1000
    for _ in range(20):
        for _ in range(1000):
            one.send(B, text)
        one.flush()
        await asyncio.sleep(0)
    await until(lambda: _is_open(one) and one._ways[B]._connection.is_full)
    assert one._ways[B]._waiting
    two.resume()
    await until(lambda: len(got) == 20_000)
    await one.close()
    await two.close()


@in_loop
async def test_a_message_too_large_is_reported_and_the_others_go() -> None:
    """What fits no frame is dropped here, not at the other side."""
    complaints = list[PeerFault]()
    one = TcpTransport(identity(0), Codec(str, max_frame_bytes=1000))
    two = TcpTransport(identity(1), Codec(str, max_frame_bytes=1000))
    got = list[Any]()
    await one.open(lambda *_: None, complaints.append)
    await two.open(lambda _, messages: got.extend(messages), complaints.append)
    introduce([one, two])
    for text in ("a", "x" * 2000, "b"):
        one.send(B, text)
    one.flush()
    await until(lambda: got == ["a", "b"])
    assert [fault.reason for fault in complaints] == ["a message `str` too large for a frame: not sent"]
    await one.close()
    await two.close()
