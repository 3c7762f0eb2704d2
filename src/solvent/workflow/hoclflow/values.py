"""Constants and names between the model and HOCL: atoms, lists and tuples as they are, the rest in a few words.

None            NULL                {"k": 1}        MAP : <"k" : 1>
[1], [1, 2]     list(1), (1, 2)     (1, 2)          (1 : 2)
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any, NoReturn

from solvent.chemistry.molecule import Symbol
from solvent.chemistry.printer import print_atom, print_string
from solvent.chemistry.syntax import Call, Expression, ListNode, Literal, Name, SolutionNode, TupleNode
from solvent.errors import WorkflowProblem
from solvent.hocl.lexer import KEYWORDS
from solvent.source import Span
from solvent.workflow.files.writing import unsayable

if TYPE_CHECKING:
    from solvent.chemistry.syntax import Node
    from solvent.source import Source

RESERVED = frozenset(
    "SRC SRV IN DST ARG WITH EACH AFTER DOT CROSS FILTER RESULT INPUT VALUE NULL MAP WORKFLOW SERVICE RESULTS "  # noqa: SIM905
    "TRIGGER BOND ALSO WHEN PREDICATE FAILED TIMEOUT REJECTED RES LOCKS PATTERNS ARRIVED SIGNALLED TRANSIENT".split()
)
"""Symbols that mean something of their own, so a task of such a name is written as a string."""
_SYMBOL = re.compile(r"[A-Z][A-Za-z0-9_]*")
_NAME = re.compile(r"[a-z][A-Za-z0-9_]*")
_NOT_NAMES = KEYWORDS | {"rec", "inf", "list", "package", "import"}


# --- Writing.


def print_task_name(name: str) -> str:
    """Write the name of a task: a symbol, or a string where it is none."""
    return name if is_symbol(name) else print_string(name)


def print_plain_name(name: str) -> str:
    """Write the name of a service or input: a word, or a string where it is none."""
    return name if is_name(name) or is_symbol(name) else print_string(name)


def is_symbol(name: str) -> bool:
    """Say whether a name is a symbol that means nothing of its own."""
    return _SYMBOL.fullmatch(name) is not None and name not in RESERVED


def is_name(name: str) -> bool:
    """Say whether a name is a lower-case word of HOCL and no keyword."""
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
    shown = repr(value)
    raise unsayable(f"HOCLflow cannot say the value {shown if len(shown) < 60 else shown[:57] + '...'}")


def print_list(items: list[str]) -> str:
    """Write a list of what is written already."""
    return f"list({items[0]})" if len(items) == 1 else f"({', '.join(items)})"


# --- Reading.


class ValueReader:
    """Reads constants and names of a text; raises problems with their places."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def span(self, node: Node) -> Span:
        """Give the place of a node."""
        return Span(self.source, node.start, max(node.end, node.start + 1))

    def fail(self, node: Node, message: str, *, code: str = "W107", hint: str = "") -> NoReturn:
        """Raise a problem about a node."""
        raise WorkflowProblem(code, message, span=self.span(node), hint=hint)

    def word(self, node: Node) -> str | None:
        """Give the symbol that a node is, if it is one."""
        return node.value.name if isinstance(node, Literal) and type(node.value) is Symbol else None

    def name(self, node: Node, what: str) -> str:
        """Read a name: a symbol, a word or a string."""
        if isinstance(node, Name):
            return node.text
        if isinstance(node, Literal) and type(node.value) is Symbol:
            return str(node.value.name)
        if isinstance(node, Literal) and type(node.value) is str:
            return node.value
        self.fail(node, f"{what} is a name", hint='a symbol `T1`, a word `s1` or a string `"my name"`')

    def text(self, node: Node, what: str) -> str:
        """Read a string."""
        if isinstance(node, Literal) and type(node.value) is str:
            return node.value
        self.fail(node, f"{what} is a string", hint='write it in quotes: `"..."`')

    def solution(self, node: Node, what: str) -> list[Expression]:
        """Read the molecules between `<` and `>`."""
        if isinstance(node, SolutionNode):
            return node.items
        self.fail(node, f"{what} is a solution", hint=f"write `{what} : <...>`")

    def list(self, node: Node) -> list[Any]:
        """Read the items of a list; one item needs no list."""
        if isinstance(node, ListNode):
            return node.items
        if isinstance(node, Call) and node.function == "list":
            return node.arguments
        return [node]

    def names(self, node: Node, what: str) -> tuple[str, ...]:
        """Read the names in a solution or list."""
        items = node.items if isinstance(node, SolutionNode) else self.list(node)
        return tuple(self.name(one, f"each item of {what}") for one in items)

    def value(self, node: Node) -> Any:
        """Read a constant."""
        match node:
            case Literal():
                return None if self.word(node) == "NULL" else node.value
            case ListNode():
                return [self.value(one) for one in node.items]
            case Call(function="list"):
                return [self.value(one) for one in node.arguments]
            case TupleNode() if self.word(node.parts[0]) == "MAP" and len(node.parts) == 2:
                return self._mapping(node.parts[1])
            case TupleNode():
                return tuple(self.value(one) for one in node.parts)
            case _:
                self.fail(node, "this is no constant", hint="atoms, lists, tuples, `NULL` and `MAP : <...>` are")

    def _mapping(self, node: Node) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for entry in self.solution(node, "MAP"):
            key, value = self.pair(entry, "an entry of MAP")
            found[self.text(key, "a key")] = self.value(value)
        return found

    def pair(self, node: Node, what: str) -> tuple[Expression, Expression]:
        """Read `a : b`; a longer tuple is `a` and a tuple of the rest."""
        if not isinstance(node, TupleNode):
            self.fail(node, f"{what} is written `name : value`")
        first, *rest = node.parts
        if len(rest) == 1:
            return first, rest[0]
        return first, TupleNode(rest, start=rest[0].start, end=node.end)


__all__ = [
    "RESERVED", "ValueReader", "is_name", "is_symbol", "print_list", "print_plain_name", "print_task_name",
    "print_value",
]  # fmt: skip
