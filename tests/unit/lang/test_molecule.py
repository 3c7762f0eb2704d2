"""Molecules: equality, copies, order."""

from __future__ import annotations

import math
import pickle

import pytest

import solvent
from solvent.lang.molecule import (
    Endless,
    List,
    Molecule,
    Opaque,
    Symbol,
    copied,
    equal,
    order_key,
)
from solvent.lang.solution import Solution

DIFFERENT: list[Molecule] = [
    1,
    1.0,
    True,
    0,
    False,
    "1",
    "",
    Symbol("A"),
    "A",
    (1, 2),
    List([1, 2]),
    (1.0, 2),
    List(),
    Solution(),
    Solution([1]),
    Solution([True]),
    Solution([1, 1]),
    Endless(1),
    Opaque(1),
    Opaque(None),
]


@pytest.mark.parametrize("at", range(len(DIFFERENT)))
def test_molecules_of_other_kinds_differ(at: int) -> None:
    """Molecules are equal only when they are the same kind and equal inside."""
    assert [equal(DIFFERENT[at], other) for other in DIFFERENT] == [at == other for other in range(len(DIFFERENT))]


@pytest.mark.parametrize("at", range(len(DIFFERENT)))
def test_order_tells_molecules_apart_as_equality_does(at: int) -> None:
    """Equal molecules, and only they, have equal keys."""
    key = order_key(DIFFERENT[at])
    assert [key == order_key(other) for other in DIFFERENT] == [at == other for other in range(len(DIFFERENT))]


def test_any_molecules_can_be_sorted() -> None:
    """Molecules of all kinds have one order."""
    rule = solvent.hocl.rule("replace x by x", name="r")
    mixed = [*DIFFERENT, rule, math.nan, math.inf, -math.inf]
    assert len(sorted(mixed, key=order_key)) == len(mixed)


def test_symbol_is_one_object_for_each_name() -> None:
    """Symbols of one name are one object, also when unpickled."""
    assert Symbol("A") is Symbol("A")
    assert pickle.loads(pickle.dumps(Symbol("A"))) is Symbol("A")  # noqa: S301 - our own bytes


def test_copy_shares_no_solution() -> None:
    """A copy of a molecule that holds solutions changes without the original."""
    inner = Solution([1])
    original = (1, List([inner]))
    copy = copied(original)
    inner.add(2)
    assert equal(copy, (1, List([Solution([1])])))


def test_opaque_values_compare_by_value_and_type() -> None:
    """Opaque molecules are equal when their values are the same type and equal."""
    assert Opaque([1]) == Opaque([1])
    assert Opaque({1}) != Opaque(frozenset({1}))
    assert Opaque([1]) != [1]


def test_opaque_values_that_cannot_be_compared_differ() -> None:
    """A value whose comparison raises equals only itself."""

    class Odd:
        __hash__ = None  # type: ignore[assignment]

        def __eq__(self, other: object) -> bool:
            raise ValueError

    odd = Odd()
    assert Opaque(odd) == Opaque(odd)
    assert Opaque(odd) != Opaque(Odd())
    assert hash(Opaque(odd)) == hash(Opaque(Odd()))
