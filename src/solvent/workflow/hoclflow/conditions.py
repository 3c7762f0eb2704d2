"""Conditions on a result in their common form, and tests: conditions, Python functions, or both.

    (result > 3)      "text of any kind"      PREDICATE : "module:function"      "result > 3" : PREDICATE : "m:f"

A condition stands in the text as it is where it reads back as the same text, and in quotes otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.chemistry.printer import TreePrinter, print_string
from solvent.chemistry.syntax import Binary, Call, Expression, Literal, Name, TupleNode, Unary
from solvent.errors import ProgramError
from solvent.hocl import parse_molecules
from solvent.source import Source
from solvent.workflow.control import Test
from solvent.workflow.files.writing import name_of_function
from solvent.workflow.hoclflow.values import ValueReader

if TYPE_CHECKING:
    from solvent.chemistry.syntax import Node

_TEST_FORM = '`(result > 3)`, or `PREDICATE : "module:function"`'


def print_condition(condition: Expression, variable: str = "result") -> str:
    """Write a condition in its common form, the result being called `result`."""
    printer = TreePrinter()
    printer.values = {variable: "result"}
    return printer.expression(condition, 1)


def common_condition(when: str | None) -> str | None:
    """Give a condition that can stand in a rule as it is: one that reads back as the same text."""
    return None if _common_node(when) is None else when


def _common_node(when: str | None) -> Expression | None:
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
        is_plain = isinstance(_common_node(test.when), Binary | Unary | Call | Name)
        found.append(f"({test.when})" if is_plain else print_string(test.when))
    if test.predicate is not None:
        name = test.predicate if isinstance(test.predicate, str) else name_of_function(test.predicate)
        found += ["PREDICATE", print_string(name)]
    return found or ["NULL"]


class TestReader(ValueReader):
    """Reads tests."""

    __test__ = False  # Not a test case, whatever pytest thinks of its name.

    def test(self, node: Expression) -> Test:
        """Read a test that stands alone, as the value of a word."""
        return self.test_of(node.parts if isinstance(node, TupleNode) else [node], node)

    def test_of(self, parts: list[Expression], whole: Node) -> Test:
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

    def _condition(self, node: Expression) -> str:
        if isinstance(node, Literal) and type(node.value) is str:
            return node.value
        if isinstance(node, Binary | Unary | Call | Name) or (isinstance(node, Literal) and type(node.value) is bool):
            return print_condition(node)
        self.fail(node, "this is no condition on a result", hint=_TEST_FORM)


__all__ = ["TestReader", "common_condition", "print_condition", "print_test"]
