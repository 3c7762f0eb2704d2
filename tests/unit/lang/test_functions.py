"""Functions of the host program: registering, counting arguments, converting values."""

from __future__ import annotations

import enum
from fractions import Fraction

import pytest

import solvent
from solvent.lang.functions import Function, Functions, molecule_from_python, python_from_molecule
from solvent.lang.molecule import List, Opaque, Symbol
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution


def test_register_as_decorator() -> None:
    """A decorated function is known by its own name and unchanged."""
    functions = Functions()

    @functions.register
    def twice(value: int) -> int:
        return 2 * value

    found = functions.find("twice")
    assert found is not None
    assert (found(4), twice(4)) == (8, 8)


@pytest.mark.parametrize("name", ["Twice", "two words", "2two", ""])
def test_names_that_no_function_can_have(name: str) -> None:
    """A name that reads as a symbol, or as no name, is refused."""
    functions = Functions()
    with pytest.raises(solvent.Misuse) as caught:
        functions.register(type("Nameless", (), {"__call__": lambda _self: 1})(), name)
    assert caught.value.code == "H301"


def test_registered_function_hides_a_built_in_one() -> None:
    """A function of the host program comes before a built-in one of the same name."""
    functions = Functions()
    functions.register(lambda *_: "mine", "max")
    assert solvent.hocl.molecules("max(1, 2)", functions=functions) == ["mine"]
    assert solvent.hocl.molecules("max(1, 2)") == [2]


class Host:
    """Callable things of all kinds."""

    def method(self, value: int, more: int = 0) -> int:
        """Take one or two."""
        return value + more

    def __call__(self, value: int) -> int:
        """Take one."""
        return value


@pytest.mark.parametrize(
    "call, counts, words",
    [
        (lambda: 1, [0], "0 arguments"),
        (lambda one: one, [1], "1 argument"),
        (lambda one, two=0: one + two, [1, 2], "1 to 2 arguments"),
        (lambda *all_: all_, [0, 1, 2, 3], "0 arguments or more"),
        (Host().method, [1, 2], "1 to 2 arguments"),
        (Host(), [1], "1 argument"),
        (len, [0, 1, 2, 3], "0 arguments or more"),
    ],
)
def test_number_of_arguments(call: object, counts: list[int], words: str) -> None:
    """How many arguments a function takes is known from the function."""
    function = Function("f", call)  # type: ignore[arg-type]
    assert [count for count in range(4) if function.takes(count)] == counts
    assert function.arity_text == words


class Colour(enum.IntEnum):
    """An integer with a name."""

    RED = 1


@pytest.mark.parametrize(
    "value, molecule",
    [
        (1, 1),
        (True, True),
        ("a", "a"),
        ([1, (2, 3)], List([1, (2, 3)])),
        ((1, [2]), (1, List([2]))),
        ((), List()),
        ((1,), List([1])),
        (None, Opaque(None)),
        ({1: 2}, Opaque({1: 2})),
        (Fraction(1, 2), Opaque(Fraction(1, 2))),
        (Colour.RED, 1),
        (Symbol("A"), Symbol("A")),
    ],
)
def test_python_values_become_molecules(value: object, molecule: object) -> None:
    """Each Python value has its molecule; what HOCL has no form for is opaque."""
    found = molecule_from_python(value)
    assert type(found) is type(molecule)
    assert found == molecule


def test_molecules_become_python_values() -> None:
    """Lists become lists, opaque values themselves; the rest stays."""
    found = python_from_molecule((1, List([Opaque(None), List()]), Symbol("A")))
    assert found == (1, [None, []], Symbol("A"))


def test_rules_and_solutions_pass_unchanged() -> None:
    """Rules and solutions go to functions and back as they are."""
    rule = solvent.hocl.rule("replace x by x")
    solution = Solution([1])
    assert molecule_from_python(rule) is rule
    assert python_from_molecule(solution) is solution
    assert isinstance(rule, Rule)
