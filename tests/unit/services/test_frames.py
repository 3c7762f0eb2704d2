"""Frames between processes."""

from __future__ import annotations

import sys

from hypothesis import given
from hypothesis import strategies as st

from solvent.services.worker import Frames, frame, header

FRAMES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2**64 - 1), st.binary(max_size=200)), max_size=8)


@given(sent=FRAMES, sizes=st.lists(st.integers(1, 60), min_size=1))
def test_frames_arrive_whole(sent: list[tuple[int, int, bytes]], sizes: list[int]) -> None:
    """However the bytes are cut, the same frames come out in the same order."""
    data = b"".join(frame(*one) for one in sent)
    frames, seen, turn = Frames(), list[tuple[int, int, bytes | bytearray | None]](), 0
    while data:
        size = sizes[turn % len(sizes)]
        seen += frames.feed(data[:size])
        data, turn = data[size:], turn + 1
    assert seen == sent


def test_a_frame_without_room_is_left_out() -> None:
    """A frame for which there is no memory comes without its payload, and the frames behind it come whole."""
    length = sys.maxsize // 2
    frames = Frames()
    assert frames.feed(header(3, 1, length) + b"some") == []
    frames._arrived = length - 2
    assert frames.feed(b"so" + frame(3, 2, b"next")) == [(3, 1, None), (3, 2, b"next")]
