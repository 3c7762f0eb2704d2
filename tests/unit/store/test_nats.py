"""Stores on NATS servers: addresses, messages of the protocol, and how records are divided into batches."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.errors import StoreError
from solvent.store.nats_client import Address, Answer, Wire, headers_from, message, read_address
from solvent.store.nats_streams import Sending, _groups, _is_fenced_within, _pieces


def test_the_plainest_address() -> None:
    """A host is enough: port and name are the usual ones."""
    assert read_address("nats://host") == Address(servers=("host:4222",), name="solvent")


def test_everything_that_an_address_can_say() -> None:
    """Servers, name, replicas, durability, and who we are."""
    address = read_address("nats://ann:a%20b%40c@one:1,[::1]:2,10.0.0.3/store-2?replicas=3&durable=yes")
    assert address.servers == ("one:1", "[::1]:2", "10.0.0.3:4222")
    assert (address.name, address.replicas, address.is_durable, address.is_tls) == ("store-2", 3, True, False)
    assert (address.user, address.password, address.token) == ("ann", "a b@c", "")


def test_a_token_is_alone_before_the_at_sign() -> None:
    """Without a colon, what is before the `@` is a token."""
    address = read_address("nats://a%3Ab@host")
    assert (address.token, address.user, address.password) == ("a:b", "", "")


@pytest.mark.parametrize("url", ["tls://host", "nats://host?ca=x", "nats://host?cert=x", "nats://host?key=x"])
def test_tls_is_meant_by_its_scheme_or_its_files(url: str) -> None:
    """Who names an authority or a certificate wants TLS."""
    assert read_address(url).is_tls


def test_what_is_shown_has_no_secrets() -> None:
    """Neither what is shown nor `repr` has a password, a token or the path of a key."""
    for url in ("tls://ann:hidden@host?key=hidden&durable=no&replicas=1", "nats://hidden@host"):
        address = read_address(url)
        assert "hidden" not in address.shown + repr(address)
    assert read_address("tls://ann:x@host?durable=no&replicas=1").shown == (
        "tls://host:4222/solvent?replicas=1&durable=no"
    )


@pytest.mark.parametrize(
    "url",
    [
        "nats://",
        "nats://hidden host",
        "nats://host:0",
        "nats://host:70000",
        "nats://host:hidden",
        "nats://@host",
        "nats://one,,two",
        "nats://host/a/hidden",
        "nats://host/a.hidden",
        "nats://host?replicas=hidden",
        "nats://host?replicas=6",
        "nats://host?replicas=0",
        "nats://host?durable=hidden",
        "nats://host?hid-den=1",
        "nats://host?creds=/none/hidden",
        "ws://host",
    ],
)
def test_addresses_that_cannot_be(url: str) -> None:
    """What is wrong is an error with a code, which repeats nothing that may be secret."""
    with pytest.raises(StoreError, match="E401") as caught:
        read_address(url)
    assert "hidden" not in caught.value.show()


@pytest.mark.parametrize("options", ["ca=/none", "cert=/none"])
def test_files_for_tls_must_be_there(options: str) -> None:
    """Certificates are read when the connection is made ready."""
    with pytest.raises(StoreError, match="E401"):
        read_address(f"tls://host?{options}").tls_context()
    assert read_address("nats://host").tls_context() is None


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


def _sending(subject: str, expected: int | None = None, size: int = 1) -> Sending:
    return Sending(subject, bytes(size), expected)


def test_what_follows_a_fence_waits() -> None:
    """A group ends behind a row of records with an expected position, and before a second record of a log."""
    a, b, fence, other = _sending("a"), _sending("b"), _sending("own", 7), _sending("second", 0)
    assert list(_groups([a, fence, other, b, a, fence])) == [[a, fence, other], [b, a, fence]]
    assert list(_groups([a, b])) == [[a, b]]
    assert list(_groups([a, b, a])) == [[a, b], [a]]
    assert list(_groups([])) == []


def test_batches_are_of_limited_size() -> None:
    """Neither records nor bytes are too many for one batch; each record is in one."""
    many = [_sending(str(number)) for number in range(1201)]
    assert [len(piece) for piece in _pieces(many)] == [500, 500, 201]
    large = [_sending("a", size=3 << 20) for _ in range(5)]
    assert [len(piece) for piece in _pieces(large)] == [2, 2, 1]
    assert list(_pieces([])) == []


def test_a_fence_on_what_the_batch_itself_appends_is_found() -> None:
    """A batch cannot compare with its own records."""
    assert _is_fenced_within([_sending("a"), _sending("a", 3)])
    assert not _is_fenced_within([_sending("a", 3), _sending("a"), _sending("b", 0)])
