"""Values that are kept come back as they were, with their types; what is no data is refused."""

from __future__ import annotations

import datetime as dt
import math
import os
from collections import OrderedDict
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.lang.molecule import Symbol
from solvent.values.codec import MAX_NESTED, Unrecordable, decode, encode
from tests.property.amounts import examples

#: Also half characters, as `os.listdir` gives for names that are no UTF-8.
TEXTS = st.text() | st.text(st.characters()) | st.binary().map(os.fsdecode)
ZONES = st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=30))])
KEYS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    TEXTS,
    st.binary(),
    st.complex_numbers(allow_nan=False),
    st.decimals(allow_nan=False),
    st.uuids(),
    st.dates(),
    st.times(),
    st.datetimes(timezones=ZONES),
    st.timedeltas(),
    st.from_regex(r"[A-Z][A-Z0-9_]{0,8}", fullmatch=True).map(Symbol),
    st.sampled_from([Path("/a/b"), Path("c"), Path("ä/é")]),
)
VALUES = st.recursive(
    KEYS | st.binary().map(bytearray),
    lambda inner: st.one_of(
        st.lists(inner),
        st.lists(inner).map(tuple),
        st.dictionaries(TEXTS, inner),
        st.dictionaries(KEYS, inner),
        st.sets(KEYS),
        st.frozensets(KEYS),
    ),
    max_leaves=12,
)


def typed(value: Any) -> Any:
    """Give a value with the types of all its parts, so that 1, 1.0 and True are different."""
    kind = type(value)
    if kind in {list, tuple}:
        return kind, [typed(one) for one in value]
    if kind is dict:
        return kind, [(typed(key), typed(one)) for key, one in value.items()]
    if kind in {set, frozenset}:
        return kind, {(type(one), one) for one in value}
    if kind is float:
        return kind, value, math.copysign(1.0, value)
    return kind, value


@examples(120)
@given(VALUES)
def test_values_come_back_as_they_were(value: Any) -> None:
    """Whatever data is written is read again with all its types, in its order."""
    assert typed(decode(encode(value))) == typed(value)


class Zone(dt.tzinfo):
    """A time zone that nobody knows."""

    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        """Know nothing."""
        raise LookupError("where?")


class Pair(NamedTuple):
    """A tuple that is more than one."""

    first: int
    second: int


class Liar:
    """An object that does not even say what it is."""

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        raise OSError("no")


class Mute(Exception):
    """An exception that cannot be told."""

    def __str__(self) -> str:
        raise ZeroDivisionError


class MuteZone(Zone):
    """A time zone that does not say why."""

    def utcoffset(self, _: dt.datetime | None) -> dt.timedelta:
        """Say nothing."""
        raise Mute


ODDITIES: list[Any] = [
    object(), len, int, ..., NotImplemented, range(3), memoryview(b"x"), Liar(), Mute(), OrderedDict(a=1),
    Pair(1, 2), dt.datetime(2020, 1, 1, tzinfo=Zone()), dt.time(1, tzinfo=MuteZone()),
    Path("\ud800"), Path("x\udce9"), 10**5000, -(10**5000), np.float64(1), np.array(["x\udce9"]),
    np.zeros(2, [("a", int)]), Symbol("X\udce9"), Decimal("sNaN"), "\ud83d\ude00",
]  # fmt: skip
#: By their numbers, since some cannot even be shown.
ODD = st.integers(0, len(ODDITIES) - 1).map(lambda number: ODDITIES[number])
ANYTHING = st.recursive(
    VALUES | ODD,
    lambda inner: st.one_of(
        st.lists(inner), st.lists(inner).map(tuple), st.dictionaries(TEXTS, inner), st.lists(inner).map(iter)
    ),
    max_leaves=6,
)


@examples(60)
@given(ANYTHING)
def test_any_value_is_kept_or_refused(value: Any) -> None:
    """Whatever a service may give comes back as it was, or is `Unrecordable`; nothing else is ever raised."""
    try:
        data = encode(value)
    except Unrecordable:
        return
    assert encode(decode(data)) == data


def test_names_that_are_no_utf_8_come_back() -> None:
    """What `os.listdir` gives for a name in another encoding is kept, also as a key and in sets."""
    name = os.fsdecode(b"caf\xe9.txt")
    for value in (name, [name], {name: {name}}, ({"a": name}, "é")):
        assert decode(encode(value)) == value


def test_whole_numbers_of_any_length_come_back() -> None:
    """A number of more digits than Python prints is kept."""
    assert decode(encode([10**5000, -(10**5000)])) == [10**5000, -(10**5000)]


@examples(30)
@given(st.sets(st.integers() | st.text()))
def test_equal_sets_are_equal_bytes(value: set[Any]) -> None:
    """The order in which a set happens to hold its members does not show."""
    other = set[Any]()
    for one in sorted(value, key=repr):
        other.add(one)
    assert encode(value) == encode(other)


def test_what_is_not_a_number_comes_back() -> None:
    """NaN, the infinities and whole numbers of any length are kept."""
    assert math.isnan(decode(encode(math.nan)))
    assert decode(encode([math.inf, -math.inf, 10**40, -(10**40)])) == [math.inf, -math.inf, 10**40, -(10**40)]


@pytest.mark.parametrize("kind", ["<f8", ">i4", "|b1", "<c16", "<U3", "<M8[ns]"])
def test_arrays_come_back(kind: str) -> None:
    """Arrays are kept with their type and their shape, also empty ones and views."""
    array = np.arange(12).astype(kind).reshape(3, 4)
    for one in (array, array.T, array[:0], array[1, 1:2]):
        found = decode(encode(one))
        assert (found.dtype, found.shape) == (one.dtype, one.shape)
        assert (found == one).all()


@pytest.mark.parametrize("value", [object(), len, lambda: 1, [1, {2: open}], np.array([object()]), type, (int,)])
def test_what_is_no_data_is_refused(value: Any) -> None:
    """Functions, classes and objects are not written, wherever they stand."""
    with pytest.raises(Unrecordable, match="no data that can be kept"):
        encode(value)


def test_a_value_within_itself_is_refused() -> None:
    """A list that holds itself has no end."""
    value: list[Any] = []
    value.append(value)
    with pytest.raises(Unrecordable, match=f"more than {MAX_NESTED} deep"):
        encode(value)


@examples(200)
@given(st.binary())
def test_other_bytes_are_no_value(data: bytes) -> None:
    """Bytes that somebody else wrote are read, or refused by `ValueError`, and nothing else happens."""
    try:
        value = decode(data)
    except ValueError:
        return
    assert encode(decode(encode(value))) == encode(value)


def test_subclasses_are_not_taken_for_their_kind() -> None:
    """What is more than a text or a number would come back as less, so it is refused."""

    class Name(str):
        __slots__ = ()

    with pytest.raises(Unrecordable):
        encode(Name("x"))
    assert decode(encode([UUID(int=5), Decimal("1.50")])) == [UUID(int=5), Decimal("1.50")]
