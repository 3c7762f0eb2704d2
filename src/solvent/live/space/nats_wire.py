"""What a client and a NATS server say to each other, byte by byte: messages that go, and messages that come.

The library's own way makes a task, a queue and several copies of each message. Appends and answers are small and come
in hundreds, so here those of an inbox are handed on as they are found in what was read; headers are taken apart only
where somebody looks at them. All else that a server says (ping, errors, news of other servers) is the library's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from nats.errors import ProtocolError
from nats.protocol.parser import Parser

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


class Wire(Parser):
    """Reads what a server says."""

    def __init__(self, client: Any) -> None:
        super().__init__(client)
        self.heard: dict[bytes, Heard] = {}
        """Who hears the messages of a subscription, by its number."""

    def reset(self) -> None:
        """Forget what has come of a message that is not whole."""
        super().reset()
        self._rest = bytearray()
        self._needed = 0

    async def parse(self, data: bytes = b"") -> None:
        """Take what was read; hand on what is whole."""
        if self._rest:
            self._rest += data
            if len(self._rest) < self._needed:
                return
            data, self._rest = bytes(self._rest), bytearray()
        try:
            at = await self._parse(data)
        except (ValueError, IndexError) as error:
            raise ProtocolError from error
        if at < len(data):
            self._rest += memoryview(data)[at:]

    async def _parse(self, data: bytes) -> int:
        """Hand on messages, and give where those end that are whole."""
        at, self._needed = 0, 0
        while (line_end := data.find(_END, at)) >= 0:
            kind = data[at]
            if kind not in (_MESSAGE, _WITH_HEADERS):
                await super().parse(data[at : line_end + 2])
                at = line_end + 2
                continue
            # MSG subject number [reply] size; HMSG subject number [reply] size-of-headers size
            words = data[at:line_end].split()
            begin = line_end + 2
            end = begin + int(words[-1])
            if len(data) < end + 2:
                self._needed = end + 2 - at
                break
            body = begin + int(words[-2]) if kind == _WITH_HEADERS else begin
            head, content, at = data[begin:body], data[body:end], end + 2
            heard = self.heard.get(words[2])
            if heard is not None:
                heard(Answer(words[1], head, content))
            else:
                reply = words[3] if len(words) == (6 if kind == _WITH_HEADERS else 5) else b""
                await self.nc._process_msg(int(words[2]), words[1], reply, content, head or None)  # noqa: SLF001
        return at


__all__ = ["Answer", "Heard", "Wire", "headers_from", "message"]
