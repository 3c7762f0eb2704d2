"""What a journal says is read as it was written, and told; anything else is refused."""

from __future__ import annotations

import msgspec
import pytest

from solvent.runs.records import entries
from solvent.runs.records.entries import Answered, Called, Elsewhere, Ended, Failure, Heard, Opened, Signalled
from solvent.runs.records.history import AT_PLACE, happenings

ALL = [
    Opened("process 7 on here", 12.5),
    Opened("an agent", 12.5, 3),
    Called("a[3]#2", 13.0),
    Answered("a", 14.0, 1, b"\x01"),
    Answered("b", 14.0, 2, blob="0" * 64),
    Answered("c", 14.0, 3, failure=Failure("TIMEOUT", "no result after 1 s", "output")),
    Answered("d", 14.0, 1, is_unkept=True),
    Signalled("go", 15.0, b"\xc0"),
    Heard(44),
    Ended("done", 16.0),
]
NO_BLOBS = dict[str, bytes]().__getitem__


def test_entries_are_read_as_they_were_written() -> None:
    """A record holds entries of all kinds, in their order."""
    assert entries.read(entries.write(ALL), NO_BLOBS) == ALL


def test_a_record_from_before_there_were_epochs_is_read() -> None:
    """Who opened a journal then did it in epoch 0."""
    data = msgspec.msgpack.encode([["Opened", "process 7 on here", 12.5]])
    assert entries.read(data, NO_BLOBS) == [Opened("process 7 on here", 12.5)]


@pytest.mark.parametrize("data", [b"", b"\x93", b"\x91\x92\xa5Noone\x01", entries.write(ALL)[:-1]])
def test_other_bytes_are_no_record(data: bytes) -> None:
    """What was cut, or says what nobody knows, is refused."""
    with pytest.raises(ValueError, match=r"."):
        entries.read(data, NO_BLOBS)


def test_entries_that_are_a_blob_are_read_from_there() -> None:
    """What is too much for a record is told by one that names a blob."""
    blobs = {"0" * 64: entries.write(ALL)}
    assert entries.read(entries.write([Elsewhere("0" * 64)]), blobs.__getitem__) == ALL


def test_who_opens_a_place_first_begins_however_late() -> None:
    """Only who has a place after another one goes on with it."""
    noted = [Opened(f"{who}{AT_PLACE}{place}", at) for who, place, at in (("a", 0, 1.0), ("b", 0, 9.0), ("b", 1, 9.0))]
    assert [one.is_again for one in happenings(noted, frozenset())] == [False, True, False]
