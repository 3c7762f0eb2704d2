"""Reading texts that are wrong: all problems, and the rest of the tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.errors import SyntaxProblem
from solvent.lang.lenient_parser import read_leniently
from solvent.lang.parser import parse_program
from solvent.lang.syntax import LetNode
from solvent.source import Source
from tests.property.amounts import examples

PIECES = 'let rec in replace by if inject with x y T < > ( ) , : = ? 3 "a { ^ . :: int new Math 3L'.split()  # noqa: SIM905 - shorter than the list


@pytest.mark.parametrize(
    "text, places",
    [
        ("<1, 2 3, 4>", [(1, 7)]),
        ("let a = replace x y by x in let b = replace x, by x in <a, b, 3 4>", [(1, 19), (1, 48), (1, 65)]),
        ("let a = replace x by <x in let b = replace x by y+ in <a, b>", [(1, 25), (1, 52)]),
        ('<1, {2}, 3, "abc\n, 4, 5 6>', [(1, 5), (1, 7), (1, 13), (2, 8)]),
        ("let max = replace x, y by x if x >= y <1, 2>", [(1, 41)]),
        ("<replace x, y by x if x > y, 3>", [(1, 25)]),
        ("", [(1, 1)]),
        ("<1, 2", [(1, 1)]),
        ("1>", [(1, 2)]),
        ("<1, 2> /* ", [(1, 8)]),
    ],
)
def test_every_mistake_is_told_once(text: str, places: list[tuple[int, int]]) -> None:
    """Each mistake of a text is told at its place, and nothing that only follows from one."""
    found = [one.span for one in read_leniently(Source(text)).problems if one.span is not None]
    assert [(one.line, one.column) for one in found] == places


def test_the_rest_is_read() -> None:
    """A rule that does not read keeps its name, and the rules beside it stay as they are."""
    tree = read_leniently(Source("let a = replace x y by in let b = replace x by x in <a, b, 3 4>")).tree
    let = tree.body[0]
    assert isinstance(let, LetNode)
    assert [(one.name, len(one.rule.patterns)) for one in let.bindings] == [("a", 0), ("b", 1)]


def test_a_right_text_has_no_problems_and_its_own_tree() -> None:
    """A text without a mistake reads as the plain parser reads it."""
    text = "let max = replace x, y by x if x >= y in <2, 3, max, (l = replace ?w by w)>"
    found = read_leniently(Source(text))
    assert (found.tree, found.problems) == (parse_program(Source(text)), [])


@examples(200)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join))
def test_the_first_problem_is_that_of_the_plain_parser(text: str) -> None:
    """What the plain parser stops at is among what is told, and nothing is told where it reads."""
    found = [(one.code, one.message, one.place) for one in read_leniently(Source(text)).problems]
    told = []
    try:
        parse_program(Source(text))
    except SyntaxProblem as error:
        told = [(error.code, error.message, error.place)]
    assert set(told) <= set(found)
    assert bool(told) == bool(found)
