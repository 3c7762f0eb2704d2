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
one again; any other stands on a line of its own before what it preceded. The text is written once, in its
order, so a comment is written at the first place after it where a line may end.

`TreePrinter` writes a tree on one line, `Pen` writes lines and comments, and `_Layout` decides where lines break.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from solvent.lang import syntax
from solvent.lang.operators import OPERATORS, SUM
from solvent.lang.printer import TreePrinter, is_bare, print_pattern

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.source import Source


WIDTH = 88
_STEP = 2
_CLOSERS = " \t,;>)⟩"
_MAX_SHARED = 40
"""The longest molecule that shares its line with others."""
_COLON = " : "


def format_program(program: syntax.ProgramNode, source: Source) -> str:
    """Return a program's text in the common layout."""
    return _Layout(program, source).text()


class Pen:
    """Writes lines, with the comments of the original text between them."""

    def __init__(self, text: str, program: syntax.ProgramNode) -> None:
        self._text = text
        self._headers = _header_spans(text, program)
        # Comments inside a header line are part of its text.
        self._comments = [
            (at, comment)
            for at, comment in program.comments
            if not any(start <= at < end for start, end in self._headers)
        ]
        self._offsets = [at for at, _ in self._comments]
        self._next = 0
        self._lines: list[str] = []
        self._line = ""
        self._remark = ""
        self._margin = 0

    # --- The text as the author wrote it.

    def has_break(self, start: int, end: int) -> bool:
        """Return whether the original text has a line break between two places."""
        return "\n" in self._text[start:end]

    def has_comment(self, end: int) -> bool:
        """Return whether a comment before a place is still to be written."""
        return self._next < len(self._offsets) and self._offsets[self._next] < end

    def _has_empty_line(self, at: int) -> bool:
        """Return whether the original text has an empty line right before a place."""
        lines = 0
        while at > 0 and self._text[at - 1] in " \t\r\n(":
            at -= 1
            # What counts stood before the parentheses around the place.
            lines = 0 if self._text[at] == "(" else lines + (self._text[at] == "\n")
        return lines > 1

    # --- Writing.

    @property
    def column(self) -> int:
        """The length of the current line."""
        return len(self._line)

    @property
    def lines_count(self) -> int:
        """The number of lines written, without the current one."""
        return len(self._lines)

    def write(self, text: str) -> None:
        """Append to the current line."""
        if not self._line and text:
            self._line = " " * self._margin
        self._line += text

    def indent(self) -> None:
        """Indent the next lines."""
        self._margin += _STEP

    def dedent(self) -> None:
        """Dedent the next lines."""
        self._margin -= _STEP

    def break_line(self) -> None:
        """End the line, if there is one."""
        line = self._line.rstrip()
        if line:
            self._lines.append(f"{line}  {self._remark}" if self._remark else line)
        self._line = self._remark = ""

    def begin_line(self, at: int, *, may_be_empty: bool = True) -> None:
        """End the line, write the comments before a place in the text, and keep one empty line before it."""
        self.flush_comments(at)
        self.break_line()
        if may_be_empty and self._has_empty_line(at):
            self._skip_line()
        # The margin is set now, so that `column` counts it.
        self._line = " " * self._margin

    def flush_comments(self, end: int) -> None:
        """Write the comments that stood before a place."""
        while self.has_comment(end):
            at, comment = self._comments[self._next]
            self._next += 1
            comment = "\n".join(line.rstrip() for line in comment.split("\n"))
            if self._ends_its_line(at, comment) and self._line.strip() and not self._remark:
                self._remark = comment
                continue
            self.break_line()
            if self._has_empty_line(at):
                self._skip_line()
            self._lines.append(" " * self._margin + comment)

    def _ends_its_line(self, at: int, comment: str) -> bool:
        start = self._text.rfind("\n", 0, at) + 1
        before = self._text[start:at].strip()
        end = self._text.find("\n", at + len(comment))
        after = self._text[at + len(comment) : end if end >= 0 else len(self._text)].strip(_CLOSERS + "\r")
        return bool(before) and (not after or after.startswith(("//", "#", "/*")))

    def _skip_line(self) -> None:
        if self._lines and self._lines[-1] and not self._is_opening(self._lines[-1]):
            self._lines.append("")

    @staticmethod
    def _is_opening(line: str) -> bool:
        return line.endswith(("<", "("))

    def write_headers(self) -> None:
        """Write the `package` and `import` lines."""
        for start, end in self._headers:
            self.begin_line(start)
            self.write(self._text[start:end])

    def finish(self) -> str:
        """Write the remaining comments and return the whole text."""
        self.flush_comments(len(self._text))
        self.break_line()
        return "\n".join(self._lines) + "\n"


def _header_spans(text: str, program: syntax.ProgramNode) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    at = 0
    offsets = [offset for offset, _ in program.comments]
    for header in program.header:
        at = text.index(header, at)
        # A comment may hold the same words.
        while (comment := bisect_left(offsets, at + 1) - 1) >= 0 and at < offsets[comment] + len(
            program.comments[comment][1]
        ):
            at = text.index(header, offsets[comment] + len(program.comments[comment][1]))
        spans.append((at, at + len(header)))
        at += len(header)
    return spans


class _Layout:
    def __init__(self, program: syntax.ProgramNode, source: Source) -> None:
        self.program = program
        self.source = source
        self.flat = TreePrinter(as_written=True)
        self.pen = Pen(source.text, program)

    def text(self) -> str:
        """Write the whole program."""
        self.pen.write_headers()
        body = self.program.body
        if len(body) == 1 and isinstance(body[0], syntax.LetNode):
            self._let(body[0])
        else:
            self._items(body)
        return self.pen.finish()

    # --- Lists of molecules or patterns.

    def _items(self, items: Sequence[syntax.Expression | syntax.Pattern], *, in_solution: bool = False) -> None:
        """Write molecules with commas, on as many lines as the original and the width require."""
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

    def _shares_line(
        self, before: syntax.Expression | syntax.Pattern, item: syntax.Expression | syntax.Pattern
    ) -> bool:
        pen = self.pen
        text, previous = self._flat(item), self._flat(before)
        return (
            not pen.has_break(before.start, item.start)
            and not pen.has_comment(item.start)
            and _is_plain(before)
            and _is_plain(item)
            and max(len(text), len(previous)) <= _MAX_SHARED
            and pen.column + len(text) + 2 <= WIDTH
        )

    def _one(self, item: syntax.Expression | syntax.Pattern, *, may_be_bare: bool) -> None:
        """Write one molecule of a solution."""
        if isinstance(item, syntax.RuleNode) and may_be_bare and is_bare(item):
            if self._fits(item, self.flat.rule(item)):
                self.pen.write(self.flat.rule(item))
            else:
                self._clauses(item)
        else:
            self._node(item)

    def _flat(self, node: syntax.Expression | syntax.Pattern) -> str:
        return print_pattern(node, _COLON) if _is_pattern(node) else self.flat.item(node)  # type: ignore[arg-type]

    def _fits(self, node: syntax.Expression | syntax.Pattern, text: str, after: int = 1) -> bool:
        """Return whether a node fits on the current line: it was on one line before, and it is short enough."""
        pen = self.pen
        is_whole = not pen.has_break(node.start, node.end) and not pen.has_comment(node.end)
        return is_whole and pen.column + len(text) + after <= WIDTH

    # --- Nodes that do not fit on a line.

    def _node(self, node: syntax.Expression | syntax.Pattern, *, is_part: bool = False) -> None:
        """Write a node at the current position, broken if necessary."""
        text = self._part(node) if is_part else self._flat(node)
        if self._fits(node, text):
            self.pen.write(text)
            return
        match node:
            case syntax.SolutionNode() | syntax.SolutionPattern():
                self._bracketed("<", node.items, ">", node.end)
            case syntax.ListNode():
                self._bracketed("list(" if len(node.items) == 1 else "(", node.items, ")", node.end)
            case syntax.ListPattern():
                alone = len(node.items) == 1 and not isinstance(node.items[0], syntax.RestPattern)
                self._bracketed("list(" if alone else "(", node.items, ")", node.end)
            case syntax.Call() if not node.method:
                self._bracketed(f"{node.function}(", node.arguments, ")", node.end)
            case syntax.TupleNode() | syntax.TuplePattern():
                self._tuple(node, is_part=is_part)
            case syntax.Multiplet() if not is_part:
                self._node(node.item, is_part=True)
                self.pen.write(text[len(self._part(node.item)) :])
            case syntax.RuleNode():
                self._enclosed_rule(node)
            case syntax.LetNode():
                self._enclosed_let(node)
            case _:
                self.pen.write(text)

    def _part(self, node: syntax.Expression | syntax.Pattern) -> str:
        if _is_pattern(node):
            text = print_pattern(node, _COLON)  # type: ignore[arg-type]
            return f"({text})" if isinstance(node, syntax.TuplePattern) else text
        return self.flat.expression(node, SUM)  # type: ignore[arg-type]

    def _bracketed(
        self, opening: str, items: Sequence[syntax.Expression | syntax.Pattern], closing: str, end: int
    ) -> None:
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

    def _tuple(self, node: syntax.TupleNode | syntax.TuplePattern, *, is_part: bool) -> None:
        if is_part:
            self.pen.write("(")
        for at, part in enumerate(node.parts):
            if at:
                self.pen.write(_COLON)
            self._node(part, is_part=True)
        if is_part:
            self.pen.write(")")

    def _enclosed_rule(self, node: syntax.RuleNode) -> None:
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

    def _enclosed_let(self, node: syntax.LetNode) -> None:
        pen = self.pen
        pen.write("(")
        pen.indent()
        self._let(node)
        pen.dedent()
        pen.break_line()
        pen.write(")")

    # --- Lets and rules.

    def _let(self, node: syntax.LetNode) -> None:
        for binding in node.bindings:
            self.pen.begin_line(binding.start)
            self._binding(binding)
        self._items(node.body)

    def _binding(self, binding: syntax.Binding) -> None:
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

    def _clauses(self, rule: syntax.RuleNode) -> None:
        """Write a rule with one clause on each line, from the current position."""
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

    def _clause(self, word: str, items: Sequence[syntax.Expression | syntax.Pattern]) -> None:
        pen = self.pen
        pen.write(word)
        if not items:
            return
        text = ", ".join(map(self._flat, items))
        breaks = any(
            isinstance(one, syntax.RuleNode | syntax.LetNode) and pen.has_break(one.start, one.end) for one in items
        )
        if len(items) == 1:
            pen.write(" ")
            self._node(items[0])
        elif not breaks and not pen.has_comment(items[-1].end) and pen.column + 1 + len(text) <= WIDTH:
            pen.write(f" {text}")
        else:
            pen.indent()
            self._items(items)
            pen.dedent()

    def _condition(self, condition: syntax.Expression) -> None:
        """Write a condition; one that is too long is broken before its `&&` or `||`."""
        pen = self.pen
        text = self.flat.expression(condition, 1)
        if pen.column + 3 + len(text) <= WIDTH or not isinstance(condition, syntax.Binary):
            pen.write(f"if {text}")
            return
        operator = condition.operator if OPERATORS[condition.operator].decided_by is not None else ""
        parts: list[syntax.Expression] = []
        left: syntax.Expression = condition
        while operator and isinstance(left, syntax.Binary) and left.operator == operator:
            parts.append(left.right)
            left = left.left
        least = OPERATORS[operator].power if operator else 1
        pen.write(f"if {self.flat.expression(left, least)}")
        pen.indent()
        for part in reversed(parts):
            pen.begin_line(part.start, may_be_empty=False)
            pen.write(f"{operator} {self.flat.expression(part, least + 1)}")
        pen.dedent()


def _is_pattern(node: syntax.Expression | syntax.Pattern) -> bool:
    return not isinstance(node, _EXPRESSIONS)


_EXPRESSIONS = (
    syntax.Literal,
    syntax.Name,
    syntax.TupleNode,
    syntax.ListNode,
    syntax.SolutionNode,
    syntax.Multiplet,
    syntax.Unary,
    syntax.Binary,
    syntax.Call,
    syntax.RuleNode,
    syntax.LetNode,
)


def _is_plain(node: syntax.Expression | syntax.Pattern) -> bool:
    """Return whether a molecule may share its line: it is no rule and no solution."""
    return not isinstance(node, syntax.RuleNode | syntax.LetNode | syntax.SolutionNode | syntax.SolutionPattern)
