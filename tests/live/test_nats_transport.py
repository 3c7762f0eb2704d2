"""What NATS brings that a simulated network does not: strangers, pieces, servers that go and come back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from solvent.errors import StoreError
from solvent.net import Codec, Host, PeerFault
from solvent.protocols.link import Linked, wire_type
from solvent.protocols.machine import NodeId
from solvent.runs.nodes.nats_transport import NatsTransport, Piece
from solvent.store.nats_client import Servers, read_address
from solvent_lab.models.talker import Say, Talker, TalkMessage
from tests.live.networks import Listener, identity, until
from tests.live.store_servers import served, server
from tests.loop import in_loop

if TYPE_CHECKING:
    from collections.abc import Iterator

A, B = NodeId(0), NodeId(1)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Give the address of a server."""
    with served() as address:
        yield address


class Pair:
    """Two transports; what B is given, and what both complain of."""

    def __init__(
        self, url: str, *, name: str, codec: Codec | None = None, secrets: tuple[bytes, bytes] = (b"s", b"s")
    ) -> None:
        self.got = list[Any]()
        self.faults = list[PeerFault]()
        self.ways = [
            NatsTransport(identity(number, run=name, secret=secret), codec or Codec(str), url)
            for number, secret in enumerate(secrets)
        ]

    async def open(self) -> tuple[NatsTransport, NatsTransport]:
        """Open both."""
        one, two = self.ways
        await one.open(lambda *_: None, self.faults.append)
        await two.open(lambda _, messages: self.got.extend(messages), self.faults.append)
        return one, two

    async def close(self) -> None:
        """Close both."""
        for way in self.ways:
            await way.close()


@in_loop
async def test_a_batch_larger_than_the_server_takes_goes_in_pieces() -> None:
    """Messages of some megabytes come through a server that takes 64 KiB, in order with small ones."""
    with server(max_payload_bytes=65_536) as small:
        pair = Pair(small.url, name="pieces")
        one, _ = await pair.open()
        texts = ["a", "x" * 3_000_000, "b", "y" * 65_536, "c"]
        for text in texts:
            one.send(B, text)
            one.flush()
        await until(lambda: len(pair.got) == len(texts))
        assert pair.got == texts
        assert one.counters.messages_sent == len(texts)
        await pair.close()


@in_loop
async def test_nonsense_is_dropped_and_reported_once(url: str) -> None:
    """Whatever somebody publishes to a node, it tells of it and goes on; a batch beyond the limit is refused."""
    pair = Pair(url, name="nonsense", codec=Codec(str, max_frame_bytes=1000))
    one, two = await pair.open()
    client = await Servers(read_address(url)).first(5)
    subject = f"{two._subjects}.{B}"
    body = msgspec.msgpack.encode(["hello"])

    def piece(data: bytes, *said: int) -> bytes:
        return msgspec.msgpack.encode(Piece(1, A, *said, data, two._proof(B, (A, *said), data)))

    good = piece(body, 1, 0, 1)
    for data, reason in (
        (b"\xc1", "no piece of a message"),
        (msgspec.msgpack.encode(Piece(9, A, 1, 0, 1, b"")), "it speaks version 9"),
        (msgspec.msgpack.encode(Piece(1, A, 1, 0, 1, body)), "it does not know the secret"),
        (good.replace(b"hello", b"jello"), "it does not know the secret"),
        (piece(b"\xc1", 1, 0, 1), "not a message of this protocol"),
        (piece(body, 1, 3, 1), "a piece that cannot be"),
        (piece(b"x" * 1001, 1, 0, 1), "a batch of more than 1000 bytes"),
    ):
        before = two.counters.peer_faults
        await client.publish(subject, data)
        await client.flush()
        await until(lambda before=before: two.counters.peer_faults > before)  # type: ignore[misc]
        assert reason in pair.faults[-1].reason
    assert len(pair.faults) == 6
    for data in (piece(body[:3], 2, 0, 3), piece(body[3:], 2, 2, 3), piece(body, 3, 1, 2), good):
        # A piece is missing, a batch has no beginning; and then one that is whole.
        await client.publish(subject, data)
    await until(lambda: pair.got == ["hello"])
    await client.close()
    await pair.close()
    del one


@in_loop
async def test_nodes_with_different_secrets_or_runs_do_not_talk(url: str) -> None:
    """Messages of another secret are refused; those of another run are not even heard."""
    pair, other = Pair(url, name="one", secrets=(b"one", b"two")), Pair(url, name="another")
    one, two = await pair.open()
    stranger, _ = await other.open()
    for way in (one, stranger):
        way.send(B, "hello")
        way.flush()
    await until(lambda: two.counters.peer_faults == 1 and other.got == ["hello"])
    assert pair.got == []
    assert [fault.reason for fault in pair.faults] == ["it does not know the secret of this run"]
    await pair.close()
    await other.close()


@in_loop
async def test_a_server_that_is_killed_and_comes_back_costs_no_word() -> None:
    """Words said before, while and after the server is away are all heard, once."""
    with server() as one_server:
        hosts = []
        for number in (0, 1):
            way = NatsTransport(identity(number), Codec(wire_type(TalkMessage)), one_server.url)
            machine = Linked(Talker(), me=NodeId(number), peers=(A, B), resend_after=50, tells_all_taken=True)
            hosts.append((way, Host(machine, way, application=Listener())))
            await hosts[-1][1].start()
        (_, first), (way, second) = hosts
        for number in range(300):
            first.request(Say(B))
            if number == 100:
                await until(lambda: A in second.state.inner.listening)
                one_server.kill()
            if number == 200:
                await asyncio.to_thread(one_server.start)
            await asyncio.sleep(0)
        await until(lambda: second.state.inner.listening[A].heard == 300 and first.state.unacknowledged == 0)
        assert way.connections == 2
        for _, host in hosts:
            await host.stop()


@in_loop
async def test_a_paused_node_gets_everything_later(url: str) -> None:
    """What comes while a node has too much to do is kept, and delivered in order."""
    pair = Pair(url, name="pause")
    one, two = await pair.open()
    two.pause()
    for number in range(1000):
        one.send(B, str(number))
        one.flush()
    await until(lambda: one.counters.messages_sent == 1000)
    assert pair.got == []
    two.resume()
    await until(lambda: len(pair.got) == 1000)
    assert pair.got == [str(number) for number in range(1000)]
    await pair.close()


@in_loop
async def test_no_server_is_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """A node that reaches no server does not start."""
    monkeypatch.setattr("solvent.runs.nodes.nats_transport.SECONDS_TO_CONNECT", 0.2)
    way = NatsTransport(identity(0), Codec(str), "nats://127.0.0.1:9")
    with pytest.raises(StoreError) as caught:
        await way.open(lambda *_: None, lambda _: None)
    assert caught.value.code == "E402"
    await way.close()
