"""Conditions and computed parts of products, as Python expressions.

Each expression has a text and, where it is known before the run, the type of its value: from `x::int`, from literals
and from the operators themselves. With known types the text is Python's own operator; without, it calls
`lang.operators`, which look at the values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import Misuse
from solvent.lang.molecule import ATOMS, List, Symbol
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
    from collections.abc import Callable, Iterator

    from solvent.engine.code import Code
    from solvent.lang.functions import Functions

_NUMBERS = (int, float)
_CALLS = {"+": "_add", "-": "_subtract", "*": "_multiply", "/": "_divide", "%": "_remainder"}
_ORDER = {"<": "_less({0}, {1})", "<=": "_less_equal({0}, {1})", ">": "_less({1}, {0})", ">=": "_less_equal({1}, {0})"}


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
        """Give the Python expression for a node."""
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
        """Give a rule made for a function or a comparison, with copies of what it captures."""
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
        operand = self.write(node.operand)
        if node.operator == "!":
            return Text(f"(not {self._truth(operand).text})", bool, operand.may_raise or operand.kind is not bool)
        if operand.kind in _NUMBERS:
            return Text(f"(-{operand.text})", operand.kind, operand.may_raise)
        return Text(f"_negate({operand.text})", None, may_raise=True)

    def _truth(self, value: Text) -> Text:
        return value if value.kind is bool else Text(f"_truth({value.text})", bool, may_raise=True)

    def _binary(self, node: Binary) -> Text:
        operator = node.operator
        if operator in ("&&", "||"):
            left, right = self._truth(self.write(node.left)), self._truth(self.write(node.right))
            word = "and" if operator == "&&" else "or"
            return Text(f"({left.text} {word} {right.text})", bool, left.may_raise or right.may_raise)
        left, right = self.write(node.left), self.write(node.right)
        raises = left.may_raise or right.may_raise
        if operator in ("==", "!="):
            return self._equality(node, left, right, raises=raises)
        if operator == "in":
            return Text(f"_member({left.text}, {right.text})", bool, may_raise=True)
        if operator in _ORDER:
            if (left.kind in _NUMBERS and right.kind in _NUMBERS) or (left.kind is str and right.kind is str):
                return Text(f"({left.text} {operator} {right.text})", bool, raises)
            return Text(_ORDER[operator].format(left.text, right.text), bool, may_raise=True)
        return self._arithmetic(operator, left, right, raises=raises)

    def _arithmetic(self, operator: str, left: Text, right: Text, *, raises: bool) -> Text:
        both = left.kind in _NUMBERS and right.kind in _NUMBERS
        kind: type | None = (int if left.kind is int and right.kind is int else float) if both else None
        if operator == "*" and kind is int:
            text = f"(_p if -_BIG < (_p := {left.text} * {right.text}) < _BIG else _whole(_p))"
            return Text(text, int, raises)
        if operator in "+-*" and both:
            # An integer may be too large to become a float beside one.
            return Text(f"({left.text} {operator} {right.text})", kind, raises or left.kind is not right.kind)
        if operator == "+" and left.kind is str and right.kind is str:
            return Text(f"_joined({left.text}, {right.text})", str, raises)
        if operator == "+" and str in (left.kind, right.kind):
            kind = str
        if operator in "/%" and kind is int and right.text.isdigit() and int(right.text):
            # Toward zero and downwards agree where nothing is negative.
            call = f"{_CALLS[operator]}(_q, {right.text})"
            python = "//" if operator == "/" else "%"
            return Text(f"(_q {python} {right.text} if (_q := {left.text}) >= 0 else {call})", int, raises)
        return Text(f"{_CALLS[operator]}({left.text}, {right.text})", kind, may_raise=True)

    def _equality(self, node: Binary, left: Text, right: Text, *, raises: bool) -> Text:
        negate = "not " if node.operator == "!=" else ""
        if left.kind is not None and right.kind is not None and left.kind is not right.kind:
            return Text(f"({negate}({left.text}, {right.text}, False)[2])", bool, raises)
        kind = left.kind or right.kind
        if left.kind is right.kind and kind in ATOMS:
            zero = self._divides(node)
            if zero is not None:
                return Text(f"({zero} {node.operator} 0)", bool, may_raise=True)
            sign = {"==": "is", "!=": "is not"}[node.operator] if kind is Symbol else node.operator
            return Text(f"({left.text} {sign} {right.text})", bool, raises)
        if kind in (Symbol, str):
            # Nothing else in Python equals a symbol or a string, so the other side's type needs no look.
            return Text(f"({left.text} {node.operator} {right.text})", bool, raises)
        return Text(f"({negate}_equal({left.text}, {right.text}))", bool, raises)

    def _divides(self, node: Binary) -> str | None:
        """Give Python's own `a % b` for `a % b == 0` on integers: there the sign of the rest does not matter."""
        left, right = node.left, node.right
        if not (isinstance(right, Literal) and type(right.value) is int and right.value == 0):
            return None
        if isinstance(left, Binary) and left.operator == "%":
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


def _copy_text(item: str) -> str:
    return f"*_copies({item[1:]}), " if item.startswith("*") else f"_copied({item}), "


def conjuncts(condition: Expression | None) -> Iterator[Expression]:
    """Give the parts of a condition that must all hold."""
    if isinstance(condition, Binary) and condition.operator == "&&":
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    elif condition is not None:
        yield condition


def names_in(node: Expression) -> set[str]:
    """Give the names an expression mentions."""
    match node:
        case Name():
            return {node.text}
        case Unary():
            return names_in(node.operand)
        case Binary():
            return names_in(node.left) | names_in(node.right)
        case Call():
            return set().union(*map(names_in, node.arguments))
        case TupleNode():
            return set().union(*map(names_in, node.parts))
        case ListNode() | SolutionNode():
            return set().union(*map(names_in, node.items))
        case RuleNode():
            return set(node.captures)
    return set()
