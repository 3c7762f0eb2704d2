"""Warnings: programs that parse but are probably not meant so, such as rules that no solution contains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.errors import nearest
from solvent.lang import syntax
from solvent.source import Source, Span, excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator


class Doubt:
    """A warning: a code, a message, a place and a hint."""

    def __init__(self, code: str, message: str, span: Span | None, hint: str = "") -> None:
        self.code = code
        self.message = message
        self.span = span
        self.hint = hint

    def show(self) -> str:
        """Return the text of the warning, formatted like an error."""
        lines = [f"warning[{self.code}]: {self.message}"]
        if self.span is not None:
            lines += [f"  {self.span.place}", excerpt(self.span)]
        return "\n".join([*lines, f"  hint: {self.hint}"] if self.hint else lines)


def doubts(program: syntax.ProgramNode, source: Source) -> list[Doubt]:
    """Return the warnings about a program, in the order of its text."""
    found = [*_unused(program, source), *_unnamed(program, source)]
    return sorted(found, key=lambda one: one.span.start if one.span else 0)


def _unused(program: syntax.ProgramNode, source: Source) -> Iterator[Doubt]:
    for let in _nodes(program.body):
        if not isinstance(let, syntax.LetNode):
            continue
        used = _names(let.body)
        # From the last let to the first: a rule is of use when the body or a later rule of use names it.
        for binding in reversed(let.bindings):
            if binding.name in used:
                used |= _names([binding.rule])
            else:
                hint = f"put `{binding.name}` into the solution it is for"
                message = f"the rule `{binding.name}` is in no solution, so it never reacts"
                yield Doubt("H250", message, Span(source, binding.start, binding.end), hint)


def _unnamed(program: syntax.ProgramNode, source: Source) -> Iterator[Doubt]:
    nodes = list(_nodes(program.body))
    named = {binding.name for node in nodes if isinstance(node, syntax.LetNode) for binding in node.bindings}
    named |= {node.name for node in nodes if isinstance(node, syntax.RuleNode) and node.name}
    for node in nodes:
        for pattern in _patterns(node.patterns) if isinstance(node, syntax.RuleNode) else ():
            if isinstance(pattern, syntax.RulePattern) and pattern.rule not in named:
                message = f"no rule of this program is named `{pattern.rule}`, so this pattern never fits"
                yield Doubt("H251", message, Span(source, pattern.start, pattern.end), nearest(pattern.rule, named))


def _names(nodes: list[syntax.Expression]) -> set[str]:
    return {node.text for node in _nodes(nodes) if isinstance(node, syntax.Name)}


def _nodes(nodes: list[syntax.Expression]) -> Iterator[syntax.Expression]:
    """Return every node of expressions, without recursion."""
    work = list(nodes)
    while work:
        node = work.pop()
        yield node
        match node:
            case syntax.SolutionNode() | syntax.ListNode():
                work += node.items
            case syntax.TupleNode():
                work += node.parts
            case syntax.Binary():
                work += [node.left, node.right]
            case syntax.Unary():
                work.append(node.operand)
            case syntax.Multiplet():
                work += [node.item] if node.count is None else [node.item, node.count]
            case syntax.Call():
                work += node.arguments
            case syntax.RuleNode():
                work += node.product if node.condition is None else [*node.product, node.condition]
            case syntax.LetNode():
                work += [*(binding.rule for binding in node.bindings), *node.body]


def _patterns(patterns: list[syntax.Pattern]) -> Iterator[syntax.Pattern]:
    for pattern in patterns:
        yield pattern
        match pattern:
            case syntax.TuplePattern():
                yield from _patterns(pattern.parts)
            case syntax.ListPattern() | syntax.SolutionPattern():
                yield from _patterns(pattern.items)
