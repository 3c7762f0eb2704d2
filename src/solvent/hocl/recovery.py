"""Reads a text that is wrong, as far as it can be read: all problems, and the tree of the rest.

For editors, where a text is wrong most of the time, and for `solvent check`. The parser goes on behind a mistake: a
molecule that does not read becomes an empty list, a rule that does not read an empty rule, and what follows up to the
next comma, bracket, `let` or `in` is passed over. A bracket or an `in` that is missing is taken as if it were there.
A character that begins nothing is read as a space.

The first problem is the one that the plain parser stops at. What is found where the parser has just begun anew is not
told, since it is most likely a consequence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from solvent.chemistry.syntax import Expression, ListNode, ProgramNode, RuleNode
from solvent.errors import SyntaxProblem
from solvent.hocl.lexer import Lexeme
from solvent.hocl.parser import Parser
from solvent.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable

PROBLEMS_MAX = 100
Read = TypeVar("Read")
_CLOSING = {"<": ">", "(": ")"}


class Reading(NamedTuple):
    """What could be read of a text."""

    tree: ProgramNode
    problems: list[SyntaxProblem]
    lexemes: list[Lexeme]


def read_leniently(source: Source) -> Reading:
    """Read a text as far as possible; problems are in the order of the text."""
    text = source.text
    problems: list[SyntaxProblem] = []
    while True:
        try:
            parser = _RecoveringParser(Source(text, source.name))
            break
        except SyntaxProblem as problem:
            problems.append(problem)
            text = _without(text, problem) if len(problems) <= PROBLEMS_MAX else ""
    tree = parser.read()
    problems += parser.problems
    for one in problems:
        if one.span is not None:
            one.span = Span(source, one.span.start, one.span.end)
    problems.sort(key=lambda one: one.span.start if one.span is not None else 0)
    return Reading(tree, problems, parser.lexemes)


def _without(text: str, problem: SyntaxProblem) -> str:
    """Give a text of the same length without what begins no lexeme: a string that is not closed is an empty one."""
    span, code = problem.span, problem.code
    assert span is not None
    end = len(text) if code == "H103" else span.end
    size = end - span.start
    instead = '""'.ljust(size) if code == "H102" and size > 1 else " " * size
    return text[: span.start] + instead + text[end:]


class _RecoveringParser(Parser):
    """A parser that notes a problem and goes on behind it."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.problems: list[SyntaxProblem] = []
        #: Where it has begun anew: what is wrong there has been told.
        self._anew_at = -1
        #: What the outermost molecules were, should the text go on after them.
        self._read: list[Expression] = []

    @property
    def lexemes(self) -> list[Lexeme]:
        """All lexemes of the text."""
        return self._lexemes

    def read(self) -> ProgramNode:
        """Read to the end of the text."""
        end = self._lexemes[-1].end
        try:
            return self.program()
        except SyntaxProblem as problem:
            # That more follows after the end of a program that was read with mistakes says nothing.
            if not self.problems:
                self.problems.append(problem)
            return ProgramNode(self._read, comments=self.comments, start=0, end=end)

    def molecules(self) -> list[Expression]:
        """Read one molecule or more."""
        self._read = super().molecules()
        return self._read

    def _molecule(self) -> Expression:
        start = self.next.start
        return self._tried(super()._molecule, lambda: ListNode([], start=start, end=self.before))

    def _rule_or_group(self) -> RuleNode:
        start = self.next.start
        return self._tried(super()._rule_or_group, lambda: self._no_rule(start))

    def _no_rule(self, start: int) -> RuleNode:
        rule = RuleNode([], [], start=start, end=self.before)
        rule.source = self.source
        return rule

    def _tried(self, read: Callable[[], Read], instead: Callable[[], Read]) -> Read:
        before = self._in_solution, self._in_let, self._in_body, self._levels
        try:
            return read()
        except SyntaxProblem as problem:
            self._note(problem)
            self._in_solution, self._in_let, self._in_body, self._levels = before
            self._skip((",", ">", ")"))
            return instead()

    def fail_unclosed(self, opening: Lexeme, closing: str) -> None:
        """Note which bracket is open, and go on as if it were closed."""
        try:
            super().fail_unclosed(opening, closing)
        except SyntaxProblem as problem:
            self._note(problem)
        self._skip((closing,))
        if self.next.text != closing:
            self._pretend(Lexeme("mark", closing, self.next.start, self.next.start))

    def fail_missing_in(self, name: Lexeme) -> None:
        """Note that a let goes nowhere, and go on as if it did."""
        try:
            super().fail_missing_in(name)
        except SyntaxProblem as problem:
            self._note(problem)
        self._anew_at = self.next.start
        self._pretend(Lexeme("keyword", "in", self.next.start, self.next.start))

    def _note(self, problem: SyntaxProblem) -> None:
        assert problem.span is not None
        if problem.span.start > self._anew_at and len(self.problems) < PROBLEMS_MAX:
            self.problems.append(problem)

    def _skip(self, until: tuple[str, ...]) -> None:
        """Pass over lexemes up to one of these, outside of any bracket, or to a `let` or an `in`."""
        while self.next.kind != "end":
            kind, text = self.next.kind, self.next.text
            if (kind == "mark" and text in until) or (kind == "keyword" and text in ("let", "in")):
                break
            self.take()
            if kind == "mark" and text in _CLOSING:
                self._skip_bracket(text)
        self._anew_at = self.next.start

    def _skip_bracket(self, opening: str) -> None:
        """Pass over what is in a bracket; between parentheses `<` and `>` compare."""
        open_now = [_CLOSING[opening]]
        while open_now and self.next.kind != "end":
            if self.next.kind == "keyword" and self.next.text == "let":
                return
            text = self.take().text
            if text == open_now[-1]:
                open_now.pop()
            elif text == "(" or (text == "<" and open_now[-1] == ">"):
                open_now.append(_CLOSING[text])

    def _pretend(self, lexeme: Lexeme) -> None:
        self._lexemes.insert(self._at, lexeme)
        self.next = lexeme


__all__ = ["Reading", "read_leniently"]
