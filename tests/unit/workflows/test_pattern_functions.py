"""What rules of patterns compute with: arguments of what arrived, the parts of many instances, and one more."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.lang.molecule import List, Molecule, Opaque, Symbol
from solvent.workflows.rule_functions import another, arguments, molecule_of, parts, value_of, whole

A, B, C = Symbol("A"), Symbol("B"), Symbol("C")
FROM, VALUE, FILTER, ALL = Symbol("FROM"), Symbol("VALUE"), Symbol("FILTER"), Symbol("ALL")
ARRIVED, SIGNALLED, SIGNAL = Symbol("ARRIVED"), Symbol("SIGNALLED"), Symbol("SIGNAL")
ANY = (ARRIVED, List((A, B)))


def values(template: list[Molecule], *received: Molecule) -> Any:
    """Give the arguments as Python has them."""
    return value_of(arguments(List(template), *received))


@pytest.mark.parametrize(
    "template, received, found",
    [
        ([(FROM, A)], [(A, 0, 1)], [1]),
        ([(FROM, A)], [(B, 0, 1)], [None]),
        ([(FROM, A)], [], [None]),
        ([(FROM, A), (FROM, B)], [(B, 0, 2)], [None, 2]),
        ([(FROM, A), (VALUE, 7), (FROM, A)], [(A, 0, 1)], [1, 7, 1]),
        ([(FROM, "a b")], [("a b", 3, 1)], [1]),
        ([(FILTER, A, 2)], [(A, 0, List((5, 6)))], [6]),
        ([(FILTER, A, 2)], [], [None]),
        ([(FILTER, A, 2)], [(FILTER, A, 2, 9)], [9]),
        ([(FROM, A), (FILTER, B, 1)], [(A, 0, False)], [False, None]),
    ],
)
def test_results_that_are_missing_are_nothing(
    template: list[Molecule], received: list[Molecule], found: list[Any]
) -> None:
    """An argument of a source that has not arrived is nothing, be it a result or an item of one."""
    assert values(template, *received) == found


def test_item_of_what_has_none_is_unusable() -> None:
    """An item of a result that has arrived and is no list, or too short, says so."""
    for result, said in ((5, "which is not a list"), (List((1,)), "of a list of 1")):
        (found,) = values([(FILTER, A, 2)], (A, 0, result))
        assert said in found


@pytest.mark.parametrize(
    "part, received, found",
    [
        (ANY, [(B, 0, 2)], 2),
        (ANY, [], None),
        (ANY, [(C, 0, 3)], None),
        (ANY, [(SIGNAL, 0, 3), (B, 0, 2)], 2),
        ((*ANY, ALL), [], []),
        ((*ANY, ALL), [(B, 0, 2), (A, 0, 1)], [1, 2]),
        ((*ANY, ALL), [(B, 0, 2)], [2]),
        ((*ANY, ALL), [(B, 0, 2), (SIGNAL, 0, 3), (C, 0, 4)], [2]),
        ((*ANY, ALL), [(A, 0, molecule_of(None)), (A, 0, List((1,)))], [None, [1]]),
    ],
)
def test_what_arrived(part: Molecule, received: list[Molecule], found: Any) -> None:
    """What arrived is what came from sources, in their order; what came with a signal is no part of it."""
    assert values([part], *received) == [found]


def test_what_was_signalled() -> None:
    """What came with a signal is an argument of its own, or nothing."""
    template = [(SIGNALLED, 0), ANY]
    assert values(template, (SIGNAL, 0, "hello"), (A, 0, 1)) == ["hello", 1]
    assert values(template, (A, 0, 1)) == [None, 1]


@pytest.mark.parametrize(
    "over, template, received, found",
    [
        (0, [(FROM, A), (VALUE, 9)], [(A, 0, List((1, 2)))], [[1, 9], [2, 9]]),
        (1, [(VALUE, 9), (FROM, A)], [(A, 0, Opaque((1, 2)))], [[9, 1], [9, 2]]),
        (0, [(FROM, A)], [(A, 0, List(()))], []),
        (0, [(*ANY, ALL)], [(A, 0, 1), (B, 0, 2)], [[1], [2]]),
        (-1, [(VALUE, 9), (VALUE, 2)], [], [[9], [9]]),
        (-1, [(VALUE, 9), (FROM, A)], [(A, 0, 0)], []),
        (-1, [(FROM, A)], [(A, 0, 3)], [[], [], []]),
    ],
)
def test_parts(over: int, template: list[Molecule], received: list[Molecule], found: list[Any]) -> None:
    """Instances get an item of the list each, or all the same arguments as often as the last one says."""
    assert value_of(parts(over, List(template), *received).value) == found


@pytest.mark.parametrize(
    "count, said",
    [
        ("many", "it is started a text times"),
        (-1, "it is started -1 times"),
        (2.0, "it is started a number times"),
        (True, "it is started true or false times"),
        (Opaque(None), "it is started `None` times; is a `return` missing in the service?"),
    ],
)
def test_count_that_is_none(count: Molecule, said: str) -> None:
    """A number of instances that is none makes one instance that cannot be called, and says why."""
    (only,) = value_of(parts(-1, List([(VALUE, 1), (VALUE, count)])).value)
    assert (only[0], only[-1]) == (1, said)


def test_parts_of_what_is_no_list() -> None:
    """What is no list makes one instance that cannot be called, and says why."""
    for value, kind in (("text", "a text"), (5, "an integer"), (Opaque({}), "Python's dict")):
        (only,) = value_of(parts(0, List([(VALUE, value)])).value)
        assert only == [f"it is called for each item of {kind}, which is not a list"]


def test_one_more_gets_the_result_in_place_of_its_item() -> None:
    """An instance that comes later has the arguments of the others, with a result in place of the item."""
    template = List([(VALUE, 8), (FROM, A), (VALUE, 9)])
    common = whole(1, template, (A, 0, List((1, 2))))
    assert value_of(another(A, common, 5)) == [8, 5, 9]
    same = whole(-1, List([(VALUE, 8), (VALUE, 3)]))
    assert value_of(another(A, same, 5)) == [8]
