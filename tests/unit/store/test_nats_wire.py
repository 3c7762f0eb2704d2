"""What a client and a NATS server say to each other is put together and taken apart."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.store.nats_client import Answer, Wire, headers_from, message


class Library(asyncio.Protocol):
    """Stands where the library is, and notes what it gets."""

    def __init__(self) -> None:
        self.told = b""

    def data_received(self, data: bytes) -> None:
        """Note it."""
        self.told += data


def _heard(parts: list[bytes]) -> tuple[list[Answer], bytes]:
    library, heard = Library(), list[Answer]()
    wire = Wire(library)
    wire.heard[b"7"] = heard.append
    for part in parts:
        wire.data_received(part)
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
    assert told == b"PING\r\n" * sum(not has_headers for _, has_headers in contents)


def test_what_is_not_heard_here_is_the_librarys() -> None:
    """Messages of other subscriptions, and all that is no message, go to the library as they came."""
    said = b"MSG other 8 back 2\r\nhi\r\n-ERR 'Slow'\r\nHMSG other 9 12 12\r\nNATS/1.0\r\n\r\n\r\n"
    assert _heard([said[:30], said[30:]]) == ([], said)


@pytest.mark.parametrize("said", [b"MSG in.1 7 much\r\n", b"MSG\r\n"])
def test_nonsense_is_left_to_the_library(said: bytes) -> None:
    """A connection on which something else comes is the library's to complain about, with all that follows."""
    more = b"MSG in.1 7 2\r\nhi\r\n"
    assert _heard([b"PING\r\n" + said, more]) == ([], b"PING\r\n" + said + more)


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
