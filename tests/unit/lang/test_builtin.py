"""Built-in functions, as programs call them."""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.builtin import BUILTIN
from solvent.lang.molecule import List, Molecule, Symbol, equal
from solvent.lang.operators import Incomputable


@pytest.mark.parametrize(
    "text, value",
    [
        ("list()", List()),
        ("list(1, 2)", List([1, 2])),
        ("cons(3, (1, 2))", List([1, 2, 3])),
        ("first((1, 2))", 1),
        ("last((1, 2))", 2),
        ("rest((1, 2))", List([2])),
        ("nth(2, (5, 6))", 6),
        ("nth((5, 6), 1)", 5),
        ("len((1, 2))", 2),
        ('"abc".length()', 3),
        ("len(<1, 2, 3>)", 3),
        ("len(1 : 2)", 2),
        ("(1, 2).size()", 2),
        ("reverse((1, 2))", List([2, 1])),
        ('reverse("ab")', "ba"),
        ("sort((3, 1, 2.5))", List([1, 2.5, 3])),
        ("sum((1, 2.5))", 3.5),
        ("range(1, 3)", List([1, 2, 3])),
        ("range(2, 1)", List()),
        ("min(1, 2)", 1),
        ('max("a", "b")', "b"),
        ("abs(-2)", 2),
        ("pow(2, 100)", 2**100),
        ("pow(2, -1)", 0.5),
        ("sqrt(9)", 3.0),
        ("round(2.5)", 3),
        ("round(-2.5)", -3),
        ("round(7)", 7),
        ("1.equals(1)", True),
        ("1.equals(1.0)", False),
        ("1.compareTo(2)", -1),
        ('"b".compareTo("a")', 1),
        ("2.compareTo(2)", 0),
        ('"abc".substring(1)', "bc"),
        ('"abc".substring(0, 2)', "ab"),
        ('"abc".charAt(1)', "b"),
        ('"a".concat("b")', "ab"),
        ('"abc".indexOf("c")', 2),
        ('"abc".indexOf("x")', -1),
        ('split("a b", "")', List(["a", "b"])),
        ('split("a,b", ",")', List(["a", "b"])),
        ('join((1, "a", A), "-")', "1-a-A"),
        ('"abc".contains("b")', True),
        ('"abc".startsWith("a")', True),
        ("startsWith((1, 2, 3), (1, 2))", True),
        ("startsWith((1, 2), (1, 2))", True),
        ("startsWith((1, 2), (1, 2, 3))", False),
        ("startsWith((1, 2), (1.0, 2))", False),
        ("startsWith((1, 2), ())", True),
        ("endsWith((1, 2, 3), (2, 3))", True),
        ("endsWith((2, 3), (1, 2, 3))", False),
        ("endsWith((1, 2), ())", True),
        ('"abc".endsWith("a")', False),
        ('"abc".toUpperCase()', "ABC"),
        ('"ABC".toLowerCase()', "abc"),
        ('" a ".trim()', "a"),
        ('"".isEmpty()', True),
        ('int("12")', 12),
        ("int(-2.7)", -2),
        ('float("1.5")', 1.5),
        ("string(12)", "12"),
        ("true.toString()", "true"),
        ('symbol("SRC")', Symbol("SRC")),
        ("3.intValue()", 3),
        ("3.doubleValue()", 3.0),
    ],
)
def test_values(text: str, value: Molecule) -> None:
    """Each built-in function gives its value."""
    (found,) = solvent.hocl.molecules(text)
    assert equal(found, value), found


@pytest.mark.parametrize(
    "name, arguments",
    [
        ("first", (List(),)),
        ("last", (List(),)),
        ("rest", (List(),)),
        ("first", ((1, 2),)),
        ("first", ("ab",)),
        ("nth", (0, List([1]))),
        ("nth", (2, List([1]))),
        ("nth", (True, List([1]))),
        ("cons", (1, 2)),
        ("len", (1,)),
        ("reverse", (1,)),
        ("sort", (List([1, "a"]),)),
        ("sum", (List(["a"]),)),
        ("range", (1, 2.5)),
        ("min", (1, "a")),
        ("abs", ("a",)),
        ("abs", (True,)),
        ("pow", ("a", 1)),
        ("pow", (0, -1)),
        ("pow", (-8.0, 0.5)),
        ("sqrt", (-1,)),
        ("sqrt", ("a",)),
        ("round", (float("nan"),)),
        ("round", (float("inf"),)),
        ("compareTo", (1, "a")),
        ("substring", ("abc", 2, 1)),
        ("substring", ("abc", -1)),
        ("substring", ("abc", 4)),
        ("charAt", ("abc", 3)),
        ("concat", ("a", 1)),
        ("indexOf", ("a", 1)),
        ("split", (1, "a")),
        ("join", ("a", "b")),
        ("contains", (1, "a")),
        ("toUpperCase", (1,)),
        ("isEmpty", (1,)),
        ("int", ("x",)),
        ("int", (float("inf"),)),
        ("int", (float("nan"),)),
        ("int", (True,)),
        ("float", ("x",)),
        ("float", (10**400,)),
        ("symbol", ("abc",)),
        ("symbol", ("",)),
        ("symbol", (1,)),
        ("sqrt", (10**700,)),
        ("sort", (1,)),
    ],
)
def test_refusals(name: str, arguments: tuple[Molecule, ...]) -> None:
    """A wrong argument is refused as incomputable, never by a Python error."""
    with pytest.raises(Incomputable):
        BUILTIN[name](*arguments)


def test_strings_of_any_length_become_integers() -> None:
    """Integers are unbounded, so `int` reads more digits than Python does at once."""
    assert BUILTIN["int"]("1" + "0" * 5000) == 10**5000
