"""What places say to each other, as bytes and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from solvent.lang.molecule import Symbol
from solvent.runs.messages import Encoded, Message, Writer, addressed, dealt, molecule_from, packed, read, write
from solvent.store import Record
from solvent.workflows.rule_functions import molecule_of, value_of

if TYPE_CHECKING:
    from solvent.store import Store

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4) | st.tuples(inner, inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=50)
@given(VALUES)
def test_a_result_comes_as_it_was_said(store: Store, value: Any) -> None:
    """What is passed on is the same value, of the same types, on the other side."""
    molecule = (Symbol("PASS"), Symbol("T1"), Symbol("T2"), molecule_of(value))
    message = read(write(Message(3, 7, (Writer(store).encode(molecule),))))
    assert (message.sender, message.first) == (3, 7)
    heard = molecule_from(message.molecules[0], store)
    assert heard[:3] == molecule[:3]
    assert value_of(heard[3]) == value
    assert type(value_of(heard[3])) is type(value)


def test_other_molecules_come_as_they_were_said(store: Store) -> None:
    """What rules say of alternatives has no value, and comes as it is."""
    molecule = (Symbol("REPLACE"), Symbol("T1"), "with spaces", 3)
    assert molecule_from(Writer(store).encode(molecule), store) == molecule


def test_a_large_result_is_a_blob(store: Store) -> None:
    """A large value is written once, however many hear it, and is not in the message."""
    writer, large = Writer(store), molecule_of("x" * 200_000)
    first, second = (writer.encode((Symbol("PASS"), Symbol("T1"), Symbol(to), large)) for to in ("T2", "T3"))
    assert first.blob == second.blob != ""
    assert len(write(Message(0, 1, (first, second)))) < 1_000
    assert value_of(molecule_from(first, store)[3]) == "x" * 200_000


@given(st.lists(st.tuples(st.integers(0, 5), st.binary(max_size=30)), max_size=8), st.integers(20, 100))
def test_messages_of_one_record_are_dealt_out(said: list[tuple[int, bytes]], max_bytes: int) -> None:
    """Each shard gets the messages that are for it, whole and in order, however many there are in a record."""
    messages = [(to, Message(0, number, (Encoded(data),))) for number, (to, data) in enumerate(said)]
    records = list(packed((addressed(to, message) for to, message in messages), max_bytes))
    found = [
        (to, read(one.data))
        for number, data in enumerate(records, 1)
        for to, one in dealt(Record(number, "log", data), {1, 3, 5})
    ]
    assert found == [(to, message) for to, message in messages if to in {1, 3, 5}]
    assert all(len(data) <= max_bytes or len(list(dealt(Record(1, "", data), range(6)))) == 1 for data in records)


@pytest.mark.parametrize("data", [b"nonsense", b"\x00", addressed(1, Message(0, 1, ()))[:-1]])
def test_everybody_is_told_of_a_record_that_does_not_read(data: bytes) -> None:
    """A record of a stranger is handed to each shard as it is, and is no message to any of them."""
    record = Record(7, "log", data)
    assert list(dealt(record, [1, 2])) == [(1, record), (2, record)]
