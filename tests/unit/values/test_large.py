"""Values with something large in them are written in pieces that are, together, what the encoder makes of them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from solvent.values.codec import Unrecordable, decode, encode, pieces
from solvent.values.encoding import Pieces, whole
from solvent.values.large import MIN_LARGE_BYTES

DATA, TEXT, WIDE = b"x" * MIN_LARGE_BYTES, "x" * MIN_LARGE_BYTES, "ä" * MIN_LARGE_BYTES
PLAIN: list[Any] = [
    DATA,
    TEXT,
    WIDE,
    DATA[1:],
    [DATA],
    {"a": TEXT},
    {WIDE: DATA},
    [1, None, [2.5, [DATA, {"b": WIDE}], "c"], True],
    {f"k{n}": DATA if n == 3 else n for n in range(40)},
    [DATA, *range(70_000)],
]


@pytest.mark.parametrize("value", PLAIN, ids=range(len(PLAIN)))
def test_pieces_are_what_the_encoder_writes(value: Any) -> None:
    """The bytes are those of msgspec's encoder, and their number is known before."""
    found = pieces(value)
    assert whole(found) == msgspec.msgpack.encode(value)
    assert len(found) == len(msgspec.msgpack.encode(value))


@pytest.mark.parametrize(
    "value",
    [
        (DATA,),
        (1, (TEXT, [WIDE])),
        {1: DATA},
        {(1, 2): {"a": (TEXT,)}},
        [TEXT, "\ud800"],
        [{WIDE}, DATA],
        (1 << 80, DATA),
    ],
    ids=range(7),
)
def test_what_is_large_comes_back_as_it_was(value: Any) -> None:
    """Tuples, dictionaries with any keys, sets and half characters come back with what is large in them."""
    assert decode(encode(value)) == value


def test_what_is_large_is_not_copied() -> None:
    """Large bytes are a piece as they are."""
    found = pieces([1, (2, DATA)])
    assert isinstance(found, Pieces)
    assert any(part is DATA for part in found.parts)


def test_a_value_in_itself_is_refused() -> None:
    """A list that holds itself, twice, is refused at once."""
    value: list[Any] = [DATA]
    value += [value, value]
    with pytest.raises(Unrecordable, match="nested"):
        pieces(value)
