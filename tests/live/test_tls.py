"""TLS between nodes: who has no certificate of the authority gets nowhere, and nobody hears what nodes say."""

from __future__ import annotations

import asyncio
import os
import socket
import ssl
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import NodeProblem
from solvent.net import Codec, PeerFault, TcpTransport, address_from_text
from solvent.net.tls import Tls, tls_from
from solvent.protocols.machine import NodeId
from tests.cli.command import solvent
from tests.live.certificates import Certificates, certificates
from tests.live.networks import identity, introduce, until
from tests.live.shared_runs import shared, start, sum_program, total
from tests.loop import in_loop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

A, B = NodeId(0), NodeId(1)


@pytest.fixture(scope="module")
def made() -> Iterator[Certificates]:
    """Give an authority."""
    with certificates() as found:
        yield found


async def _pair(one: Tls | None, other: Tls | None) -> tuple[list[Any], list[list[PeerFault]], list[TcpTransport]]:
    """Let A say something to B; give what B is given, what each complains of, and both."""
    got, faults = list[Any](), [list[PeerFault](), list[PeerFault]()]
    ways = [TcpTransport(identity(number), Codec(str), tls=tls) for number, tls in enumerate((one, other))]
    await ways[0].open(lambda *_: None, faults[0].append)
    await ways[1].open(lambda _, messages: got.extend(messages), faults[1].append)
    introduce(ways)
    ways[0].send(B, "a secret word")
    ways[0].flush()
    return got, faults, ways


@in_loop
async def test_certificates_of_one_authority_are_welcome(made: Certificates) -> None:
    """Two nodes with certificates of the same authority talk, also with messages larger than a TLS record."""
    got, faults, ways = await _pair(made.tls("one"), made.tls("two"))
    await until(lambda: got == ["a secret word"])
    ways[0].send(B, "x" * 1_000_000)
    ways[0].flush()
    await until(lambda: len(got) == 2)
    assert faults == [[], []]
    for way in ways:
        await way.close()


@pytest.mark.parametrize("stranger", ["another authority", "in the clear"])
@in_loop
async def test_strangers_are_not_heard(made: Certificates, stranger: str, tmp_path: Path) -> None:
    """Whoever has a certificate of another authority, or none, is not let in; the other way round nothing is said."""
    other = Certificates(tmp_path / "other").tls("stranger") if stranger == "another authority" else None
    got, faults, ways = await _pair(other, made.tls("two"))
    back, _, others = await _pair(made.tls("one"), other)
    await until(lambda: ways[0]._dialled[B] > 2 and others[0]._dialled[B] > 2)
    assert (got, back) == ([], [])
    if other is not None:
        assert "no TLS with it" in faults[0][0].reason
        assert len(faults[0]) == 1
    for way in (*ways, *others):
        assert way.counters.messages_received == 0
        await way.close()


@in_loop
async def test_nothing_is_said_in_the_clear(made: Certificates) -> None:
    """Whoever listens on the way finds neither a message nor the name of the run."""
    heard = bytearray()
    got, _, ways = await _pair(made.tls("one"), made.tls("two"))
    await until(lambda: got == ["a secret word"])
    target = ways[1].address

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            heard.extend(data)
            writer.write(data)
        writer.close()

    async def between(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        inner, outer = await asyncio.open_connection(*target)
        await asyncio.gather(carry(reader, outer), carry(inner, writer))

    listening = await asyncio.start_server(between, "127.0.0.1", 0)
    third = TcpTransport(identity(2), Codec(str), tls=made.tls("three"))
    await third.open(lambda *_: None, lambda _: None)
    third.know(B, *listening.sockets[0].getsockname()[:2])
    third.send(B, "another secret word")
    third.flush()
    await until(lambda: "another secret word" in got)
    assert len(heard) > 1000
    assert b"secret word" not in heard
    assert b"tests" not in heard
    listening.close()
    for way in (*ways, third):
        await way.close()


@in_loop
async def test_a_silent_stranger_is_not_kept(made: Certificates, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection on which TLS does not begin is closed after a while."""
    monkeypatch.setattr("solvent.net.tls.MAX_HANDSHAKE_SECONDS", 0.05)
    way = TcpTransport(identity(0), Codec(str), tls=made.tls("one"))
    await way.open(lambda *_: None, lambda _: None)
    reader, writer = await asyncio.open_connection(*way.address)
    assert await reader.read() == b""
    writer.close()
    await way.close()


def test_old_versions_of_tls_are_refused(made: Certificates) -> None:
    """Nobody is spoken to by TLS 1.1."""
    tls = made.tls("one")
    assert tls.server.minimum_version == tls.client.minimum_version == ssl.TLSVersion.TLSv1_2
    assert tls.server.verify_mode == tls.client.verify_mode == ssl.CERT_REQUIRED


def test_files_of_no_use_are_clear_errors(made: Certificates, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing, wrong, locked and mixed-up files, and too few of them, are N121; the key is not shown."""
    tls = made.tls("one")
    locked = tmp_path / "locked.key"
    words = ["openssl", "ec", "-in", tls.key, "-out", str(locked), "-aes256", "-passout", "pass:word"]
    subprocess.run(words, check=True, capture_output=True, timeout=200)
    for ca, cert, key in (
        (tls.ca, tls.cert, str(tmp_path / "none")),
        (tls.key, tls.cert, tls.key),
        (tls.ca, tls.ca, tls.key),
        (tls.ca, tls.cert, str(locked)),
        (tls.ca, None, tls.key),
        (str(tmp_path), tls.cert, tls.key),
    ):
        with pytest.raises(NodeProblem) as caught:
            tls_from(ca, cert, key)
        assert caught.value.code == "N121"
    with certificates() as other, pytest.raises(NodeProblem, match="no node would trust the certificate"):
        tls_from(other.path("ca.pem"), tls.cert, tls.key)
    assert tls.key not in repr(tls)
    assert tls_from(None, None, None) is None
    for name, path in (("CA", tls.ca), ("CERT", tls.cert), ("KEY", tls.key)):
        monkeypatch.setenv(f"SOLVENT_TLS_{name}", path)
    assert tls_from(None, None, None) == tls


def test_served_nodes_and_their_launcher_use_tls(made: Certificates, tmp_path: Path) -> None:
    """A program runs over nodes that were started with TLS; a launcher without a certificate does not reach them."""
    program, served = sum_program(tmp_path, 30, seconds=0.001), []
    for number in range(2):
        state = ["--state", tmp_path / f"node-{number}", "--functions", tmp_path / "slow.py"]
        node = start("lab", "serve", "capture", *state, *made.options("one"))
        assert node.stderr is not None
        served.append((node, node.stderr.readline().split()[4]))
    peers = ",".join(address for _, address in served)
    try:
        plain = solvent(*program, "--peers", peers)
        assert plain.code == 2
        assert "error[N130]" in plain.err
        result = solvent(*program, "--peers", peers, "--no-local", *made.options("launcher"))
        assert result.out.strip() == total(30), result.err
        for node, _ in served:
            assert node.wait(timeout=200) == 0
    finally:
        for node, _ in served:
            node.kill()
            node.communicate()


def test_processes_of_one_machine_and_of_a_store_use_tls(made: Certificates, tmp_path: Path) -> None:
    """Nodes of this machine, with a folder or with a store, talk by TLS; one is killed, and another goes on."""
    program = sum_program(tmp_path, 60, seconds=0.005)
    local = solvent(*program, "--nodes", "3", "--no-local", *made.options("one"))
    assert local.out.strip() == total(60), local.err
    program = sum_program(tmp_path, 100)
    words = [*program, "--nodes", "2", "--no-local", "--ttl", "0.5", *made.options("one")]
    with shared(str(tmp_path / "store.db"), *words) as run_:
        os.kill(run_.all_react(2)[1].process, 9)
        address = address_from_text(run_.board.look().addresses[0])
        with socket.create_connection(address, timeout=200) as plain:
            made.tls("visitor").client.wrap_socket(plain).close()
        out, err = run_.command.communicate(timeout=200)
        assert f'"{total(100)}"' in out, err
