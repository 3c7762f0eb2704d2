"""Values that are kept come back as they were, with their types; what is no data is refused."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.chemistry.molecule import Symbol
from solvent.running.records.values import NESTED_MAX, Unrecordable, decode, encode
from tests.property.amounts import examples

ZONES = st.sampled_from([None, dt.UTC, dt.timezone(dt.timedelta(hours=5, minutes=30))])
KEYS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    st.text(),
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
        st.dictionaries(st.text(), inner),
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
    with pytest.raises(Unrecordable, match=f"more than {NESTED_MAX} deep"):
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
