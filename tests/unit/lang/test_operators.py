"""The table of operators: whatever is made of a row says the same."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from solvent import hocl
from solvent.errors import ReactionFailed
from solvent.lang.evaluate import evaluate
from solvent.lang.functions import Functions
from solvent.lang.lexer import KEYWORDS
from solvent.lang.operators import BETWEEN, OPERATORS, PREFIXES, SPELLINGS, Incomputable, Operator
from solvent.lang.parser import parse_molecules
from solvent.lang.printer import TreePrinter, print_molecule
from solvent.lang.syntax import Binary, Expression, Name, Unary
from solvent.source import Source

if TYPE_CHECKING:
    from solvent.lang.molecule import Molecule

VALUES = ("0", "7", "-2", "2.5", "-0.5", '"a"', '"ab"', "true", "false", "A", "B", "A:1", "(1, 2)", "<1>")
KINDS = {"0": "int", "7": "int", "-2": "int", "2.5": "float", "-0.5": "float", '"a"': "string", '"ab"': "string",
         "true": "bool", "false": "bool", "A": "symbol", "B": "symbol"}  # fmt: skip
ROWS = [*OPERATORS.values(), *PREFIXES.values()]


def parsed(text: str) -> Expression:
    """Return the tree of one expression."""
    (tree,) = parse_molecules(Source(f"({text})", "test"))
    return tree


def molecule(text: str) -> Molecule:
    """Return the molecule that a text describes."""
    (found,) = hocl.parse(f"<{text}>").solution()
    return found


def computed(tree: Expression, values: dict[str, Molecule]) -> str:
    """Return the text of what `evaluate` makes of an expression, or that it cannot be computed."""
    try:
        return print_molecule(evaluate(tree, values, Functions()))
    except Incomputable:
        return "nothing"


def compiled(patterns: str, text: str, values: str) -> str:
    """Return the text of what a compiled rule makes of an expression, or that it cannot be computed."""
    solution = hocl.parse(f"<{values}, replace-one {patterns} by R : ({text})>").solution()
    try:
        hocl.react(solution)
    except ReactionFailed:
        return "nothing"
    (result,) = [one for one in solution if type(one) is tuple and one[0] is hocl.Symbol("R")]
    return print_molecule(result[1])


@pytest.mark.parametrize("operator", [*OPERATORS.values()], ids=lambda one: one.symbol)
def test_compiled_rules_compute_what_evaluate_does(operator: Operator) -> None:
    """An operator gives the same for operands of all kinds, whether or not the compiler knows their types."""
    text = f"(x {operator.symbol} y)"
    tree = parsed(text)
    for left, right in product(VALUES, VALUES):
        expected = computed(tree, {"x": molecule(left), "y": molecule(right)})
        molecules = f"L : {left if ':' not in left else f'({left})'}, M : {right if ':' not in right else f'({right})'}"
        assert compiled("L : x, M : y", text, molecules) == expected, (left, right)
        if left in KINDS and right in KINDS:
            typed = f"L : x::{KINDS[left]}, M : y::{KINDS[right]}"
            assert compiled(typed, text, molecules) == expected, (left, right)
            assert compiled(f"L : x::{KINDS[left]}", f"(x {operator.symbol} {right})", molecules) == expected


@pytest.mark.parametrize("operator", [*PREFIXES.values()], ids=lambda one: one.symbol)
def test_compiled_rules_compute_prefixes_as_evaluate_does(operator: Operator) -> None:
    """An operator before an operand gives the same whether or not the compiler knows the type of the operand."""
    text = f"{operator.symbol} x"
    for value in VALUES:
        expected = computed(parsed(text), {"x": molecule(value)})
        molecules = f"L : {value if ':' not in value else f'({value})'}"
        assert compiled("L : x", text, molecules) == expected, value
        if value in KINDS:
            assert compiled(f"L : x::{KINDS[value]}", text, molecules) == expected, value


def test_every_spelling_is_read() -> None:
    """Whatever a row says may be written is read as its operator."""
    for text, operator in BETWEEN.items():
        assert parsed(f"(x {text} y)") == Binary(operator.symbol, Name("x"), Name("y"))
    for text, operator in SPELLINGS.items():
        if operator.symbol in PREFIXES:
            assert parsed(f"{text} x") == Unary(operator.same_as or operator.symbol, Name("x"))
        else:
            assert parsed(f"(x {text} y)") == Binary(operator.symbol, Name("x"), Name("y"))


@pytest.mark.parametrize("outer, inner", [*product(ROWS, ROWS)], ids=lambda one: one.symbol)
def test_nested_operators_read_back(outer: Operator, inner: Operator) -> None:
    """An operator as an operand of another stands in parentheses where it must."""

    def made(operator: Operator, *operands: Expression) -> Expression:
        if operator.symbol in OPERATORS and operator is OPERATORS[operator.symbol]:
            return Binary(operator.symbol, *operands)
        return Unary(operator.same_as or operator.symbol, operands[0])

    part = made(inner, Name("x"), Name("y"))
    for tree in (made(outer, part, Name("z")), made(outer, Name("z"), part)):
        assert parsed(TreePrinter().expression(tree, 1)) == tree


def test_a_word_is_a_keyword() -> None:
    """No name can be what an operator is written by."""
    assert {text for text in {*SPELLINGS, *BETWEEN} if text.isalpha()} <= KEYWORDS


@pytest.mark.parametrize("operator", ROWS, ids=lambda one: one.symbol)
def test_operands_of_other_types_make_a_condition_false(operator: Operator) -> None:
    """Where an operator needs certain types, it computes nothing of others."""
    for value in VALUES:
        one = molecule(value)
        if operator.needs is not None and type(one) not in operator.needs:
            with pytest.raises(Incomputable):
                operator.compute(one, one) if operator.symbol in OPERATORS else operator.compute(one)
