"""Expressions, rules and programs: what each text reads as."""

from __future__ import annotations

import pytest

from solvent.lang.molecule import Symbol
from solvent.lang.parser import parse_molecules
from solvent.lang.syntax import (
    Binary,
    Binding,
    Call,
    Expression,
    LetNode,
    ListNode,
    Literal,
    Multiplet,
    Name,
    RuleNode,
    SolutionNode,
    TupleNode,
    VariablePattern,
)
from solvent.source import Source

ONE, TWO, THREE = Literal(1), Literal(2), Literal(3)
X, Y = Name("x"), Name("y")


def read(text: str) -> Expression:
    """Read one molecule."""
    (found,) = parse_molecules(Source(text))
    return found


def rule(text: str) -> RuleNode:
    """Read one rule."""
    found = read(text)
    assert isinstance(found, RuleNode)
    return found


@pytest.mark.parametrize(
    "text, node",
    [
        ("3", Literal(3)),
        ("-3", Literal(-3)),
        ("2.5", Literal(2.5)),
        ("-1e3", Literal(-1000.0)),
        ('"a"', Literal("a")),
        ("true", Literal(True)),
        ("false", Literal(False)),
        ("SRC", Literal(Symbol("SRC"))),
        ("x", X),
        ("1 : 2 : x", TupleNode([ONE, TWO, X])),
        ("(1 : 2) : 3", TupleNode([TupleNode([ONE, TWO]), THREE])),
        ("<>", SolutionNode([])),
        ("<1, <2>>", SolutionNode([ONE, SolutionNode([TWO])])),
        ("⟨1⟩", SolutionNode([ONE])),
        ("()", ListNode([])),
        ("(1, 2)", ListNode([ONE, TWO])),
        ("((1))", ONE),
        ("list(1)", Call("list", [ONE])),
        ("3^2", Multiplet(THREE, TWO)),
        ("3^inf", Multiplet(THREE, None)),
        ("3^∞", Multiplet(THREE, None)),
        ("1 : 2^3", Multiplet(TupleNode([ONE, TWO]), THREE)),
        ("x.f(1)", Call("f", [X, ONE], method=True)),
        ("x.f().g()", Call("g", [Call("f", [X], method=True)], method=True)),
        ("f()", Call("f", [])),
    ],
)
def test_molecules(text: str, node: Expression) -> None:
    """Each form of molecule reads as its node."""
    assert read(text) == node


def test_literals_of_other_kinds_differ() -> None:
    """`1`, `1.0` and `true` are three different literals."""
    assert Literal(1) != Literal(1.0)
    assert Literal(1) != Literal(True)


@pytest.mark.parametrize(
    "text, same",
    [
        ("x + y * 2", "x + (y * 2)"),
        ("x - y - 2", "(x - y) - 2"),
        ("x + 1 == y", "(x + 1) == y"),
        ("x == 1 && y == 2 || x == 3", "((x == 1) && (y == 2)) || (x == 3)"),
        ("x < 1 and y > 2", "(x < 1) && (y > 2)"),
        ("!x && y", "(!x) && y"),
        ("!x == y", "(!x) == y"),
        ("not x == y", "!(x == y)"),
        ("¬ x ∧ y", "(!x) && y"),
        ("x = y", "x == y"),
        ("x ∈ y", "x in y"),
        ("x ∉ y", "!(x in y)"),
        ("x not in y", "!(x in y)"),
        ("-x * y", "(-x) * y"),
        ("-x.f()", "-(x.f())"),
        ("x ≥ 1", "x >= 1"),
    ],
)
def test_precedence(text: str, same: str) -> None:
    """Operators bind as in Java, the words `not` and `in` as in Python."""
    assert rule(f"replace x, y by if {text}").condition == rule(f"replace x, y by if {same}").condition


def test_comparison_in_a_solution_stands_in_parentheses() -> None:
    """Inside a solution, parentheses make `<` a comparison again."""
    assert read("<(x < y), 1>") == SolutionNode([Binary("<", X, Y), ONE])


def test_if_belongs_to_the_nearest_rule() -> None:
    """A condition after two rules is the inner one's."""
    outer = rule("replace x by replace y by 1 if x")
    (inner,) = outer.product
    assert isinstance(inner, RuleNode)
    assert (outer.condition, inner.condition) == (None, X)


def test_lets_in_a_row_are_one_node() -> None:
    """Lets that follow each other share one body."""
    found = read("let a = replace x by in let rec b = one x by b in <a, b>")
    a = RuleNode([VariablePattern("x")], [], name="a")
    b = RuleNode([VariablePattern("x")], [Name("b")], one_shot=True, name="b")
    assert found == LetNode([Binding("a", a), Binding("b", b, recursive=True)], [SolutionNode([Name("a"), Name("b")])])


def test_let_takes_a_rule_in_parentheses() -> None:
    """The rule of a `let` may stand in parentheses."""
    assert read("let r = (replace x by) in r") == read("let r = replace x by in r")


def test_membership_inside_a_let_stands_in_parentheses() -> None:
    """Inside a `let`, a bare `in` ends the rule and `(x in y)` is membership."""
    found = read("let r = replace x, y by if (x in y) in r")
    assert isinstance(found, LetNode)
    assert found.bindings[0].rule.condition == Binary("in", X, Y)


def test_nodes_know_their_place() -> None:
    """A node knows where it stands, and its place takes no part in equality."""
    found = read("  <1 , x>")
    assert (found.start, found.end) == (2, 9)
    assert found == read("<1,x>")
