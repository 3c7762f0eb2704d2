"""Expressions computed directly, without compiling: for molecules outside rules, and for explanations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import List, Molecule, equal
from solvent.chemistry.operators import (
    Incomputable,
    add,
    divide,
    less,
    less_equal,
    member,
    multiply,
    negate,
    remainder,
    subtract,
    truth,
)
from solvent.chemistry.syntax import Binary, Call, Expression, ListNode, Literal, Name, TupleNode, Unary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from solvent.chemistry.functions import Functions

_OPERATORS: dict[str, Callable[[Molecule, Molecule], Molecule]] = {
    "+": add, "-": subtract, "*": multiply, "/": divide, "%": remainder, "in": member, "==": equal,
    "!=": lambda left, right: not equal(left, right), "<": less, "<=": less_equal,
    ">": lambda left, right: less(right, left), ">=": lambda left, right: less_equal(right, left),
}  # fmt: skip


class Spread(list[Any]):
    """The molecules of a rest, as the value of its name."""


def evaluate(
    node: Expression,
    names: Mapping[str, Molecule],
    functions: Functions,
    build: Callable[[Expression], Molecule] | None = None,
) -> Molecule:
    """Give the value of an expression; raises `Incomputable` where it has none.

    `build` makes what is not computed: solutions, rules and what a `let` is for.
    """

    def value_of(inner: Expression) -> Molecule:
        return evaluate(inner, names, functions, build)

    match node:
        case Literal():
            return node.value
        case Name():
            return names[node.text]
        case TupleNode():
            return tuple(map(value_of, node.parts))
        case ListNode():
            return List(_arguments(map(value_of, node.items)))
        case Unary():
            value = value_of(node.operand)
            return negate(value) if node.operator == "-" else not truth(value)
        case Binary():
            left = value_of(node.left)
            if node.operator in ("&&", "||"):
                if truth(left) is (node.operator == "||"):
                    return left
                return truth(value_of(node.right))
            return _OPERATORS[node.operator](left, value_of(node.right))
        case Call():
            function = functions.find(node.function)
            assert function is not None, f"{node.function} passed the check of names"
            if function.is_async:
                raise Incomputable(f"`{node.function}` is asynchronous and can be called only in a rule's product")
            values = list(map(value_of, node.arguments))
            if function.arity_max is not None:
                values = [List(value) if type(value) is Spread else value for value in values]
            arguments = _arguments(values)
            return function.call(*arguments) if function.is_raw else function(*arguments)
    if build is not None:
        return build(node)
    raise Incomputable("a solution or a rule cannot be computed with")


def _arguments(values: Iterable[Molecule]) -> list[Molecule]:
    found: list[Molecule] = []
    for value in values:
        if type(value) is Spread:
            found += value
        else:
            found.append(value)
    return found
