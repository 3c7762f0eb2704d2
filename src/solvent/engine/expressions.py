"""Conditions and computed parts of products, as Python expressions.

Each expression has a text and, where it is known before the run, the type of its value: from `x::int`, from literals
and from the operators themselves. What is written for an operator says `lang.operators`: with known types mostly
Python's own operator, without a call of a function that looks at the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import Misuse
from solvent.lang.molecule import List
from solvent.lang.operators import BOOLEANS, OPERATORS, PREFIXES, Operator
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution
from solvent.lang.syntax import (
    Binary,
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
    Unary,
)
from solvent.source import Span

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.code import Code
    from solvent.lang.functions import Functions


class Text:
    """An expression in Python, and the one type its value has if that is known."""

    __slots__ = ("kind", "may_raise", "text")

    def __init__(self, text: str, kind: type | None = None, may_raise: bool = False) -> None:  # noqa: FBT001, FBT002
        self.text = text
        self.kind = kind
        # Whether evaluating it can raise: then a condition needs a `try`.
        self.may_raise = may_raise


class ExpressionWriter:
    """Writes expressions for one rule."""

    def __init__(
        self,
        code: Code,
        rule: RuleNode,
        functions: Functions,
        variable: Callable[[Name], Text],
        spread: Callable[[Name], str | None],
    ) -> None:
        self.code = code
        self.rule = rule
        self.functions = functions
        self._variable = variable
        self._spread = spread
        # Awaiting is possible only where a product is built.
        self.may_await = False

    def write(self, node: Expression) -> Text:
        """Return the Python expression for a node."""
        match node:
            case Literal():
                return Text(self.code.constant(node.value), type(node.value))
            case Name():
                return self._variable(node)
            case Unary():
                return self._unary(node)
            case Binary():
                return self._binary(node)
            case Call():
                return self._call(node)
            case TupleNode():
                parts = [self.write(part) for part in node.parts]
                return Text(f"({', '.join(part.text for part in parts)},)", tuple, any(p.may_raise for p in parts))
            case ListNode():
                items = [self._argument(item) for item in node.items]
                made = "".join(f"{item.text}, " for item in items)
                return Text(f"_List(({made}))", List, any(item.may_raise for item in items))
            case SolutionNode():
                items = [self._argument(item) for item in node.items]
                made = "".join(_copy_text(item.text) for item in items)
                return Text(f"_Solution([{made}])", Solution, any(item.may_raise for item in items))
            case RuleNode():
                return self._rule(node)
            case LetNode() | Multiplet():
                span = Span(self.rule.source, node.start, node.end) if self.rule.source else None
                raise Misuse("H302", "this cannot be computed with", span=span, hint="put it into the product itself")

    def _rule(self, node: RuleNode) -> Text:
        """Return a rule made for a function or a comparison, with copies of what it captures."""
        captured = ""
        for name in node.captures:
            spread = self._spread(Name(name))
            text = f"_List(_copies({spread}))" if spread else f"_copied({self._variable(Name(name)).text})"
            captured += f"{text}, "
        return Text(f"_Rule({self.code.constant(node, 'N')}, ({captured}))", Rule)

    def _argument(self, node: Expression) -> Text:
        if isinstance(node, Name):
            spread = self._spread(node)
            if spread is not None:
                return Text(f"*{spread}")
        return self.write(node)

    def _unary(self, node: Unary) -> Text:
        return _applied(PREFIXES[node.operator], self.write(node.operand))

    def _binary(self, node: Binary) -> Text:
        zero = self._divides(node)
        if zero is not None:
            return Text(f"({zero} {node.operator} 0)", bool, may_raise=True)
        return _applied(OPERATORS[node.operator], self.write(node.left), self.write(node.right))

    def _divides(self, node: Binary) -> str | None:
        """Return Python's own `a % b` for `a % b == 0` on integers: there the sign of the rest does not matter."""
        left, right = node.left, node.right
        if node.operator not in ("==", "!=") or not isinstance(left, Binary) or left.operator != "%":
            return None
        if isinstance(right, Literal) and type(right.value) is int and right.value == 0:
            dividend, divisor = self.write(left.left), self.write(left.right)
            if dividend.kind is int and divisor.kind is int:
                return f"{dividend.text} % {divisor.text}"
        return None

    def _call(self, node: Call) -> Text:
        function = self.functions.find(node.function)
        assert function is not None, f"{node.function} passed the check of names"
        # A rest is as many arguments as it holds for a function that takes any number, and a list for the others.
        texts = [self._argument(one).text for one in node.arguments]
        if function.max_arity is not None:
            texts = [f"_List({text[1:]})" if text.startswith("*") else text for text in texts]
        arguments = ", ".join(texts)
        if function.is_raw and not function.is_async:
            return Text(f"{self.code.constant(function.call, 'F')}({arguments})", None, may_raise=True)
        name = self.code.constant(function, "F")
        if not function.is_async:
            return Text(f"{name}({arguments})", None, may_raise=True)
        if not self.may_await:
            span = Span(self.rule.source, node.start, node.end) if self.rule.source else None
            message = f"`{node.function}` is asynchronous, so a condition cannot call it"
            raise Misuse("H303", message, span=span, hint="call it in the product and decide on its result")
        return Text(f"(await _answer({name}, {arguments}))", None, may_raise=True)


def _applied(operator: Operator, left: Text, right: Text | None = None) -> Text:
    """Return the expression of an operator; one before an operand has no right one."""
    if operator.needs is BOOLEANS:
        left = truth_of(left)
        right = right and truth_of(right)
    other = right or left
    for typed in operator.typed:
        if typed.fits(left.kind, other.kind) and not (typed.by_number and not _is_positive(other)):
            raises = typed.may_raise or left.may_raise or other.may_raise
            return Text(typed.text.format(left.text, other.text), typed.kind, raises)
    raise AssertionError(operator)


def truth_of(value: Text) -> Text:
    """Return an expression that is a boolean, or raises."""
    return value if value.kind is bool else Text(f"_truth({value.text})", bool, may_raise=True)


def _is_positive(value: Text) -> bool:
    return value.text.isdigit() and bool(int(value.text))


def _copy_text(item: str) -> str:
    return f"*_copies({item[1:]}), " if item.startswith("*") else f"_copied({item}), "
