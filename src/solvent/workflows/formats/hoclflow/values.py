"""Constants and names between the model and HOCL: atoms, lists and tuples as they are, the rest in a few words.

None            NULL                {"k": 1}        MAP : <"k" : 1>
[1], [1, 2]     list(1), (1, 2)     (1, 2)          (1 : 2)

Arguments:
    x, INPUT : "x y"       an input              T1, RESULT : "t 1", FILTER : (T1 : 3)       a result, or an item of it
    3, VALUE : RED         a constant            ARRIVED, ARRIVED : ALL, SIGNALLED           what started the task
    RESOURCE : grid        a resource            RESOURCE : grid : READ : 0 : 10             ten rows of it, to read

Conditions on a result, and tests: conditions, Python functions, or both.

    (result > 3)      "text of any kind"      PREDICATE : "module:function"      "result > 3" : PREDICATE : "m:f"

A condition stands in the text as it is where it reads back as the same text, and in quotes otherwise.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from msgspec.structs import replace

from solvent.errors import ProgramError, WorkflowProblem
from solvent.lang import syntax
from solvent.lang.lexer import KEYWORDS
from solvent.lang.molecule import Symbol
from solvent.lang.parser import parse_molecules
from solvent.lang.printer import TreePrinter, print_atom, print_string
from solvent.source import Source, Span
from solvent.workflows.formats.yaml.writer import name_of_function, unsayable
from solvent.workflows.model import Arrived, Claim, Input, Result, Signalled, Test, Value
from solvent.workflows.value_checks import shown

if TYPE_CHECKING:
    from solvent.workflows.model import Argument

RESERVED = frozenset(
    "SRC SRV IN DST ARG WITH EACH AFTER DOT CROSS FILTER RESULT INPUT VALUE NULL MAP WORKFLOW SERVICE RESULTS "  # noqa: SIM905
    "TRIGGER BOND ALSO WHEN PREDICATE FAILED TIMEOUT REJECTED RES LOCKS PATTERNS ARRIVED SIGNALLED TRANSIENT "
    "DEADLINE RETURNS".split()
)
"""Symbols that mean something of their own, so a task of such a name is written as a string."""

_SYMBOL = re.compile(r"[A-Z][A-Za-z0-9_]*")

_NAME = re.compile(r"[a-z][A-Za-z0-9_]*")

_NOT_NAMES = KEYWORDS | {"rec", "inf", "list", "package", "import"}


def print_task_name(name: str) -> str:
    """Write the name of a task: a symbol, or a string where it is none."""
    return name if is_symbol(name) else print_string(name)


def print_plain_name(name: str) -> str:
    """Write the name of a service or input: a word, or a string where it is none."""
    return name if is_name(name) or is_symbol(name) else print_string(name)


def is_symbol(name: str) -> bool:
    """Return whether a name is a symbol that means nothing of its own."""
    return _SYMBOL.fullmatch(name) is not None and name not in RESERVED


def is_name(name: str) -> bool:
    """Return whether a name is a lower-case word of HOCL and no keyword."""
    return _NAME.fullmatch(name) is not None and name not in _NOT_NAMES


def print_value(value: Any) -> str:
    """Write a constant, in parentheses where a part of a tuple needs them."""
    kind = type(value)
    if value is None:
        return "NULL"
    if kind in (bool, int, str) or (kind is float and not math.isnan(value)):
        return print_atom(value)
    if kind is Symbol and value.name not in RESERVED:
        return str(value.name)
    if kind is list:
        return print_list([print_value(one) for one in value])
    if kind is tuple and len(value) > 1 and type(value[0]) is not Symbol:
        return f"({' : '.join(map(print_value, value))})"
    if kind is dict and all(type(key) is str for key in value):
        entries = (f"{print_string(key)} : {print_value(one)}" for key, one in value.items())
        return f"(MAP : <{', '.join(entries)}>)"
    raise unsayable(f"HOCLflow cannot say the value: {shown(value)}")


def print_list(items: list[str]) -> str:
    """Write a list of what is written already."""
    return f"list({items[0]})" if len(items) == 1 else f"({', '.join(items)})"


class ValueReader:
    """Reads constants and names of a text; raises problems with their places."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def span(self, node: syntax.Node) -> Span:
        """Return the place of a node."""
        return Span(self.source, node.start, max(node.end, node.start + 1))

    def fail(self, node: syntax.Node, message: str, *, code: str = "W107", hint: str = "") -> NoReturn:
        """Raise a problem about a node."""
        raise WorkflowProblem(code, message, span=self.span(node), hint=hint)

    def word(self, node: syntax.Node) -> str | None:
        """Return the symbol that a node is, if it is one."""
        return node.value.name if isinstance(node, syntax.Literal) and type(node.value) is Symbol else None

    def name(self, node: syntax.Node, what: str) -> str:
        """Read a name: a symbol, a word or a string."""
        if isinstance(node, syntax.Name):
            return node.text
        if isinstance(node, syntax.Literal) and type(node.value) is Symbol:
            return str(node.value.name)
        if isinstance(node, syntax.Literal) and type(node.value) is str:
            return node.value
        self.fail(node, f"{what} is a name", hint='a symbol `T1`, a word `s1` or a string `"my name"`')

    def text(self, node: syntax.Node, what: str) -> str:
        """Read a string."""
        if isinstance(node, syntax.Literal) and type(node.value) is str:
            return node.value
        self.fail(node, f"{what} is a string", hint='write it in quotes: `"..."`')

    def solution(self, node: syntax.Node, what: str) -> list[syntax.Expression]:
        """Read the molecules between `<` and `>`."""
        if isinstance(node, syntax.SolutionNode):
            return node.items
        self.fail(node, f"{what} is a solution", hint=f"write `{what} : <...>`")

    def list(self, node: syntax.Node) -> list[Any]:
        """Read the items of a list; one item needs no list."""
        if isinstance(node, syntax.ListNode):
            return node.items
        if isinstance(node, syntax.Call) and node.function == "list":
            return node.arguments
        return [node]

    def names(self, node: syntax.Node, what: str) -> tuple[str, ...]:
        """Read the names in a solution or list."""
        items = node.items if isinstance(node, syntax.SolutionNode) else self.list(node)
        return tuple(self.name(one, f"each item of {what}") for one in items)

    def value(self, node: syntax.Node) -> Any:
        """Read a constant."""
        match node:
            case syntax.Literal():
                return None if self.word(node) == "NULL" else node.value
            case syntax.ListNode():
                return [self.value(one) for one in node.items]
            case syntax.Call(function="list"):
                return [self.value(one) for one in node.arguments]
            case syntax.TupleNode() if self.word(node.parts[0]) == "MAP" and len(node.parts) == 2:
                return self._mapping(node.parts[1])
            case syntax.TupleNode():
                return tuple(self.value(one) for one in node.parts)
            case _:
                self.fail(node, "this is no constant", hint="atoms, lists, tuples, `NULL` and `MAP : <...>` are")

    def _mapping(self, node: syntax.Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for entry in self.solution(node, "MAP"):
            key, value = self.pair(entry, "an entry of MAP")
            found[self.text(key, "a key")] = self.value(value)
        return found

    def pair(self, node: syntax.Node, what: str) -> tuple[syntax.Expression, syntax.Expression]:
        """Read `a : b`; a longer tuple is `a` and a tuple of the rest."""
        if not isinstance(node, syntax.TupleNode):
            self.fail(node, f"{what} is written `name : value`")
        first, *rest = node.parts
        if len(rest) == 1:
            return first, rest[0]
        return first, syntax.TupleNode(rest, start=rest[0].start, end=node.end)


_TEST_FORM = '`(result > 3)`, or `PREDICATE : "module:function"`'


def print_condition(condition: syntax.Expression, variable: str = "result") -> str:
    """Write a condition in its common form, the result being called `result`."""
    printer = TreePrinter()
    printer.values = {variable: "result"}
    return printer.expression(condition, 1)


def common_condition(when: str | None) -> str | None:
    """Return a condition that can stand in a rule as it is: one that reads back as the same text."""
    return None if _common_node(when) is None else when


def _common_node(when: str | None) -> syntax.Expression | None:
    if when is None:
        return None
    try:
        found = parse_molecules(Source(f"({when})"))
    except ProgramError:
        return None
    return found[0] if len(found) == 1 and print_condition(found[0]) == when else None


def print_test(test: Test) -> list[str]:
    """Write a test as the parts of a tuple; one that asks nothing is `NULL`."""
    found: list[str] = []
    if test.when is not None:
        is_plain = isinstance(_common_node(test.when), syntax.Binary | syntax.Unary | syntax.Call | syntax.Name)
        found.append(f"({test.when})" if is_plain else print_string(test.when))
    if test.predicate is not None:
        name = test.predicate if isinstance(test.predicate, str) else name_of_function(test.predicate)
        found += ["PREDICATE", print_string(name)]
    return found or ["NULL"]


class TestReader(ValueReader):
    """Reads tests."""

    __test__ = False  # Not a test case, whatever pytest thinks of its name.

    def test(self, node: syntax.Expression) -> Test:
        """Read a test that stands alone, as the value of a word."""
        return self.test_of(node.parts if isinstance(node, syntax.TupleNode) else [node], node)

    def test_of(self, parts: list[syntax.Expression], whole: syntax.Node) -> Test:
        """Read a test from the parts of a tuple."""
        when: str | None = None
        rest = parts
        if self.word(parts[0]) == "NULL" and len(parts) == 1:
            return Test()
        if self.word(parts[0]) != "PREDICATE":
            when, rest = self._condition(parts[0]), parts[1:]
        if not rest:
            return Test(when)
        if len(rest) != 2 or self.word(rest[0]) != "PREDICATE":
            self.fail(whole, "this is no condition on a result", hint=_TEST_FORM)
        return Test(when, self.text(rest[1], "PREDICATE"))

    def _condition(self, node: syntax.Expression) -> str:
        if isinstance(node, syntax.Literal) and type(node.value) is str:
            return node.value
        if isinstance(node, syntax.Binary | syntax.Unary | syntax.Call | syntax.Name) or (
            isinstance(node, syntax.Literal) and type(node.value) is bool
        ):
            return print_condition(node)
        self.fail(node, "this is no condition on a result", hint=_TEST_FORM)


def print_argument(argument: Argument, *, in_order: bool) -> str:
    """Write an argument; in ARG and WITH a symbol is a task, so one that is not is marked."""
    match argument:
        case Result(item=None):
            return argument.task if is_symbol(argument.task) else f"(RESULT : {print_string(argument.task)})"
        case Result():
            return f"(FILTER : ({print_task_name(argument.task)} : {argument.item}))"
        case Input():
            return argument.name if is_name(argument.name) else f"(INPUT : {print_string(argument.name)})"
        case Value():
            text = print_value(argument.value)
            return f"(VALUE : {text})" if in_order and is_symbol(text) else text
        case Arrived(which="all"):
            return "(ARRIVED : ALL)"
        case Arrived():
            return "ARRIVED"
        case Signalled():
            return "SIGNALLED"
        case Claim():
            return _print_claim(argument)


def _print_claim(claim: Claim) -> str:
    parts = ["RESOURCE", print_plain_name(claim.resource)]
    if claim.mode == "read":
        parts.append("READ")
    if not claim.is_whole:
        parts += [str(claim.offset), *([] if claim.length is None else [str(claim.length)])]
    return f"({' : '.join(parts)})"


class ArgumentReader(ValueReader):
    """Reads arguments."""

    def argument(self, node: syntax.Node, *, in_order: bool) -> Argument:
        """Read an argument; only in ARG and WITH can a symbol be a task."""
        if isinstance(node, syntax.Name):
            return Input(node.text)
        if isinstance(node, syntax.TupleNode):
            if self.word(node.parts[0]) == "RESOURCE":
                return self._claim(node)
            first, rest = self.pair(node, "an argument")
            match self.word(first):
                case "INPUT":
                    return Input(self.name(rest, "an input"))
                case "RESULT":
                    return Result(self.name(rest, "a task"))
                case "VALUE":
                    return Value(self.value(rest))
                case "FILTER":
                    return self.filter(node)
                case "ARRIVED":
                    if self.word(rest) != "ALL":
                        self.fail(rest, "what arrived is written `ARRIVED`, or `ARRIVED : ALL`")
                    return Arrived("all")
        match self.word(node):
            case "ARRIVED":
                return Arrived()
            case "SIGNALLED":
                return Signalled()
            case str(word) if in_order and word != "NULL":
                return Result(word)
        return Value(self.value(node))

    def _claim(self, node: syntax.TupleNode) -> Claim:
        """Read a claim: `RESOURCE : grid`, and behind it `READ`, where it begins and how long it is."""
        name, *others = node.parts[1:]
        is_read = bool(others) and self.word(others[0]) == "READ"
        numbers = [one.value for one in others[is_read:] if isinstance(one, syntax.Literal) and type(one.value) is int]
        if len(numbers) != len(others) - is_read or len(numbers) > 2:
            self.fail(node, "a claim is written `RESOURCE : grid`, `RESOURCE : grid : READ : 0 : 10`")
        claim = Claim(self.name(name, "a resource"), "read" if is_read else "write")
        return replace(claim, **dict(zip(("offset", "length"), numbers, strict=False)))

    def filter(self, node: syntax.Node) -> Result:
        """Read an item of a result."""
        first, rest = self.pair(node, "a filter")
        if self.word(first) == "FILTER" and isinstance(rest, syntax.TupleNode | syntax.ListNode):
            parts = rest.parts if isinstance(rest, syntax.TupleNode) else rest.items
            item = parts[-1]
            if len(parts) == 2 and isinstance(item, syntax.Literal) and type(item.value) is int:
                return Result(self.name(parts[0], "a source"), item.value)
        self.fail(node, "a filter is written `FILTER : (T1 : 3)`")
