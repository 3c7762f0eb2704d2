"""Servers that speak no NATS, or speak it wrongly: one clear error, and no traceback of the client library."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from tests.cli.command import solvent

pytest.importorskip("nats")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

READY = b'INFO {"server_id":"a","max_payload":1000000,"version":"2.10.0","headers":true,"jetstream":true}\r\nPONG\r\n'
# What a server sends when a client connects, and whether it closes the connection then.
SAID = {
    "garbage": (b"\x00\xff\xfe rubbish\r\n" * 50, False),
    "another protocol": (b"HTTP/1.1 400 Bad Request\r\n\r\n", True),
    "nothing, and closes": (b"", True),
    "nothing": (b"", False),
    "half an INFO": (b'INFO {"server_id":"a","vers', False),
    "half an INFO, and closes": (b'INFO {"server_id":"a","vers', True),
    "an INFO that is no JSON": (b"INFO nonsense\r\n", False),
    "an INFO that is a list": (b"INFO [1, 2]\r\n", False),
    "an INFO of wrong types": (
        b'INFO {"server_id":3,"max_payload":"x","headers":[],"connect_urls":7}\r\nPONG\r\n',
        False,
    ),
    "an INFO with wrong addresses": (READY.replace(b'"jet', b'"connect_urls":["b:c:d"],"jet'), False),
    "an INFO without an end": (b'INFO {"a":"' + b"x" * 200_000, False),
}
# What a server sends after a client has connected, which is when it asks for something.
LATER = {
    "an INFO that is no JSON": b"INFO {wrong}\r\n",
    "an INFO that is a list": b"INFO [1]\r\n",
    "a message that is none": b"MSG 1 2 3 4 5\r\n",
    "garbage": b"\xff\xfe\x00" * 1000,
}


@contextmanager
def _server(first: bytes, *, later: bytes = b"", closes: bool = False) -> Iterator[str]:
    """Serve at a free port, and give the address of a store there."""

    def serve(connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.sendall(first)
            is_asked = False
            while not closes and (heard := connection.recv(4096)):
                # A client that has connected pings once; what it says after that is a question.
                if is_asked:
                    connection.sendall(later)
                is_asked = is_asked or b"PING" in heard

    def accept() -> None:
        with suppress(OSError):
            while True:
                threading.Thread(target=serve, args=(listening.accept()[0],), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        threading.Thread(target=accept, daemon=True).start()
        yield f"nats://127.0.0.1:{listening.getsockname()[1]}/store"
        listening.shutdown(socket.SHUT_RDWR)


def _is_one_error(address: str) -> bool:
    result = solvent("status", "--store", address)
    first, *others = result.err.splitlines()
    is_error = first.startswith(("error[E401]: ", "error[E402]: ")) and address.split("/")[2] in first
    return result.code == 2 and is_error and all(one.startswith("  hint: ") for one in others)


@pytest.mark.parametrize("what", SAID)
def test_server_that_says_rubbish(what: str) -> None:
    """A command that finds something else than a NATS server shows one error with its address."""
    first, closes = SAID[what]
    with _server(first, closes=closes) as address:
        assert _is_one_error(address)


@pytest.mark.parametrize("what", LATER)
def test_server_that_says_rubbish_later(what: str) -> None:
    """A server that says rubbish after the connection was made is shown as one error, without a traceback."""
    with _server(READY, later=LATER[what]) as address:
        assert _is_one_error(address)


def test_run_on_rubbish(tmp_path: Path) -> None:
    """A run whose store is no NATS server does not begin."""
    file = tmp_path / "flow.yaml"
    file.write_text("services: {s: {shell: date}}\ntasks: {A: {service: s}}\n")
    with _server(*SAID["an INFO with wrong addresses"][:1]) as address:
        result = solvent("run", file, "--store", address)
    assert (result.code, result.err.startswith("error[E401]: 127.0.0.1:")) == (2, True), result.err
