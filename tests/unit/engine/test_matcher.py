"""Patterns: every row of the language's table, by what reacts and what does not."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.unit.engine.soup import final, finals

ALL = '1, 2.5, "a", true, SRC, (1:2), (1, 2), <1>, other'


@pytest.mark.parametrize(
    "kind, taken",
    [
        ("int", "1"),
        ("Integer", "1"),
        ("float", "2.5"),
        ("double", "2.5"),
        ("string", '"a"'),
        ("String", '"a"'),
        ("bool", "true"),
        ("boolean", "true"),
        ("Boolean", "true"),
        ("symbol", "SRC"),
        ("tuple", "1:2"),
        ("list", "(1, 2)"),
        ("solution", "<1>"),
        ("rule", "other"),
    ],
)
def test_kinds(kind: str, taken: str) -> None:
    """`x::kind` takes the molecules of that kind and no others."""
    text = f"let other = replace 99 by in <<{ALL}>, replace-one <x::{kind}, ?w> by x>"
    assert finals(text, seeds=5) == {f"<{taken}>"}


@pytest.mark.parametrize(
    "literal, others",
    [
        ("1", "1.0, true, 2"),
        ("1.0", "1, true"),
        ("true", "1, 1.0, false"),
        ('"A"', "A"),
        ("A", '"A", B'),
        ("-1", "1"),
        ("0", "false, 0.0"),
    ],
)
def test_literal_takes_exactly_its_kind(literal: str, others: str) -> None:
    """A constant takes an equal molecule of its own kind only."""
    before = final(f"<{others}, (r = replace 99 by)>")
    assert finals(f"<{literal}, {others}, (r = replace {literal} by)>", seeds=3) == {before}


@pytest.mark.parametrize("atom", ["1", "1.0", "true", '"a"', "A", "(1:2)", "(1:1.0)", "(1, 2)", "<1>", "(A:<1, 2>)"])
def test_same_variable_twice_asks_for_equal_molecules(atom: str) -> None:
    """The same variable twice takes two equal molecules of one kind."""
    both = f'<{atom}, {atom}, (r = replace x, x by "pair")>'
    assert finals(both, seeds=3) == {'<"pair", r>'}


@pytest.mark.parametrize(
    "one, other",
    [
        ("1", "1.0"),
        ("1", "true"),
        ("(1:2)", "(1.0:2)"),
        ("(1, 2)", "(1:2)"),
        ("<1>", "<1.0>"),
        ("<1>", "<1, 1>"),
        ('"A"', "A"),
    ],
)
def test_same_variable_twice_refuses_other_kinds(one: str, other: str) -> None:
    """`1`, `1.0` and `true` are three different molecules, also inside others."""
    text = f'<{one}, {other}, (r = replace x, x by "pair")>'
    assert '"pair"' not in final(text)
    assert '"pair"' not in final(text, seed=1)


@pytest.mark.parametrize(
    "text, expected",
    [
        # `x::number` takes integers and floats, and no booleans.
        ('<1, 2.5, true, "a", (r = replace x::number by)>', '<true, "a", r>'),
        # A variable joins a molecule with a part of another, at any depth; twice in a tuple it asks for equal parts.
        ('<1, 2, (A:<B:<2, 9>, 3>), replace-one x::int, A:<B:<x, ?v>, ?w> by "found" : x>', '<1, "found":2>'),
        ("<(1:1), (1:1.0), (2:3), (r = replace x:x by x)>", "<1, 1:1.0, 2:3, r>"),
        # `+w` and `ω` take at least one molecule, `ω?` is `?ω`, and two rests share what is left.
        ("<A:<1>, (r = replace A:<x::int, +w> by w)>", "<A:<1>, r>"),
        ("<A:<1>, (r = replace A:<x::int, ω> by ω)>", "<A:<1>, r>"),
        ("<A:<1, B>, (r = replace A:<x::int, +w> by <w>)>", "<<B>, r>"),
        ("<A:<1, B>, (r = replace A:<x::int, ω> by <ω>)>", "<<B>, r>"),
        ("<<1>, replace-one <x::int, ω?> by ω, x>", "<1>"),
        ("<<1, 2, 3>, replace-one <x::int, ?v, ?w> by x, v, w>", "<1, 2, 3>"),
        # A solution pattern without a rest takes a solution of exactly these molecules, or none.
        ("<SRC : <>, (r = replace SRC : <> by A)>", "<A, r>"),
        ("<SRC : <1>, (r = replace SRC : <> by A)>", "<SRC:<1>, r>"),
        ("<<1, 2>, <1>, (r = replace <x::int> by x)>", "<1, <1, 2>, r>"),
        # `max = m` takes the rule of that name, which reacts where the product puts it.
        (
            (
                "let max = replace x::int, y::int by x if x >= y in let min = replace 99 by in"
                " <<1, 3, 2, max, min>, replace-one <max = m, ?w> by w>"
            ),
            "<3, min>",
        ),
        ("let up = replace-one x::int by x + 1 in <up, A, <1>, replace-one up = u, A, <?w> by <w, u>>", "<<2>>"),
        # A rule never takes itself, but an equal one beside it, also by name.
        ("let r = replace x::rule by 1 in <r>", "<r>"),
        ("let r = replace x::rule by 1 in <r, r>", "<1, r>"),
        ("let r = replace r = m by 1 in <r, r>", "<1, r>"),
        # Patterns nest to any depth, with symbols and variables of tuples.
        (
            (
                "<T1 : <RES : 5, DST : <T2, T3>, X>, T2 : <IN : <>>,"
                " replace-one ti : <RES : r, DST : <tj, ?d>, ?i>, tj : <IN : <?in_>, ?j>"
                " by ti : <RES : r, DST : <d>, i>, tj : <IN : <r, in_>, j>>"
            ),
            "<T1:<X, DST:<T3>, RES:5>, T2:<IN:<5>>>",
        ),
    ],
)
def test_what_patterns_take(text: str, expected: str) -> None:
    """A pattern takes what it says, in whatever order the molecules are tried."""
    assert finals(text) == {expected}


@pytest.mark.parametrize(
    "pattern, molecule, product, expected",
    [
        ("()", "()", "A", "A"),
        ("(x, ?r)", "(1, 2, 3)", "x, list(r)", "1, (2, 3)"),
        ("(x, y)", "(1, 2)", "y : x", "2:1"),
        ("list(x)", "list(1)", "x", "1"),
        ("(?r, x)", "(1, 2, 3)", "x, list(r)", "3, (1, 2)"),
        ("(x, ?r, y)", "(1, 2, 3, 4)", "(y, r, x)", "(4, 2, 3, 1)"),
        ("(x, +r)", "(1, 2)", "(r, x)", "(2, 1)"),
        ("(x, x)", "(1, 1)", "x", "1"),
        ("(1, ?r)", "(1, 2)", "list(r)", "list(2)"),
        ("((x, ?r), ?s)", "((1, 2), 3)", "(x, r, s)", "(1, 2, 3)"),
        ("(<x::int, ?w>, ?s)", "(<1, A>, 3)", "x, <w>, s", "1, 3, <A>"),
        ("A : (x, ?r)", "A : (1, 2)", "x : list(r)", "1:list(2)"),
    ],
)
def test_list_patterns(pattern: str, molecule: str, product: str, expected: str) -> None:
    """Lists are taken apart by position, with one rest anywhere."""
    assert finals(f"<{molecule}, replace-one {pattern} by {product}>", seeds=2) == {f"<{expected}>"}


@pytest.mark.parametrize(
    "pattern, molecule",
    [
        ("()", "(1, 2)"),
        ("(x, y)", "(1, 2, 3)"),
        ("(x, +r)", "list(1)"),
        ("(x, ?r)", "()"),
        ("(x, y)", "(1:2)"),
        ("x:y", "(1, 2)"),
        ("(x, x)", "(1, 1.0)"),
        ("(x, ?r)", "<1>"),
        ("<x, ?w>", "(1, 2)"),
        ("x:y", "1:2:3"),
    ],
)
def test_shapes_that_do_not_fit(pattern: str, molecule: str) -> None:
    """A list is no tuple and no solution, and lengths must fit."""
    before = final(f"<{molecule}, (r = replace 99 by)>")
    assert finals(f"<{molecule}, (r = replace {pattern} by)>", seeds=2) == {before}


def test_pattern_of_many_molecules() -> None:
    """A pattern of 25 molecules is searched, though Python nests only 20 loops."""
    names = [f"v{at}" for at in range(25)]
    patterns = ", ".join(f"{at} : {name}" for at, name in enumerate(names))
    molecules = ", ".join(f"{at} : {at}" for at in reversed(range(25)))
    text = f"<{molecules}, replace-one {patterns} by {' + '.join(names)}>"
    assert finals(text, seeds=2) == {"<300>"}


def test_pattern_of_many_molecules_in_order() -> None:
    """A search of 22 plain variables in one sub-solution finds the one order that its condition asks for."""
    names = [f"v{at}" for at in range(22)]
    ordered = " && ".join(f"{one} == {other} + 1" for other, one in pairwise(names))
    patterns = ", ".join(f"{name}::int" for name in names)
    molecules = ", ".join(str(at) for at in range(22))
    assert final(f"<<{molecules}>, (replace-one <{patterns}> by v0 : v21 if {ordered})>") == "<0:21>"
