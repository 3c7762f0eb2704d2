"""Conditions: what they compute, and that what cannot be computed is false."""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.functions import Functions
from tests.unit.engine.soup import final, finals


def holds(condition: str, molecules: str = "1 : 2", pattern: str = "x : y") -> bool:
    """Say whether a rule with this condition reacts; the default and a seeded run must agree."""
    (found,) = finals(f"<{molecules}, (replace-one {pattern} by Yes if {condition})>", seeds=2)
    return "Yes>" in found


@pytest.mark.parametrize(
    "condition",
    [
        "x < y",
        "x <= y",
        "y > x",
        "y >= x",
        "x != y",
        "x == 1",
        "x = 1",
        "1 == x",
        "x + 1 == y",
        "y - 1 == x",
        "x * 2 == y",
        "y / 2 == x",
        "y % 2 == 0",
        "-x < 0",
        "x < y && y < 3",
        "x > y || y == 2",
        "!(x > y)",
        "not x > y",
        "x < y and y == 2",
        "x == 3 or y == 2",
        "(x in (1, 2))",
        "!(3 in (x, y))",
        "(x : y) == (1 : 2)",
        "(x, y) == (1, 2)",
        "max(x, y) == 2",
        "x.equals(1)",
        "x.compareTo(y) < 0",
        '"a" + x == "a1"',
        "x < 1.5",
        "true",
        "x ≤ y ∧ ¬ (x ≠ 1)",
        "x ∈ (1, 2)",
        "x ∉ (2, 3)",
    ],
)
def test_conditions_that_hold(condition: str) -> None:
    """Each operator works in a condition."""
    assert holds(condition)


@pytest.mark.parametrize(
    "condition",
    [
        "x > y",
        "x == y",
        "x == 1.0",
        "x == true",
        'x == "1"',
        "false",
        "x < y && x > y",
        'x < "a"',
        "x < true",
        "x < A",
        "!(x < A)",
        "x + A == y",
        "x / 0 == 1",
        "x % 0 == 0",
        "x",
        "x && true",
        "!x",
        "x - true == 0",
        "first(x) == 1",
        "x in 2",
        "x < A || true",
        "x.length() == 1",
        "-A == x",
        "(x : y) < 3",
    ],
)
def test_conditions_that_do_not_hold(condition: str) -> None:
    """A condition that is false or cannot be computed lets nothing react, and is no error."""
    assert not holds(condition)


def test_first_part_that_decides_ends_a_condition() -> None:
    """`||` and `&&` look at their right side only if the left one leaves it open."""
    assert holds("true || x < A")
    assert not holds("false && x < A")


@pytest.mark.parametrize(
    "huge", ["x + 0.5 > 0", "x * 2.5 > 0", "x / 0.5 > 0", "sqrt(x) > 0", "x % 2.5 > 0", "float(x) > 0"]
)
def test_numbers_too_large_for_a_float(huge: str) -> None:
    """An integer too large for a float makes a condition false, not a crash."""
    assert not holds(huge, "1" + "0" * 400, "x")
    assert not holds(huge, "1" + "0" * 400, "x::int")


@pytest.mark.parametrize(
    "molecule, expected", [('"a"', False), ("A", False), ("true", False), ("<1>", False), ("2.5", True)]
)
def test_comparison_narrows_nothing_wrongly(molecule: str, *, expected: bool) -> None:
    """A comparison with a number holds for numbers of both kinds and for nothing else."""
    assert holds("x > 2", molecule, "x") is expected


def test_kind_and_comparison_that_exclude_each_other() -> None:
    """A string is never less than a number, and the number beside it is no string."""
    assert finals('<1, "a", (r = replace x::string by Hit if x < 3)>') == {'<1, "a", r>'}


def test_kinds_that_exclude_each_other() -> None:
    """One variable of two kinds matches nothing."""
    assert finals('<1, "a", 1, "a", (r = replace x::int, x::string by Hit)>') == {'<1, 1, "a", "a", r>'}


@pytest.mark.parametrize("kind", ["string", "float", "symbol", "bool"])
def test_equation_keeps_the_kind(kind: str) -> None:
    """A variable that an equation fixes must still be of its kind."""
    text = f"<1, (replace-one x::int by (r = replace-one y::{kind} by Hit if y == x), x)>"
    assert finals(text) == {"<1, r>"}


@pytest.mark.parametrize("pair", ["1, 1.0", "1, true", "0, false", "2.0, 2"])
def test_equation_is_exact(pair: str) -> None:
    """An equation between variables tells `1`, `1.0` and `true` apart."""
    before = final(f"<{pair}, (r = replace 99 by)>")
    assert finals(f"<{pair}, (r = replace x, y by Hit if y == x)>") == {before}


def test_equation_joins_molecules() -> None:
    """A condition `j == i + 1` finds neighbours."""
    text = "<1:A, 5:B, 2:C, 9:A, (r = replace i::int:x, j::int:y by x:y if j == i + 1)>"
    assert finals(text) == {"<5:B, 9:A, A:C, r>"}


def test_equation_on_parts_is_exact() -> None:
    """An equation on parts of tuples tells kinds apart."""
    assert finals("<K:1, L:1.0, L:true, (r = replace K:x, L:y by Hit if x == y)>") == {"<K:1, L:true, L:1.0, r>"}


@pytest.mark.parametrize("condition", ["len(list(w)) == 2", "(2 in list(w))", "len(w) == 2", "sum(w) == 5"])
def test_rest_in_a_condition(condition: str) -> None:
    """A rest is as many arguments as it holds for `list`, and a list for a function of fixed arity."""
    assert finals(f"<<A, 2, 3>, (replace-one <A, ?w> by Yes if {condition})>", seeds=2) == {"<Yes>"}


def test_registered_function_in_a_condition() -> None:
    """A condition may call a function of the host program."""
    functions = Functions()
    functions.register(lambda number: number % 2 == 0, "even")
    assert finals("<1, 2, 3, (r = replace x::int by Even if even(x))>", functions=functions) == {"<1, 3, Even, r>"}


def test_function_that_raises_in_a_condition() -> None:
    """A function that raises in a condition fails the run with a Solvent error; nothing is lost."""
    functions = Functions()
    functions.register(lambda number: [][number], "broken")
    for seed in (None, 1):
        solution = solvent.hocl.parse("<1, (r = replace x::int by if broken(x))>", functions=functions).solution()
        with pytest.raises(solvent.SolventError):
            solvent.hocl.react(solution, seed=seed)
        assert solvent.hocl.show(solution) == "<1, r>"


def test_asynchronous_function_in_a_condition() -> None:
    """A condition cannot wait, so it cannot call an asynchronous function."""

    async def later(number: int) -> bool:
        return number > 0

    functions = Functions()
    functions.register(later)
    with pytest.raises(solvent.SolventError) as caught:
        final("<1, (replace x::int by if later(x))>", functions=functions)
    assert caught.value.code == "H303"
    assert caught.value.place == "<text>:1:27"


@pytest.mark.parametrize(
    "molecule, left", [("<1, 2>", "<Hit>"), ("<1, 1>", "<<1, 1>, r>"), ("<1, 2.0>", "<<1, 2.0>, r>")]
)
def test_solution_in_a_condition(molecule: str, left: str) -> None:
    """A condition may compare with a solution, as multisets."""
    assert finals(f"<{molecule}, (r = replace-one x by Hit if x == <2, 1>)>", seeds=3) == {left}
