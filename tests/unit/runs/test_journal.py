"""A journal has one writer at a time, and whoever opens it knows all that was written."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.errors import RecordProblem
from solvent.runs.events import Adapted, CallAnswered, CallFailed, CallStarted, ShardTaken
from solvent.runs.journal import MAX_OUTPUT, NO_ROOM, StoredJournal, read_journal
from solvent.services import Failure
from solvent.store import Conflict, Store
from solvent.values import codec

LOG = "runs/r/shard/0"


def opened(store: Store, *, epoch: int = 0, **options: Any) -> StoredJournal:
    """Give an open journal."""
    journal = StoredJournal(store, LOG, "me", **options)
    journal.open(epoch)
    return journal


@pytest.mark.parametrize("late", [1, 2])
def test_a_journal_is_not_opened_in_an_epoch_that_is_over(store: Store, late: int) -> None:
    """Who took the lease and came late to the journal changes nothing, however much it reads; the next one may."""
    second = opened(store, epoch=2)
    with pytest.raises(RecordProblem, match="another process goes on") as problem:
        opened(store, epoch=late)
    assert problem.value.code == "R402"
    second.note(CallStarted("a", "a", 1.0))
    second.commit()
    assert dict(opened(store, epoch=3).begun) == {"a": 1}


def test_a_journal_is_found_as_it_was_left(store: Store) -> None:
    """Answers come in their order, with their values; calls are counted; what was not committed is not there."""
    first = opened(store)
    first.note(CallStarted("a", "a", 1.0))
    first.note(CallStarted("b", "b", 1.0))
    first.answered("b", 1, codec.encode({"x": (1, 2)}))
    first.commit()
    first.failed("a", "a", 3, Failure("FAILED", "no"))
    first.commit()
    first.note(CallStarted("c", "c", 1.0))
    second = opened(store)
    assert [one.call for one in second.past] == ["b", "a"]
    assert second.value_of(second.past[0]) == {"x": (1, 2)}
    failed = second.past[1]
    assert isinstance(failed, CallFailed)
    assert (failed.kind, failed.text, failed.attempts) == ("FAILED", "no", 3)
    assert dict(second.begun) == {"a": 1, "b": 1}


def test_who_was_replaced_finds_out(store: Store) -> None:
    """Of two writers the earlier one can write nothing any more, and changes nothing."""
    first, second = opened(store), opened(store)
    first.note(CallStarted("a", "a", 1.0))
    with pytest.raises(RecordProblem, match="another process goes on") as problem:
        first.commit()
    assert problem.value.code == "R402"
    second.note(CallStarted("b", "b", 1.0))
    second.commit()
    assert [type(one) for _, one in read_journal(store, LOG)] == [ShardTaken, ShardTaken, CallStarted]


def test_a_reader_writes_nothing(store: Store) -> None:
    """A journal that is opened to be read stays as it is, also if something is noted."""
    opened(store).note(CallStarted("a", "a", 1.0))
    position = store.last(LOG)
    reader = opened(store, is_read_only=True)
    reader.note(CallStarted("b", "b", 1.0))
    reader.commit()
    assert store.last(LOG) == position


def test_an_append_that_happened_unheard_is_no_conflict(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the store lost the answer to an append, the record that is there is seen to be this writer's."""
    journal = opened(store)
    append = store.append

    def lost(log: str, data: bytes, *, expected: int | None = None) -> int:
        append(log, data, expected=expected)
        raise Conflict(log, expected=expected or 0, last=0)

    journal.note(CallStarted("a", "a", 1.0))
    monkeypatch.setattr(store, "append", lost)
    journal.commit()
    monkeypatch.undo()
    journal.note(CallStarted("b", "b", 1.0))
    journal.commit()
    assert [one.call for _, one in read_journal(store, LOG) if isinstance(one, CallStarted)] == ["a", "b"]


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

    journal.note(CallStarted("a", "a", 1.0))
    monkeypatch.setattr(store, "append", broken)
    with pytest.raises(KeyboardInterrupt):
        journal.commit()
    monkeypatch.undo()
    journal.note(CallStarted("b", "b", 1.0))
    journal.commit()
    assert [one.call for _, one in read_journal(store, LOG) if isinstance(one, CallStarted)] == ["a", "b"]


def test_a_record_that_was_given_away_is_waited_for(store: Store) -> None:
    """Who appends records itself gets the next one only when it has told where the last one is."""
    journal = opened(store)
    journal.note(CallStarted("a", "a", 1.0))
    (first,) = journal.taken()
    journal.note(CallStarted("b", "b", 1.0))
    with pytest.raises(RecordProblem, match="nobody knows where"):
        journal.taken()
    journal.kept(store.append(*first[:2], expected=first.expected))
    (second,) = journal.taken()
    journal.kept(store.append(*second[:2], expected=second.expected))
    assert [one.call for _, one in read_journal(store, LOG) if isinstance(one, CallStarted)] == ["a", "b"]


def test_attempts_that_failed_are_counted_and_not_taken_again(store: Store) -> None:
    """Only the last failure of a call is an input; a call that was out when its process died is lost once."""
    first = opened(store)
    first.note(CallStarted("a", "a", 1.0))
    first.failed("a", "a", 1, Failure("FAILED", "no"), is_last=False)
    first.note(CallStarted("a", "a", 1.0, 2))
    first.commit()
    second = opened(store)
    assert (list(second.past), second.begun["a"], second.attempts["a"], second.losses["a"]) == ([], 1, 2, 1)


def test_an_adaptation_that_follows_again_is_noted_once(store: Store) -> None:
    """What was derived before is in the journal; what was not, since its process died before, is noted."""
    one, other = Adapted("x", "a", 1.0, "FAILED"), Adapted("y", "a", 1.0, "FAILED")
    first = opened(store)
    first.adapted(one)
    first.commit()
    second = opened(store)
    for adapted in (Adapted("x", "a", 9.0, "FAILED"), other, other):
        second.adapted(adapted)
    second.commit()
    assert [event for _, event in read_journal(store, LOG) if isinstance(event, Adapted)] == [one, other, other]


def test_the_output_of_calls_is_kept_within_a_bound(store: Store) -> None:
    """The first call that has no room says so, also when the journal is opened again; failures keep theirs."""
    journal, output = opened(store), "x" * 4_000
    many = MAX_OUTPUT // len(output)
    for number in range(many + 2):
        journal.answered(f"a{number}", 1, codec.encode(0), output=output)
    journal.commit()
    again = opened(store)
    again.failed("b", "b", 1, Failure("FAILED", "no", output))
    again.answered("c", 1, codec.encode(0), output=output)
    again.commit()
    noted = [one for _, one in read_journal(store, LOG) if isinstance(one, CallAnswered | CallFailed)]
    assert [one.output for one in noted] == [*[output] * many, NO_ROOM, "", output, ""]
