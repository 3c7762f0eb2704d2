"""What a node must not forget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

from solvent.errors import NodeProblem
from solvent.net.journal import MARK, Journal
from solvent.protocols.machine import Value
from tests.property.amounts import examples

if TYPE_CHECKING:
    from pathlib import Path


class Kept(Value, frozen=True, gc=False, tag=True):
    """A record."""

    number: int
    values: tuple[str, ...] = ()


class Dropped(Value, frozen=True, gc=False, tag=True):
    """Another record."""

    number: int


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "node.journal"


def _written(path: Path, *records: Any, **options: Any) -> Journal:
    """Open a journal, save records, close it."""
    journal = Journal(path, Kept | Dropped, **options).open()
    for record in records:
        journal.append(record)
    journal.close()
    return journal


def test_records_come_back_in_order(path: Path) -> None:
    """A restart gets all records, as they were, and a new life."""
    first = _written(path, Kept(1, ("a",)), Dropped(1))
    second = _written(path, Kept(2))
    third = _written(path)
    assert [(one.life, one.saved) for one in (first, second, third)] == [
        (0, ()),
        (1, (Kept(1, ("a",)), Dropped(1))),
        (2, (Kept(1, ("a",)), Dropped(1), Kept(2))),
    ]
    assert third.notes == ()


def test_a_journal_may_wait_for_the_disk(path: Path) -> None:
    """With `fsync` everything works as without."""
    _written(path, Kept(1), fsync=True)
    assert _written(path, fsync=True).saved == (Kept(1),)


@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cut=st.integers(1, 60), junk=st.binary(max_size=12))
def test_a_torn_end_is_cut_off(tmp_path: Path, cut: int, junk: bytes) -> None:
    """Wherever writing stopped, what was whole before comes back and what comes later is whole too."""
    path = tmp_path / "torn.journal"
    path.unlink(missing_ok=True)
    records = [Kept(number, ("some text",)) for number in range(4)]
    _written(path, *records)
    data = path.read_bytes()
    path.write_bytes(data[: max(len(MARK), len(data) - cut)] + b"\xff" * len(junk))
    journal = _written(path, Dropped(9))
    assert list(journal.saved) == records[: len(journal.saved)]
    assert _written(path).saved == (*journal.saved, Dropped(9))


def test_a_torn_end_is_noted(path: Path) -> None:
    """Whoever starts the node is told that something was cut off."""
    _written(path, Kept(1), Kept(2))
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 3)
    journal = _written(path)
    assert journal.saved == (Kept(1),)
    assert "bytes of an unfinished record were cut off" in journal.notes[0]


def test_blocks_of_zeros_are_a_torn_end(path: Path) -> None:
    """A loss of power may leave zeros; they are no records."""
    _written(path, Kept(1))
    with path.open("ab") as file:
        file.write(bytes(4096))
    assert _written(path).saved == (Kept(1),)


def test_a_process_that_died_at_once_leaves_a_new_journal(path: Path) -> None:
    """An empty file, or half a mark, is where nothing has been saved."""
    for data in (b"", MARK[:3]):
        path.write_bytes(data)
        journal = _written(path)
        assert (journal.life, journal.saved) == (0, ())


def test_damage_before_the_end_is_an_error(path: Path) -> None:
    """A bad record with good ones behind it is no torn end, and nothing is thrown away."""
    _written(path, Kept(1, ("spoilt",)), Kept(2), Kept(3))
    data = path.read_bytes().replace(b"spoilt", b"SPOILT")
    path.write_bytes(data)
    with pytest.raises(NodeProblem, match="is damaged at byte") as caught:
        Journal(path, Kept).open()
    assert caught.value.code == "N114"
    assert path.read_bytes() == data


def test_another_file_is_no_journal(path: Path) -> None:
    """A file that is something else is not touched."""
    path.write_text("replace x, y by x + y\n")
    with pytest.raises(NodeProblem, match="is no journal"):
        Journal(path).open()
    assert path.read_text() == "replace x, y by x + y\n"


def test_records_of_another_protocol_are_an_error(path: Path) -> None:
    """A journal written by another protocol is refused, not misread."""
    _written(path, Kept(1))
    with pytest.raises(NodeProblem, match="does not fit"):
        Journal(path, Dropped).open()


def test_two_processes_cannot_share_a_journal(path: Path) -> None:
    """The second one is told that the node is running."""
    journal = Journal(path, Kept).open()
    with pytest.raises(NodeProblem, match="is in use"):
        Journal(path, Kept).open()
    journal.close()
    Journal(path, Kept).open().close()


def test_a_journal_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    """A folder that is not there is told by name."""
    with pytest.raises(NodeProblem, match="cannot open the journal"):
        Journal(tmp_path / "nowhere" / "node.journal").open()
