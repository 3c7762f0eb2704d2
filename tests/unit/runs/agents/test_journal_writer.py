"""What places have noted and said is kept; letters that nobody waits for are not lost in silence."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from solvent.runs.agents.journal_writer import JournalWriter
from solvent.store import Append, open_store

if TYPE_CHECKING:
    from pathlib import Path


class Speaker:
    """Stands where a place is: it has noted something, and has something to say."""

    def __init__(self, letter: bytes) -> None:
        self.journal = SimpleNamespace(kept=lambda _: None)
        self._letter = letter

    def appends(self) -> list[Append]:
        """Give a record and a letter."""
        return [Append("at", b"noted", 0), Append("to", self._letter)]


def _refused(tmp_path: Path, letter: bytes) -> list[str]:
    with open_store(str(tmp_path / "store.db"), max_record_bytes=100) as store:
        store.is_atomic = False
        writer, place = JournalWriter(store, lambda _: False), Speaker(letter)
        some: Any = place
        assert writer.keep([some]) == {}
        until, found = time.monotonic() + 200, dict[Any, Any]()
        while writer._under_way and time.monotonic() < until:
            found |= writer.refused()
        assert not writer._under_way
        assert [one.data for one in store.read("at")] == [b"noted"]
        assert bool(store.read("to")) == (not found)
        assert set(found) <= {place}
        assert writer.refused() == {}
        return [error.code for error in found.values()]


def test_a_letter_that_is_taken_is_no_problem(tmp_path: Path) -> None:
    """It is in the log, and nothing is told of it."""
    assert _refused(tmp_path, b"said") == []


def test_a_letter_that_is_refused_is_told(tmp_path: Path) -> None:
    """The place that said it is named, once, also if it never notes anything again."""
    assert _refused(tmp_path, bytes(101)) == ["E405"]
