"""Arguments of calls: constants, inputs, results, and what arrived.

x, INPUT : "x y"       an input              T1, RESULT : "t 1", FILTER : (T1 : 3)       a result, or an item of it
3, VALUE : RED         a constant            ARRIVED, ARRIVED : ALL, SIGNALLED           what started the task
RESOURCE : grid        a resource            RESOURCE : grid : READ : 0 : 10             ten rows of it, to read
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.chemistry.printer import print_string
from solvent.chemistry.syntax import ListNode, Literal, Name, TupleNode
from solvent.workflow.hoclflow.values import (
    ValueReader,
    is_name,
    is_symbol,
    print_plain_name,
    print_task_name,
    print_value,
)
from solvent.workflow.model import Arrived, Claim, Input, Result, Signalled, Value

if TYPE_CHECKING:
    from solvent.chemistry.syntax import Node
    from solvent.workflow.model import Argument


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

    def argument(self, node: Node, *, in_order: bool) -> Argument:
        """Read an argument; only in ARG and WITH can a symbol be a task."""
        if isinstance(node, Name):
            return Input(node.text)
        if isinstance(node, TupleNode):
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

    def _claim(self, node: TupleNode) -> Claim:
        """Read a claim: `RESOURCE : grid`, and behind it `READ`, where it begins and how long it is."""
        name, *others = node.parts[1:]
        is_read = bool(others) and self.word(others[0]) == "READ"
        numbers = [one.value for one in others[is_read:] if isinstance(one, Literal) and type(one.value) is int]
        if len(numbers) != len(others) - is_read or len(numbers) > 2:
            self.fail(node, "a claim is written `RESOURCE : grid`, `RESOURCE : grid : READ : 0 : 10`")
        claim = Claim(self.name(name, "a resource"), "read" if is_read else "write")
        return replace(claim, **dict(zip(("offset", "length"), numbers, strict=False)))

    def filter(self, node: Node) -> Result:
        """Read an item of a result."""
        first, rest = self.pair(node, "a filter")
        if self.word(first) == "FILTER" and isinstance(rest, TupleNode | ListNode):
            parts = rest.parts if isinstance(rest, TupleNode) else rest.items
            item = parts[-1]
            if len(parts) == 2 and isinstance(item, Literal) and type(item.value) is int:
                return Result(self.name(parts[0], "a source"), item.value)
        self.fail(node, "a filter is written `FILTER : (T1 : 3)`")


__all__ = ["ArgumentReader", "print_argument"]
