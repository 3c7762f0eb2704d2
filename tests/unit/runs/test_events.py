"""What a journal says is read as it was written; anything else is refused."""

from __future__ import annotations

import pytest

from solvent.runs import events
from solvent.runs.events import (
    Adapted,
    CallAnswered,
    CallFailed,
    CallLost,
    CallStarted,
    Ended,
    MessagesReceived,
    ShardClosed,
    ShardTaken,
    SignalReceived,
)
from solvent.runs.kept import Kept, MemoryBlobs
from solvent.runs.report import Failed

ADAPTED = Adapted("instead", "a", 14.0, "FAILED: no", ("a", "b"), ("c",))
ALL = [
    ShardTaken("process 7 on here", 12.5),
    ShardTaken("an agent", 12.5, 3, resumed=True),
    CallStarted("a[3]#2", "a", 13.0),
    CallStarted("a[3]#2", "a", 13.0, 2),
    CallAnswered("a", 14.0, 1, Kept(b"\x01")),
    CallAnswered("b", 14.0, 2, Kept(blob="0" * 64)),
    CallFailed("c", "c", 14.0, 3, "TIMEOUT", "no result after 1 s", "output"),
    CallFailed("c", "c", 14.0, 1, "FAILED", "no", is_last=False),
    CallLost("c", 14.0),
    ADAPTED,
    SignalReceived("go", 15.0, b"\xc0"),
    MessagesReceived(44),
    ShardClosed(
        16.0, {"a": "done"}, {"a": 2}, {"a": Kept(b"\x01")}, adaptations=[ADAPTED], failures=[Failed("c", "LOST", "x")]
    ),
    Ended("done", 16.0),
]


def encoded(some: list[events.Event], blobs: MemoryBlobs, *, max_bytes: int = 10_000) -> bytes:
    """Make a record."""
    return events.encode(some, max_bytes=max_bytes, put_blob=blobs.put_blob)


@pytest.mark.parametrize("max_bytes", [10_000, 10])
def test_events_are_read_as_they_were_written(max_bytes: int) -> None:
    """A record holds events of all kinds, in their order; what is too much for it is in a blob."""
    blobs = MemoryBlobs()
    data = encoded(ALL, blobs, max_bytes=max_bytes)
    assert (len(data) < 100) == (max_bytes == 10)
    assert events.decode(data, blobs.get_blob) == ALL


@pytest.mark.parametrize("data", [b"", b"\x93", b"\x91\x92\xa5Noone\x01", encoded(ALL, MemoryBlobs())[:-1]])
def test_other_bytes_are_no_record(data: bytes) -> None:
    """What was cut, or says what nobody knows, is refused."""
    with pytest.raises(ValueError, match=r"."):
        events.decode(data, MemoryBlobs().get_blob)
