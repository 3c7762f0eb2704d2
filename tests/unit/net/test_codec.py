"""Messages as bytes, and bytes as messages."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.net.codec import Codec, Frames, Nonsense, framed
from solvent.protocols.machine import Message, NodeId
from solvent.protocols.maps import Map


class Ping(Message, frozen=True, gc=False):
    """Is anybody there?"""

    number: int


class Pong(Message, frozen=True, gc=False):
    """Yes."""

    number: int
    text: str = ""


CODEC = Codec(Ping | Pong)


@pytest.mark.parametrize(
    "body",
    [b"", b"\xc1", b"\x91\x05", b"\x91\x81\xa4type\xa4Ding", b"\x91\x81\xa4type\xa4Ping", b"\x91" * 5000],
    ids=["nothing", "no msgpack", "no message", "unknown", "no number", "nested"],
)
def test_nonsense_is_told_apart(body: bytes) -> None:
    """Bytes that are no batch of messages are nonsense, whatever is wrong with them."""
    with pytest.raises(Nonsense, match="not a message of this protocol"):
        CODEC.decode(body)


@given(st.binary(max_size=60))
def test_any_bytes_are_messages_or_nonsense(body: bytes) -> None:
    """No bytes make the codec raise anything else."""
    try:
        messages = CODEC.decode(body)
    except Nonsense:
        return
    assert all(isinstance(message, Ping | Pong) for message in messages)


@given(st.lists(st.binary(max_size=30), max_size=6), st.lists(st.integers(1, 20), max_size=20))
def test_frames_come_whole_from_any_pieces(bodies: list[bytes], sizes: list[int]) -> None:
    """However a stream is cut on its way, the same frames come out of it."""
    data = b"".join(map(framed, bodies))
    frames, found, start = Frames(100), list[bytes](), 0
    for size in [*sizes, len(data)]:
        found += [bytes(body) for body in frames.feed(data[start : start + size])]
        start += size
    assert found == bodies


def test_a_length_over_the_limit_is_nonsense() -> None:
    """A frame that would be too long is refused as soon as its length is known."""
    with pytest.raises(Nonsense, match="a frame of 101 bytes"):
        list(Frames(100).feed(framed(b"x" * 101)[:4]))


class Counted(Message, frozen=True, gc=False):
    """A message with persistent mappings."""

    numbers: Map[NodeId, int]
    names: Map[str, str] = Map()


def test_persistent_mappings_travel() -> None:
    """They come back as they were, whatever they map."""
    codec = Codec(Counted)
    sent = [Counted(Map({NodeId(1): 2}), Map({"a": "b"})), Counted(Map())]
    assert codec.decode(codec.encode(sent, print)[4:]) == sent


@pytest.mark.parametrize("numbers", [{"a": 1}, {1: "a"}, {1: 1.5}, {1: None}, [1], 7, {True: 1}])
def test_a_mapping_of_something_else_is_no_message(numbers: object) -> None:
    """What does not fit the types of keys and values is refused."""
    body = msgspec.msgpack.encode([{"type": "Counted", "numbers": numbers}])
    with pytest.raises(Nonsense):
        Codec(Counted).decode(body)
