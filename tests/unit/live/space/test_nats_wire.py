"""What a client and a NATS server say to each other is put together and taken apart."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nats.errors import ProtocolError

from solvent.live.space.nats_wire import Answer, Wire, headers_from, message


class Library:
    """Stands where the library's client is, and notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    async def _process_msg(self, number: int, subject: bytes, reply: bytes, data: bytes, head: bytes | None) -> None:
        self.told.append((number, subject, reply, data, head))

    async def _process_ping(self) -> None:
        self.told.append("ping")

    async def _process_err(self, error: str) -> None:
        self.told.append(error)


def _heard(parts: list[bytes]) -> tuple[list[Answer], list[Any]]:
    library, heard = Library(), list[Answer]()

    async def read() -> None:
        wire = Wire(library)
        wire.heard[b"7"] = heard.append
        for part in parts:
            await wire.parse(part)

    asyncio.run(read())
    return heard, library.told


@given(st.lists(st.tuples(st.binary(max_size=40), st.booleans()), max_size=6), st.data())
def test_messages_are_found_however_they_are_cut(contents: list[tuple[bytes, bool]], data: st.DataObject) -> None:
    """What is read may end anywhere: each message is handed on once, whole and in order."""
    head = b"NATS/1.0\r\nNats-Sequence: 5\r\n\r\n"
    said = b""
    for content, has_headers in contents:
        if has_headers:
            said += b"HMSG in.1 7 %d %d\r\n%b%b\r\n" % (len(head), len(head) + len(content), head, content)
        else:
            said += b"PING\r\nMSG in.1 7 back %d\r\n%b\r\n" % (len(content), content)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=5)))
    parts = [said[a:b] for a, b in zip([0, *cuts], [*cuts, len(said)], strict=True)]
    heard, told = _heard(parts)
    assert [(one.data, bool(one.headers)) for one in heard] == contents
    assert told == ["ping"] * sum(not has_headers for _, has_headers in contents)


def test_what_is_not_heard_here_is_the_librarys() -> None:
    """Messages of other subscriptions, and all that is no message, go to the library."""
    heard, told = _heard([b"MSG other 8 back 2\r\nhi\r\n-ERR 'Slow'\r\nHMSG other 9 12 12\r\nNATS/1.0\r\n\r\n\r\n"])
    assert heard == []
    assert told == [(8, b"other", b"back", b"hi", None), "'slow'", (9, b"other", b"", b"", b"NATS/1.0\r\n\r\n")]


@pytest.mark.parametrize("said", [b"MSG in.1 7 much\r\n", b"MSG\r\n", b"NONSENSE\r\n"])
def test_nonsense_is_said_to_be(said: bytes) -> None:
    """A connection on which something else comes is of no use."""
    with pytest.raises(ProtocolError):
        _heard([said])


def test_a_status_is_known_with_and_without_words() -> None:
    """Servers add words to a status, headers, or nothing."""
    for head in (b"NATS/1.0 503\r\n\r\n", b"NATS/1.0 503 No Responders\r\n\r\n", b"NATS/1.0 503 EOB\r\nA: b\r\n\r\n"):
        assert (Answer(b"", head, b"").status, headers_from(head)["Status"]) == ("503", "503")
    assert (Answer(b"", b"NATS/1.0\r\nA: 1\r\n\r\n", b"").status, Answer(b"", b"", b"x").status) == ("", "")


def test_headers_are_taken_apart() -> None:
    """A value may have colons, and spaces around it are not a part of it."""
    assert headers_from(b"NATS/1.0\r\nA: b:c \r\nD:e\r\n\r\n") == {"A": "b:c", "D": "e"}


def test_a_message_is_put_together() -> None:
    """Sizes are those of headers and of everything, and there may be no reply."""
    assert message("to", b"hi") == b"PUB to 2\r\nhi\r\n"
    assert message("to", b"hi", reply="back") == b"PUB to back 2\r\nhi\r\n"
    assert message("to", b"hi", headers={"A": "b"}) == b"HPUB to 18 20\r\nNATS/1.0\r\nA: b\r\n\r\nhi\r\n"
