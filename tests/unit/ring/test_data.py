"""What can be broadcast."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.errors import Misuse
from solvent.ring.data import MAX_BYTES, packed, unpacked

NUMBERS = st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
PLAIN = st.none() | st.booleans() | NUMBERS | st.text() | st.binary()
DATA = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.integers(0, 9), inner), max_leaves=20
)


@given(DATA)
def test_data_comes_back_as_it_was_given(data: Any) -> None:
    """What can be broadcast is heard as it was said."""
    assert unpacked(packed(data)) == data


def test_tuples_come_back_as_lists() -> None:
    """MessagePack has one kind of sequence."""
    assert unpacked(packed((1, (2, 3)))) == [1, [2, 3]]


class _Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    "data",
    [
        {1, 2},
        object(),
        [1, {"a": dt.datetime(2020, 1, 1)}],  # noqa: DTZ001
        {(1, 2): 3},
        {"colour": _Colour.RED},
        2**64,
        "\ud800",
        len,
    ],
)
def test_anything_else_is_an_error_at_the_call(data: Any) -> None:
    """What would come back as something else, or not at all, is refused with a reason."""
    with pytest.raises(Misuse) as refused:
        packed(data)
    assert refused.value.code == "P341"


def test_deep_and_endless_data_is_refused() -> None:
    """A list that contains itself is no reason to hang."""
    endless: list[Any] = []
    endless.append(endless)
    with pytest.raises(Misuse, match="nested"):
        packed(endless)


def test_large_data_is_refused() -> None:
    """There is a limit, and it is told."""
    assert packed(b"x" * (MAX_BYTES - 10))
    with pytest.raises(Misuse) as refused:
        packed(b"x" * MAX_BYTES)
    assert refused.value.code == "P342"
    assert "1,048,576" in refused.value.message
