"""A way to a NATS server on which messages are lost, late, cut off or lied about, for tests."""

from __future__ import annotations

import re
import socket
import threading
import time
from contextlib import suppress
from typing import Self

_PUBLISHED = re.compile(rb"HPUB (?P<subject>\S+) (?P<reply>\S+) \d+ (?P<size>\d+)\r\n")
_ANSWERED = re.compile(rb"HMSG _INBOX\.\S+ \d+ \d+ (?P<size>\d+)\r\n")
_INBOX = re.compile(rb"SUB (?P<inbox>_INBOX\.\S+)\.\*\s+(?P<number>\d+)\r\n")


class Proxy:
    """Stands between clients and a server; each switch is for all connections, those to come as well."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._inbox = b""
        self.sent = bytearray()
        """What clients have said."""
        self.swallows_answers = False
        self.delay_s = 0.0
        self.cut_after: int | None = None
        """Cut the connection when the server has said so many bytes more, once."""
        self.drops_one = False
        """Leave out one of several answers that come together, once."""
        self.lie: bytes | None = None
        """What to answer, once, to a message with headers that asks for an answer; the server does not get it."""
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        """Give the address for `open_store`."""
        return f"nats://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Cut all connections."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            for one in pair:
                with suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)
                one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._port))
                except OSError:
                    client.close()
                    continue
                self._pairs.append((client, server))
                for work in (self._ask, self._answer):
                    threading.Thread(target=work, args=(client, server), daemon=True).start()

    def _ask(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(1 << 16):
                self.sent += data
                inbox = _INBOX.search(data)
                if inbox:
                    self._inbox = inbox["number"]
                published = _PUBLISHED.search(data)
                if self.lie is not None and published:
                    lie, self.lie = self.lie, None
                    client.sendall(b"MSG %s %s %d\r\n%s\r\n" % (published["reply"], self._inbox, len(lie), lie))
                    data = data[: published.start()] + data[published.end() + int(published["size"]) + 2 :]
                server.sendall(data)
        self._end(client, server)

    def _answer(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if self.swallows_answers:
                    continue
                if self.delay_s:
                    time.sleep(self.delay_s)
                if self.drops_one:
                    data = self._without_one(data)
                if self.cut_after is not None:
                    self.cut_after -= len(data)
                    if self.cut_after < 0:
                        client.sendall(data[: self.cut_after])
                        self.cut_after = None
                        break
                client.sendall(data)
        self._end(client, server)

    def _without_one(self, data: bytes) -> bytes:
        answers = list(_ANSWERED.finditer(data))
        if len(answers) < 3:
            return data
        self.drops_one = False
        return data[: answers[1].start()] + data[answers[1].end() + int(answers[1]["size"]) + 2 :]

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.cut()
