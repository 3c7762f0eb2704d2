"""What a client and a NATS server say to each other, byte by byte: messages that go, and messages that come.

The library's own way makes a task, a queue and several copies of each message. Appends and answers are small and come
in hundreds, so those of an inbox are taken out of what a connection brings before the library sees it, and handed on
at once; headers are taken apart only where somebody looks at them. All else that a server says (pings, errors, news of
other servers) is the library's.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_END = b"\r\n"
_VERSION = "NATS/1.0"
_MESSAGE, _WITH_HEADERS = ord("M"), ord("H")


class Answer:
    """A message that has come."""

    __slots__ = ("_head", "_headers", "data", "subject")

    def __init__(self, subject: bytes, head: bytes, data: bytes) -> None:
        self.subject = subject
        self.data = data
        self._head = head
        self._headers: dict[str, str] | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Give its headers; `Status` is what the server says of it, if it does."""
        if self._headers is None:
            self._headers = headers_from(self._head)
        return self._headers

    @property
    def status(self) -> str:
        """Give what the server says of it, mostly nothing."""
        # "NATS/1.0 503", and further words or not; or the end of the line.
        return self._head[9:12].decode() if self._head[8:9] == b" " else ""


Heard: TypeAlias = "Callable[[Answer], None]"
"""Is called with each message of a subscription, and must not raise anything."""


def headers_from(raw: bytes) -> dict[str, str]:
    """Take headers apart; what is no header is left out."""
    first, *lines = raw.decode("utf-8", "replace").split("\r\n")
    found = {name: value.strip() for name, _, value in (line.partition(":") for line in lines) if name}
    status = first[len(_VERSION) :].split(maxsplit=1)
    return found | {"Status": status[0]} if status else found


def message(subject: str, data: bytes, *, reply: str = "", headers: Mapping[str, str] | None = None) -> bytes:
    """Give the bytes that publish a message."""
    to = f"{subject} {reply}" if reply else subject
    if not headers:
        return b"PUB %b %d\r\n%b\r\n" % (to.encode(), len(data), data)
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    head = f"{_VERSION}\r\n{lines}\r\n".encode()
    return b"HPUB %b %d %d\r\n%b%b\r\n" % (to.encode(), len(head), len(head) + len(data), head, data)


class Wire(asyncio.Protocol):
    """Stands between a connection and the library: takes out the messages that somebody here hears."""

    def __init__(self, library: asyncio.Protocol, *, is_protected: bool = False) -> None:
        self._is_protected = is_protected
        self.heard: dict[bytes, Heard] = {}
        """Who hears the messages of a subscription, by its number."""
        self._library = library
        self._rest = bytearray()
        #: How much there must be of what has begun.
        self._needed = 0
        self._is_nonsense = False

    def data_received(self, data: bytes) -> None:
        """Take what was read; hand on what is whole."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return
            data, self._rest = bytes(self._rest), bytearray()
        at = self._needed = 0
        try:
            while not self._is_nonsense and (line_end := data.find(_END, at)) >= 0:
                end = self._take(data, at, line_end)
                if not end:
                    break
                at = end
        except (ValueError, IndexError):
            # The library complains, and ends the connection.
            self._is_nonsense = True
        if self._is_nonsense:
            self._library.data_received(data[at:])
        elif at < len(data):
            self._rest += memoryview(data)[at:]

    def _take(self, data: bytes, at: int, line_end: int) -> int:
        """Hand on what begins here, and give where it ends; 0 if it is not whole."""
        kind, begin = data[at], line_end + 2
        if kind not in (_MESSAGE, _WITH_HEADERS):
            self._library.data_received(data[at:begin])
            return begin
        # MSG subject number [reply] size; HMSG subject number [reply] size-of-headers size
        words = data[at:line_end].split()
        end = begin + int(words[-1])
        if len(data) < end + 2:
            self._needed = end + 2 - at
            return 0
        heard = self.heard.get(words[2])
        if heard is None:
            self._library.data_received(data[at : end + 2])
        else:
            body = begin + int(words[-2]) if kind == _WITH_HEADERS else begin
            heard(Answer(words[1], data[begin:body], data[body:end]))
        return end + 2

    def eof_received(self) -> bool | None:
        """Tell the library; a connection that is protected cannot be kept half open, and the loop would complain."""
        may_stay = self._library.eof_received()
        return None if self._is_protected else may_stay

    def connection_lost(self, problem: Exception | None) -> None:
        """Tell the library."""
        self._library.connection_lost(problem)

    def pause_writing(self) -> None:
        """Tell the library."""
        self._library.pause_writing()

    def resume_writing(self) -> None:
        """Tell the library."""
        self._library.resume_writing()


__all__ = ["Answer", "Heard", "Wire", "headers_from", "message"]
