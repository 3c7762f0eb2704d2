"""Operators: what they compute and what they refuse."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest

from solvent.lang import operators
from solvent.lang.molecule import List, Molecule, Opaque, Symbol
from solvent.lang.operators import (
    Incomputable,
    add,
    divide,
    kind_name,
    less,
    less_equal,
    member,
    multiply,
    negate,
    remainder,
    subtract,
    truth,
)
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize(
    "operator, left, right, value",
    [
        (add, 1, 2, 3),
        (add, 1, 2.5, 3.5),
        (add, "a", "b", "ab"),
        (add, "a", 1, "a1"),
        (add, 1.5, "a", "1.5a"),
        (add, "a", True, "atrue"),
        (add, "a", Symbol("B"), "aB"),
        (add, List([1]), List([2]), List([1, 2])),
        (subtract, 1, 2, -1),
        (multiply, 3, 2.0, 6.0),
        (divide, 7, 2, 3),
        (divide, -7, 2, -3),
        (divide, 7, -2, -3),
        (divide, -7, -2, 3),
        (divide, 7.0, 2, 3.5),
        (divide, 10**40, 10**20, 10**20),
        (remainder, 7, 3, 1),
        (remainder, -7, 3, -1),
        (remainder, 7, -3, 1),
        (remainder, 7.5, 2, 1.5),
        (less, 1, 2.5, True),
        (less, "a", "b", True),
        (less_equal, 2, 2, True),
        (less_equal, "b", "a", False),
        (member, 1, List([1.0, 1]), True),
        (member, 1, List([1.0, True]), False),
        (member, 1, Solution([1]), True),
        (member, "b", "abc", True),
    ],
)
def test_values(operator: Callable[..., Molecule], left: Molecule, right: Molecule, value: Molecule) -> None:
    """Each operator computes what Java's would, exactly for integers."""
    found = operator(left, right)
    assert type(found) is type(value)
    assert found == value


@pytest.mark.parametrize(
    "operator, left, right, message",
    [
        (add, 1, True, "cannot add int and bool"),
        (add, Symbol("A"), 1, "cannot add symbol and int"),
        (subtract, "a", 1, "cannot subtract string and int"),
        (multiply, List(), 2, "cannot multiply list and int"),
        (divide, (1, 2), 2, "cannot divide tuple and int"),
        (divide, 1, 0, "division by zero"),
        (divide, 1.0, 0, "division by zero"),
        (remainder, 1, 0, "division by zero"),
        (remainder, 1, "a", "cannot divide int and string"),
        (less, 1, "a", "cannot compare int and string"),
        (less, True, False, "cannot compare bool and bool"),
        (less_equal, 1, Solution(), "cannot compare int and a solution"),
        (less, Symbol("A"), Symbol("B"), "cannot compare symbol and symbol"),
        (member, 1, 2, "cannot look into int"),
        (member, 1, "a", "cannot look into string"),
    ],
)
def test_refusals(operator: Callable[..., Molecule], left: Molecule, right: Molecule, message: str) -> None:
    """What an operator does not apply to it refuses, naming both kinds."""
    with pytest.raises(Incomputable, match=f"^{message}$"):
        operator(left, right)


def test_negate() -> None:
    """Numbers are negated, nothing else is."""
    assert negate(2.5) == -2.5
    with pytest.raises(Incomputable, match="cannot negate bool"):
        negate(True)


def test_truth() -> None:
    """Only booleans are true or false."""
    assert truth(True) is True
    with pytest.raises(Incomputable, match="expected a bool, found int"):
        truth(1)


def test_remainder_of_infinity() -> None:
    """Infinity has no remainder."""
    assert math.isnan(remainder(math.inf, 2.0))


@pytest.mark.parametrize("operator", [divide, add, subtract, multiply, remainder])
def test_huge_integers_with_floats_are_refused(operator: Callable[..., Molecule]) -> None:
    """An integer too large for a float is refused beside one, not a crash."""
    with pytest.raises(Incomputable):
        operator(10**400, 2.5)


def test_kind_names() -> None:
    """Messages name opaque values by their Python type."""
    assert kind_name(Opaque({})) == "Python's dict"
    assert operators.shown((1, 2)) != ""


def test_huge_integers_join_strings_in_decimal() -> None:
    """An integer of any length joins a string by its decimal digits."""
    assert add("a", 10**5000) == "a1" + "0" * 5000
