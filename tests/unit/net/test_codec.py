"""Messages as bytes, and bytes as messages."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from immutables import Map

from solvent.net.codec import Codec, Frames, Nonsense, framed
from solvent.protocols.machine import Message, NodeId


class Ping(Message, frozen=True, gc=False):
    """Is anybody there?"""

    number: int


class Pong(Message, frozen=True, gc=False):
    """Yes."""

    number: int
    text: str = ""


CODEC = Codec(Ping | Pong)


def _never(message: Any) -> None:
    pytest.fail(f"{message} is not too large")


def _bodies(data: bytes, *, max_bytes: int = 1000) -> list[bytes]:
    return [bytes(body) for body in Frames(max_bytes).feed(data)]


def test_a_batch_is_one_frame() -> None:
    """All messages of a batch travel in one frame and come back in order."""
    messages = [Ping(1), Pong(2, "x"), Ping(3)]
    (body,) = _bodies(CODEC.encode(messages, _never))
    assert CODEC.decode(body) == messages


def test_a_batch_too_large_becomes_several_frames() -> None:
    """What does not fit one frame is spread over several."""
    codec = Codec(Ping | Pong, max_frame_bytes=100)
    messages = [Pong(number, "x" * 20) for number in range(10)]
    bodies = _bodies(codec.encode(messages, _never), max_bytes=100)
    assert len(bodies) > 1
    assert [message for body in bodies for message in codec.decode(body)] == messages


def test_a_message_too_large_is_left_out() -> None:
    """A message that fits no frame is passed back, and the others are sent."""
    codec, left_out = Codec(Ping | Pong, max_frame_bytes=100), list[Any]()
    large = Pong(2, "x" * 200)
    bodies = _bodies(codec.encode([Ping(1), large, Ping(3)], left_out.append), max_bytes=100)
    assert left_out == [large]
    assert [message for body in bodies for message in codec.decode(body)] == [Ping(1), Ping(3)]


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
