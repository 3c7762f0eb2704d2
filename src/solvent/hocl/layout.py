"""Programs in the common layout.

What an author wrote on one line stays on one line if it fits; what is too long, or was written over several
lines, is broken like this, each level two spaces further to the right:

    let greater =
      replace x, y
      by x
      if x > y
    in
    <
      1, 2, 3,
      <4, greater>,
      replace-one <greater = rule, ?rest>
      by rest
    >

In a broken solution a line holds what the author put on it, as far as it fits; a rule or a long molecule
has a line of its own. One empty line between two molecules or lets stays. A comment that ended a line ends
one again; any other stands on a line of its own before what it preceded. Writing goes once through the text
in its order, so a comment comes out at the first place after it where a line may end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.chemistry.syntax import (
    Binary,
    Call,
    Expression,
    LetNode,
    ListNode,
    ListPattern,
    Literal,
    Multiplet,
    Name,
    Pattern,
    ProgramNode,
    RestPattern,
    RuleNode,
    SolutionNode,
    SolutionPattern,
    TupleNode,
    TuplePattern,
    Unary,
)
from solvent.hocl.flat import FlatPrinter, flat_pattern, is_bare
from solvent.hocl.pen import WIDTH, Pen

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.chemistry.syntax import Binding
    from solvent.source import Source

_SHARED_MAX = 40
"""How long a molecule may be that shares its line with others."""


def format_program(program: ProgramNode, source: Source) -> str:
    """Give a program's text in the common layout."""
    return _Layout(program, source).text()


class _Layout:
    def __init__(self, program: ProgramNode, source: Source) -> None:
        self.program = program
        self.source = source
        self.flat = FlatPrinter()
        self.pen = Pen(source.text, program)

    def text(self) -> str:
        """Write the whole program."""
        self.pen.write_headers()
        body = self.program.body
        if len(body) == 1 and isinstance(body[0], LetNode):
            self._let(body[0])
        else:
            self._items(body)
        return self.pen.finish()

    # --- Lists of molecules or patterns.

    def _items(self, items: Sequence[Expression | Pattern], *, in_solution: bool = False) -> None:
        """Write molecules with commas, on as many lines as the author wanted and the width asks."""
        pen = self.pen
        began = 0
        for at, item in enumerate(items):
            is_last = at == len(items) - 1
            if at and pen.lines_count == began and self._shares_line(items[at - 1], item):
                pen.write(" ")
            else:
                pen.begin_line(item.start)
                began = pen.lines_count
            self._one(item, may_be_bare=is_last and in_solution)
            if not is_last:
                pen.write(",")

    def _shares_line(self, before: Expression | Pattern, item: Expression | Pattern) -> bool:
        pen = self.pen
        text, previous = self._flat(item), self._flat(before)
        return (
            not pen.has_break(before.start, item.start)
            and not pen.has_comment(item.start)
            and _is_plain(before)
            and _is_plain(item)
            and max(len(text), len(previous)) <= _SHARED_MAX
            and pen.column + len(text) + 2 <= WIDTH
        )

    def _one(self, item: Expression | Pattern, *, may_be_bare: bool) -> None:
        """Write one molecule of a solution."""
        if isinstance(item, RuleNode) and may_be_bare and is_bare(item):
            if self._fits(item, self.flat.rule(item)):
                self.pen.write(self.flat.rule(item))
            else:
                self._clauses(item)
        else:
            self._node(item)

    def _flat(self, node: Expression | Pattern) -> str:
        return flat_pattern(node) if _is_pattern(node) else self.flat.item(node)  # type: ignore[arg-type]

    def _fits(self, node: Expression | Pattern, text: str, after: int = 1) -> bool:
        """Say whether a node can stand on the current line: it was written so, and it is short enough."""
        pen = self.pen
        is_whole = not pen.has_break(node.start, node.end) and not pen.has_comment(node.end)
        return is_whole and pen.column + len(text) + after <= WIDTH

    # --- Nodes that do not fit on a line.

    def _node(self, node: Expression | Pattern, *, is_part: bool = False) -> None:
        """Write a node where the line is, broken if it must be."""
        text = self._part(node) if is_part else self._flat(node)
        if self._fits(node, text):
            self.pen.write(text)
            return
        match node:
            case SolutionNode() | SolutionPattern():
                self._bracketed("<", node.items, ">", node.end)
            case ListNode():
                self._bracketed("list(" if len(node.items) == 1 else "(", node.items, ")", node.end)
            case ListPattern():
                alone = len(node.items) == 1 and not isinstance(node.items[0], RestPattern)
                self._bracketed("list(" if alone else "(", node.items, ")", node.end)
            case Call() if not node.method:
                self._bracketed(f"{node.function}(", node.arguments, ")", node.end)
            case TupleNode() | TuplePattern():
                self._tuple(node, is_part=is_part)
            case Multiplet() if not is_part:
                self._node(node.item, is_part=True)
                self.pen.write(text[len(self._part(node.item)) :])
            case RuleNode():
                self._enclosed_rule(node)
            case LetNode():
                self._enclosed_let(node)
            case _:
                self.pen.write(text)

    def _part(self, node: Expression | Pattern) -> str:
        if _is_pattern(node):
            text = flat_pattern(node)  # type: ignore[arg-type]
            return f"({text})" if isinstance(node, TuplePattern) else text
        return self.flat.part(node)  # type: ignore[arg-type]

    def _bracketed(self, opening: str, items: Sequence[Expression | Pattern], closing: str, end: int) -> None:
        pen = self.pen
        pen.write(opening)
        if not items and not pen.has_comment(end):
            pen.write(closing)
            return
        pen.indent()
        self._items(items, in_solution=opening == "<")
        pen.flush_comments(end - 1)
        pen.dedent()
        pen.break_line()
        pen.write(closing)

    def _tuple(self, node: TupleNode | TuplePattern, *, is_part: bool) -> None:
        if is_part:
            self.pen.write("(")
        for at, part in enumerate(node.parts):
            if at:
                self.pen.write(" : ")
            self._node(part, is_part=True)
        if is_part:
            self.pen.write(")")

    def _enclosed_rule(self, node: RuleNode) -> None:
        pen = self.pen
        pen.write(f"({node.name} =" if node.name else "(")
        if node.is_inject and not node.patterns and node.condition is None:
            # There is only one clause, so only what it injects is broken.
            pen.write(" " if node.name else "")
            self._clauses(node)
            pen.write(")")
            return
        pen.indent()
        pen.break_line()
        self._clauses(node)
        pen.dedent()
        pen.break_line()
        pen.write(")")

    def _enclosed_let(self, node: LetNode) -> None:
        pen = self.pen
        pen.write("(")
        pen.indent()
        self._let(node)
        pen.dedent()
        pen.break_line()
        pen.write(")")

    # --- Lets and rules.

    def _let(self, node: LetNode) -> None:
        for binding in node.bindings:
            self.pen.begin_line(binding.start)
            self._binding(binding)
        self._items(node.body)

    def _binding(self, binding: Binding) -> None:
        pen = self.pen
        text = self.flat.binding(binding)
        rule = binding.rule
        if (
            not pen.has_break(binding.start, rule.end)
            and not pen.has_comment(rule.end)
            and pen.column + len(text) <= WIDTH
        ):
            pen.write(text)
            return
        pen.write(f"let {'rec ' if binding.recursive else ''}{binding.name} =")
        pen.indent()
        pen.begin_line(rule.start, may_be_empty=False)
        self._clauses(rule)
        pen.dedent()
        pen.break_line()
        pen.write("in")

    def _clauses(self, rule: RuleNode) -> None:
        """Write a rule with one clause on each line, at the line that has been begun."""
        pen = self.pen
        if rule.is_inject:
            self._clause("inject", rule.product)
            if rule.patterns:
                pen.begin_line(rule.patterns[0].start, may_be_empty=False)
                self._clause("with", rule.patterns)
        else:
            self._clause("replace-one" if rule.one_shot else "replace", rule.patterns)
            # A comment around an empty product's `by` goes before it.
            after = rule.condition.start if rule.condition is not None else rule.end
            pen.begin_line(rule.product[0].start if rule.product else after, may_be_empty=False)
            self._clause("by", rule.product)
        if rule.condition is not None:
            pen.begin_line(rule.condition.start, may_be_empty=False)
            self._condition(rule.condition)

    def _clause(self, word: str, items: Sequence[Expression | Pattern]) -> None:
        pen = self.pen
        pen.write(word)
        if not items:
            return
        text = ", ".join(map(self._flat, items))
        breaks = any(isinstance(one, RuleNode | LetNode) and pen.has_break(one.start, one.end) for one in items)
        if len(items) == 1:
            pen.write(" ")
            self._node(items[0])
        elif not breaks and not pen.has_comment(items[-1].end) and pen.column + 1 + len(text) <= WIDTH:
            pen.write(f" {text}")
        else:
            pen.indent()
            self._items(items)
            pen.dedent()

    def _condition(self, condition: Expression) -> None:
        """Write a condition; one that is too long is broken before its `&&` or `||`."""
        pen = self.pen
        text = self.flat.expression(condition, 1)
        if pen.column + 3 + len(text) <= WIDTH or not isinstance(condition, Binary):
            pen.write(f"if {text}")
            return
        operator = condition.operator if condition.operator in ("&&", "||") else ""
        parts: list[Expression] = []
        left: Expression = condition
        while operator and isinstance(left, Binary) and left.operator == operator:
            parts.append(left.right)
            left = left.left
        least = {"||": 1, "&&": 2}.get(operator, 1)
        pen.write(f"if {self.flat.expression(left, least)}")
        pen.indent()
        for part in reversed(parts):
            pen.begin_line(part.start, may_be_empty=False)
            pen.write(f"{operator} {self.flat.expression(part, least + 1)}")
        pen.dedent()


def _is_pattern(node: Expression | Pattern) -> bool:
    return not isinstance(node, _EXPRESSIONS)


_EXPRESSIONS = (
    Literal,
    Name,
    TupleNode,
    ListNode,
    SolutionNode,
    Multiplet,
    Unary,
    Binary,
    Call,
    RuleNode,
    LetNode,
)


def _is_plain(node: Expression | Pattern) -> bool:
    """Say whether a molecule may share its line: it is no rule and no solution."""
    return not isinstance(node, RuleNode | LetNode | SolutionNode | SolutionPattern)
