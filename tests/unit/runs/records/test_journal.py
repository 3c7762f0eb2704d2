"""A journal has one writer at a time, and whoever opens it knows all that was written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from solvent.errors import RecordProblem
from solvent.runs.records import Journal, read_journal
from solvent.runs.records.entries import Answered, Called, Failure, Opened
from solvent.runs.records.journal import MIN_BLOB_BYTES
from solvent.store import Conflict, Store, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOG = "runs/r/journal"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Give a new store."""
    with open_store(str(tmp_path / "store.db"), is_durable=False) as store:
        yield store


def opened(store: Store, *, epoch: int = 0, **options: Any) -> Journal:
    """Give an open journal."""
    journal = Journal(store, LOG, "me", **options)
    journal.open(epoch)
    return journal


@pytest.mark.parametrize("late", [1, 2])
def test_a_journal_is_not_opened_in_an_epoch_that_is_over(store: Store, late: int) -> None:
    """Who took the lease and came late to the journal changes nothing, however much it reads; the next one may."""
    second = opened(store, epoch=2)
    with pytest.raises(RecordProblem, match="another process goes on") as problem:
        opened(store, epoch=late)
    assert problem.value.code == "R402"
    second.called("a")
    second.commit()
    assert dict(opened(store, epoch=3).begun) == {"a": 1}


def test_a_journal_is_found_as_it_was_left(store: Store) -> None:
    """Answers come in their order, with their values; calls are counted; what was not committed is not there."""
    first = opened(store)
    first.called("a")
    first.called("b")
    assert first.answered("b", 1, {"x": (1, 2)}, None) == ""
    first.commit()
    assert first.answered("a", 3, None, Failure("FAILED", "no")) == ""
    first.commit()
    first.called("c")
    second = opened(store)
    assert [one.key for one in second.past] == ["b", "a"]
    assert second.value_of(second.past[0]) == {"x": (1, 2)}
    assert second.past[1].failure == Failure("FAILED", "no")
    assert dict(second.begun) == {"a": 1, "b": 1}


def test_who_was_replaced_finds_out(store: Store) -> None:
    """Of two writers the earlier one can write nothing any more, and changes nothing."""
    first, second = opened(store), opened(store)
    first.called("a")
    with pytest.raises(RecordProblem, match="another process goes on") as problem:
        first.commit()
    assert problem.value.code == "R402"
    second.called("b")
    second.commit()
    assert [type(one) for _, one in read_journal(store, LOG)] == [Opened, Opened, Called]


def test_large_values_are_blobs(store: Store) -> None:
    """The log stays short, and the value is the same."""
    journal = opened(store)
    journal.answered("a", 1, bytes(MIN_BLOB_BYTES), None)
    journal.commit()
    again = opened(store)
    answer = again.past[0]
    assert isinstance(answer, Answered)
    assert (answer.value, len(answer.blob)) == (b"", 64)
    assert again.value_of(answer) == bytes(MIN_BLOB_BYTES)


def test_values_that_are_no_data_are_named(store: Store) -> None:
    """An answer that cannot be kept is noted as such, and it is said why."""
    journal = opened(store)
    assert "builtins.object" in journal.answered("a", 1, object(), None)
    journal.commit()
    assert opened(store).past[0] == Answered("a", opened(store).past[0].at, 1, is_unkept=True)


def test_a_reader_writes_nothing(store: Store) -> None:
    """A journal that is opened to be read stays as it is, also if something is noted."""
    opened(store).called("a")
    position = store.last(LOG)
    reader = opened(store, is_read_only=True)
    reader.called("b")
    reader.commit()
    assert store.last(LOG) == position


def test_a_damaged_record_is_named(store: Store) -> None:
    """Bytes that are no entries raise R403."""
    store.append(LOG, b"\xff\xff")
    with pytest.raises(RecordProblem, match="does not read") as problem:
        opened(store)
    assert problem.value.code == "R403"


def test_an_append_that_happened_unheard_is_no_conflict(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store lost the answer to an append, the record that is there is seen to be this writer's."""
    journal = opened(store)
    append = store.append

    def lost(log: str, data: bytes, *, expected: int | None = None) -> int:
        append(log, data, expected=expected)
        raise Conflict(log, expected=expected or 0, last=0)

    journal.called("a")
    monkeypatch.setattr(store, "append", lost)
    journal.commit()
    monkeypatch.undo()
    journal.called("b")
    journal.commit()
    assert [one.key for _, one in read_journal(store, LOG) if isinstance(one, Called)] == ["a", "b"]


@pytest.mark.parametrize("is_taken", [False, True])
def test_what_an_error_has_stopped_stands_before_what_comes_next(
    store: Store, monkeypatch: pytest.MonkeyPatch, *, is_taken: bool
) -> None:
    """A record whose append ended in an error that is none of the store's is written once, before later ones."""
    journal = opened(store)
    append = store.append

    def broken(log: str, data: bytes, *, expected: int | None = None) -> int:
        if is_taken:
            append(log, data, expected=expected)
        raise KeyboardInterrupt

    journal.called("a")
    monkeypatch.setattr(store, "append", broken)
    with pytest.raises(KeyboardInterrupt):
        journal.commit()
    monkeypatch.undo()
    journal.called("b")
    journal.commit()
    assert [one.key for _, one in read_journal(store, LOG) if isinstance(one, Called)] == ["a", "b"]


def test_a_record_that_was_given_away_is_waited_for(store: Store) -> None:
    """Who appends records itself gets the next one only when it has told where the last one is."""
    journal = opened(store)
    journal.called("a")
    (first,) = journal.taken()
    journal.called("b")
    with pytest.raises(RecordProblem, match="nobody knows where"):
        journal.taken()
    journal.kept(store.append(*first[:2], expected=first.expected))
    (second,) = journal.taken()
    journal.kept(store.append(*second[:2], expected=second.expected))
    assert [one.key for _, one in read_journal(store, LOG) if isinstance(one, Called)] == ["a", "b"]
