"""Programs become solutions: what molecules outside all rules stand for."""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.functions import Functions
from solvent.lang.molecule import Endless, List, Molecule, Opaque, Symbol, equal
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution
from tests.unit.lang.complaint import complaint, error_of


@pytest.mark.parametrize(
    "text, molecule",
    [
        ("3", 3),
        ("-2.5", -2.5),
        ('"a"', "a"),
        ("true", True),
        ("SRC", Symbol("SRC")),
        ('"a" : 1', ("a", 1)),
        ('"M" : ("A" : "1") : <>', ("M", ("A", "1"), Solution())),
        ("<1, <2>>", Solution([1, Solution([2])])),
        ("()", List()),
        ("(1, 2)", List([1, 2])),
        ("list(1)", List([1])),
        ("list(<1>)", List([Solution([1])])),
        ("(1, <2>)", List([1, Solution([2])])),
        ("1 + 2 * 3", 7),
        ("7 / 2", 3),
        ("-7 / 2", -3),
        ("7 / -2", -3),
        ("-7 / -2", 3),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("7.5 % 2", 1.5),
        ("7.0 / 2", 3.5),
        ("3 * 2.0", 6.0),
        pytest.param(f"1{'0' * 40} / 1{'0' * 20}", 10**20, id="exact"),
        ("(1 < 2)", True),
        ("(1 == 1.0)", False),
        ('("a" < "b")', True),
        ("(2 <= 2)", True),
        ("!true", False),
        ("(true || 1)", True),
        ("(1 in (1, 2))", True),
        ("(1 in (1.0, true))", False),
        ("(1 in <1>)", True),
        ('("b" in "abc")', True),
        ('"a" + 1', "a1"),
        ('1.5 + "a"', "1.5a"),
        ('"a" + true + B', "atrueB"),
        ("list(1) + list(2)", List([1, 2])),
        pytest.param(f'"a" + 1{"0" * 5000}', "a1" + "0" * 5000, id="long"),
        ('"abc".substring(1)', "bc"),
        ("len((1, 2))", 2),
    ],
)
def test_molecules(text: str, molecule: Molecule) -> None:
    """Each molecule outside rules stands for its value."""
    (found,) = solvent.hocl.molecules(text)
    assert type(found) is type(molecule)
    assert equal(found, molecule)


def test_several_molecules_are_a_solution() -> None:
    """A program may end in several molecules; together they are the solution."""
    assert solvent.hocl.parse("1, 2").solution() == Solution([1, 2])


def test_one_solution_is_the_solution() -> None:
    """A program that ends in one solution is that solution, not one around it."""
    assert solvent.hocl.parse("<1, 2>").solution() == Solution([1, 2])


def test_each_solution_of_a_program_is_new() -> None:
    """A program gives independent solutions, as often as it is asked."""
    program = solvent.hocl.parse("<1, <2>>")
    program.solution().add(3)
    assert program.solution() == Solution([1, Solution([2])])


def test_multiplet_is_several_molecules() -> None:
    """`m^n` is n copies of m, none for zero."""
    assert solvent.hocl.molecules("3^4, 5^0") == [3, 3, 3, 3]


def test_copies_of_a_multiplet_share_nothing() -> None:
    """The copies of a solution in a multiplet are independent."""
    one, other = solvent.hocl.molecules("<1>^2")
    one.add(2)
    assert other == Solution([1])


def test_endless_multiplet() -> None:
    """`m^inf` is one molecule that never runs out."""
    (found,) = solvent.hocl.molecules("3^inf")
    assert type(found) is Endless
    assert found.molecule == 3


def test_let_gives_its_body() -> None:
    """A `let` stands for the molecules of its body."""
    found = solvent.hocl.molecules("let r = replace x by in r, 1")
    assert (type(found[0]), found[0].name, found[1]) == (Rule, "r", 1)


def test_registered_functions_compute_molecules() -> None:
    """Functions of the host program work outside rules and may return anything."""
    functions = Functions()
    functions.register(lambda: {1}, "made")
    (found,) = solvent.hocl.molecules("made()", functions=functions)
    assert found == Opaque({1})


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "%"])
def test_huge_integers_with_floats_are_refused(operator: str) -> None:
    """An integer too large for a float is refused beside one, not a crash."""
    with pytest.raises(solvent.SolventError) as caught:
        solvent.hocl.molecules(f"1{'0' * 400} {operator} 2.5")
    assert caught.value.code != "H999"


@pytest.mark.parametrize(
    "text, place, message",
    [
        ("<1, 1 / 0>", "1:5", "division by zero"),
        ("<1 + A>", "1:2", "cannot add int and symbol"),
        ("<1 + true>", "1:2", "cannot add int and bool"),
        ('<"a" - 1>', "1:2", "cannot subtract string and int"),
        ("<() * 2>", "1:2", "cannot multiply list and int"),
        ('<1 % "a">', "1:2", "cannot divide int and string"),
        ("<(1:2) / 2>", "1:3", "cannot divide tuple and int"),
        ("<1 % 0>", "1:2", "division by zero"),
        ("<1.0 / 0>", "1:2", "division by zero"),
        ("<-true>", "1:2", "cannot negate bool"),
        ("<!1>", "1:2", "expected a bool, found int"),
        ("<(1 < A)>", "1:3", "cannot compare int and symbol"),
        ("<(true < false)>", "1:3", "cannot compare bool and bool"),
        ("<(1 <= <>)>", "1:3", "cannot compare int and a solution"),
        ("<(1 in 2)>", "1:3", "cannot look into int"),
        ("<len(1)>", "1:2", "int has no length"),
        ('<1^"a">', "1:2", "a multiplet's count is an int from 0 to 10000000"),
        ("<1^-1>", "1:2", "a multiplet's count is an int from 0 to 10000000"),
    ],
)
def test_what_cannot_be_computed(text: str, place: str, message: str) -> None:
    """What cannot be computed outside rules is an error of the program."""
    assert complaint(text)[:2] == ("H210", place)
    assert error_of(text).message == message


def test_function_that_raises_outside_rules() -> None:
    """A function that raises outside rules is an error of the program, with its place."""
    functions = Functions()
    functions.register(lambda: 1 // 0, "broken")
    with pytest.raises(solvent.ProgramError) as caught:
        solvent.hocl.molecules("1, broken()", functions=functions)
    assert (caught.value.code, caught.value.place) == ("H210", "<text>:1:4")


def test_asynchronous_function_outside_rules() -> None:
    """An asynchronous function can be called only in a rule."""

    async def later() -> int:
        return 1

    functions = Functions()
    functions.register(later)
    with pytest.raises(solvent.ProgramError) as caught:
        solvent.hocl.parse("<later()>", functions=functions).solution()
    assert caught.value.code == "H210"
    assert "asynchronous" in caught.value.message
