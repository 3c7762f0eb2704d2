"""Python text in the making: lines, indentation, constants, and which node each line came from."""

from __future__ import annotations

import itertools
from bisect import bisect_left
from typing import TYPE_CHECKING, Any

from solvent.engine import support
from solvent.engine.index import in_order, trim
from solvent.lang import operators
from solvent.lang.molecule import ATOMS, MAX_INTEGER_BITS, Endless, List, Symbol
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.lang.syntax import Node

ERRORS = (operators.Incomputable, ArithmeticError)
"""What a condition may raise where it cannot be computed."""

_GLOBALS: dict[str, Any] = {
    "_ATOMS": ATOMS,
    "_ERRORS": ERRORS,
    "_Endless": Endless,
    "_List": List,
    "_Rule": Rule,
    "_Solution": Solution,
    "_BIG": 1 << MAX_INTEGER_BITS,
    "_copied": support.own_copy,
    "_copies": support.copies,
    **operators.COMPUTE,
    "_answer": support.answer,
    "_drain": support.drain,
    "_rest": support.rest,
    "_store": support.store_of,
    "_times": support.times,
    "_trim": trim,
    "_trimmed": support.trimmed,
    "_in_order": in_order,
    "_each_row": support.each_row,
    "_count": support.count,
}
_PLAIN = {int: int.__repr__, bool: bool.__repr__, str: str.__repr__}
_SMALL = 10**18
_names = itertools.count(1)


class Code:
    """The text of one compiled rule, and the objects it refers to."""

    def __init__(self, title: str) -> None:
        self.file = f"<rule {title} #{next(_names)}>"
        self.names: dict[str, Any] = dict(_GLOBALS)
        self.nodes: dict[int, Node] = {}
        #: Before which lines the parts of a text begin that is written for several entries.
        self._parts: list[int] = []
        self._lines: list[str] = []
        self._depth = 0
        self._constants: dict[tuple[type, Any], str] = {}

    def line(self, text: str, node: Node | None = None) -> None:
        """Add a line at the current depth, made for a node."""
        self._lines.append("    " * self._depth + text)
        if node is not None:
            self.nodes[len(self._lines)] = node

    def open(self, text: str) -> None:
        """Add a line that begins a block."""
        self.line(text)
        self._depth += 1

    def close(self, depth: int | None = None) -> None:
        """End the innermost block, or all down to a depth."""
        self._depth = self._depth - 1 if depth is None else depth

    def mark(self) -> int:
        """Return the place where `insert` can put a line later."""
        return len(self._lines)

    def insert(self, mark: int, text: str) -> None:
        """Put a line at a place marked before, one block deep."""
        self._lines.insert(mark, f"    {text}")
        self.nodes = {at + (at > mark): node for at, node in self.nodes.items()}
        self._parts = [at + (at >= mark) for at in self._parts]

    def begin_part(self) -> None:
        """Let the next line be the first that is written for the next entry."""
        self._parts.append(len(self._lines))

    def part_at(self, line: int) -> int:
        """Return the number of the part that a line belongs to, from zero; -1 if it belongs to none."""
        return bisect_left(self._parts, line) - 1

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return self._depth

    def constant(self, value: Any, prefix: str = "K") -> str:
        """Return an expression for a constant: itself where Python's text is exact, a name otherwise."""
        kind = type(value)
        if kind in _PLAIN and (kind is not int or abs(value) < _SMALL):
            return str(_PLAIN[kind](value))
        key = (kind, value) if kind in (Symbol, int, str) else (kind, id(value))
        name = self._constants.get(key)
        if name is None:
            name = self._constants[key] = f"{prefix}{len(self._constants)}"
            self.names[name] = value
        return name

    def text(self) -> str:
        """Return the text so far."""
        return "\n".join(self._lines) + "\n"

    def made(self) -> dict[str, Callable[..., Any]]:
        """Compile the text and give what it defines."""
        exec(compile(self.text(), self.file, "exec"), self.names)  # noqa: S102 - the text is our own, from a checked tree
        return self.names
