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
    has_solution,
    order_key,
    sub_solutions,
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


def test_solutions_compare_as_multisets() -> None:
    """Order means nothing in a solution, number does."""
    assert equal(Solution([1, 2, 2]), Solution([2, 1, 2]))
    assert not equal(Solution([1, 2, 2]), Solution([1, 1, 2]))


def test_equality_looks_inside() -> None:
    """Tuples and lists are compared part by part, by the equality of molecules."""
    assert equal((1, Solution([2])), (1, Solution([2])))
    assert not equal(((1, 2), 3), ((1.0, 2), 3))


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


@pytest.mark.parametrize("molecule", [1, "a", Symbol("A"), (1, (2, 3)), List([1]), Opaque([])])
def test_molecule_without_solutions_is_its_own_copy(molecule: Molecule) -> None:
    """What holds no solution need not be copied."""
    assert copied(molecule) is molecule


def test_copy_of_an_endless_molecule() -> None:
    """An endless molecule is copied with what is in it."""
    copy = copied(Endless(Solution([1])))
    assert equal(copy, Endless(Solution([1])))


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


@pytest.mark.parametrize(
    "molecule, text",
    [
        (Symbol("A"), "Symbol('A')"),
        (List([1]), "List([1])"),
        (Opaque(1), "Opaque(1)"),
        (Endless(1), "Endless(1)"),
        (Solution([2, 1]), "Solution([1, 2])"),
    ],
)
def test_molecules_show_what_they_are_to_programmers(molecule: Molecule, text: str) -> None:
    """Each type of molecule has a readable `repr`."""
    assert repr(molecule) == text


def test_sub_solutions() -> None:
    """The solutions of a molecule are found in tuples and lists, and not inside one another."""
    inner, outer = Solution([1]), Solution([Solution()])
    assert list(sub_solutions((1, List([inner]), outer))) == [inner, outer]
    assert list(sub_solutions(Endless(inner))) == [inner]
    assert list(sub_solutions(1)) == []


def test_has_solution() -> None:
    """A molecule knows whether a solution stands anywhere in it."""
    assert has_solution((1, List([Solution()])))
    assert has_solution(Solution())
    assert not has_solution((1, List([2]), "a"))
