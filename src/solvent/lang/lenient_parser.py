"""A parser with error recovery: it finds all problems of a text, and returns the tree of the rest.

For editors, where a text is wrong most of the time, and for `solvent check`. The parser continues behind a mistake: a
molecule that cannot be parsed becomes an empty list, a rule an empty rule, and the text up to the next comma, bracket,
`let` or `in` is skipped. A missing bracket or `in` is inserted. A character that begins no lexeme is read as a space.

The first problem is the one that the plain parser stops at. A problem right where the parser resumed is not reported,
since it is most likely a consequence of the one before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeVar

from solvent.errors import SyntaxProblem
from solvent.lang.lexer import Lexeme
from solvent.lang.parser import Parser
from solvent.lang.syntax import Expression, ListNode, ProgramNode, RuleNode
from solvent.source import Source, Span

if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PROBLEMS = 100
Read = TypeVar("Read")
_CLOSING = {"<": ">", "(": ")"}


class Reading(NamedTuple):
    """The tree of a text, its problems and its lexemes."""

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
            text = _without(text, problem) if len(problems) <= MAX_PROBLEMS else ""
    tree = parser.read()
    problems += parser.problems
    for one in problems:
        if one.span is not None:
            one.span = Span(source, one.span.start, one.span.end)
    problems.sort(key=lambda one: one.span.start if one.span is not None else 0)
    return Reading(tree, problems, parser.lexemes)


def _without(text: str, problem: SyntaxProblem) -> str:
    """Return a text of the same length without what begins no lexeme; an unclosed string becomes an empty one."""
    span, code = problem.span, problem.code
    assert span is not None
    end = len(text) if code == "H103" else span.end
    size = end - span.start
    instead = '""'.ljust(size) if code == "H102" and size > 1 else " " * size
    return text[: span.start] + instead + text[end:]


class _RecoveringParser(Parser):
    """A parser that records a problem and continues behind it."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.problems: list[SyntaxProblem] = []
        #: Where it resumed: the problem there has been reported.
        self._anew_at = -1
        #: The outermost molecules, in case more text follows them.
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
            # Text after the end of a program that has problems is no further problem.
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
        before = self._in_solution, self._in_let, self._in_body, self._levels, self._typed
        try:
            return read()
        except SyntaxProblem as problem:
            self._note(problem)
            self._in_solution, self._in_let, self._in_body, self._levels, self._typed = before
            self._skip((",", ">", ")"))
            return instead()

    def fail_unclosed(self, opening: Lexeme, closing: str) -> None:
        """Record which bracket is open, and continue as if it were closed."""
        try:
            super().fail_unclosed(opening, closing)
        except SyntaxProblem as problem:
            self._note(problem)
        self._skip((closing,))
        if self.next.text != closing:
            self._pretend(Lexeme("mark", closing, self.next.start, self.next.start))

    def fail_missing_in(self, name: Lexeme) -> None:
        """Record that a `let` has no `in`, and continue as if it had."""
        try:
            super().fail_missing_in(name)
        except SyntaxProblem as problem:
            self._note(problem)
        self._anew_at = self.next.start
        self._pretend(Lexeme("keyword", "in", self.next.start, self.next.start))

    def _note(self, problem: SyntaxProblem) -> None:
        assert problem.span is not None
        if problem.span.start > self._anew_at and len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def _skip(self, until: tuple[str, ...]) -> None:
        """Skip lexemes up to one of these, outside of any bracket, or to a `let` or an `in`."""
        while self.next.kind != "end":
            kind, text = self.next.kind, self.next.text
            if (kind == "mark" and text in until) or (kind == "keyword" and text in ("let", "in")):
                break
            self.take()
            if kind == "mark" and text in _CLOSING:
                self._skip_bracket(text)
        self._anew_at = self.next.start

    def _skip_bracket(self, opening: str) -> None:
        """Skip the contents of a bracket; between parentheses `<` and `>` are comparisons."""
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
