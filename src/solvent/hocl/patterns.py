"""Patterns, and the lexeme stream with its complaints, on which the parser stands.

patterns = pattern { "," pattern }
pattern  = part { ":" part }
part     = name [ "::" kind ] | name "=" name | "?" name | "+" name | atom | "<" patterns ">" | "(" patterns ")"
"""

from __future__ import annotations

from typing import NoReturn

from solvent.chemistry.kinds import KINDS
from solvent.chemistry.molecule import Symbol
from solvent.chemistry.syntax import (
    ListPattern,
    LiteralPattern,
    Pattern,
    RestPattern,
    RulePattern,
    SolutionPattern,
    TuplePattern,
    VariablePattern,
)
from solvent.errors import SyntaxProblem
from solvent.hocl.lexer import Lexeme, integer_value, lexemes, string_value
from solvent.hocl.nearest import nearest
from solvent.source import Source, Span

LEVELS_MAX = 200
"""How deep brackets, rules and signs may nest."""


class LexemeReader:
    """The lexemes of a text, one after the other, and the errors that are about them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lexemes, self.comments = lexemes(source)
        self._at = 0
        self._levels = 0
        self.next = self._lexemes[0]
        self.before = 0

    def take(self) -> Lexeme:
        """Move past the next lexeme and give it."""
        lexeme = self.next
        self.before = lexeme.end
        if lexeme.kind != "end":
            self._at += 1
            self.next = self._lexemes[self._at]
        return lexeme

    def peek(self, ahead: int = 1) -> Lexeme:
        """Give a lexeme further on."""
        return self._lexemes[min(self._at + ahead, len(self._lexemes) - 1)]

    def deeper(self) -> None:
        """Enter a level of nesting."""
        self._levels += 1
        if self._levels > LEVELS_MAX:
            self.fail("H110", f"nested more than {LEVELS_MAX} levels deep", hint="build deep structures by rules")

    def shallower(self) -> None:
        """Leave a level of nesting."""
        self._levels -= 1

    def expect(self, mark: str, where: str) -> None:
        """Take a mark, or fail."""
        if self.next.text != mark or self.next.kind != "mark":
            self.fail_expected(f"`{mark}` {where}")
        self.take()

    def expect_word(self, word: str, where: str) -> None:
        """Take a keyword, or fail."""
        if self.next.text != word or self.next.kind != "keyword":
            self.fail_expected(f"`{word}` {where}")
        self.take()

    def fail_at(self, lexeme: Lexeme, code: str, message: str, *, expected: str = "", hint: str = "") -> NoReturn:
        """Raise an error about a lexeme."""
        span = Span(self.source, lexeme.start, lexeme.end)
        note = f"expected {expected}" if expected else ""
        raise SyntaxProblem(code, message, span=span, note=note, hint=hint)

    def fail(self, code: str, message: str, *, expected: str = "", hint: str = "") -> NoReturn:
        """Raise an error about the next lexeme."""
        self.fail_at(self.next, code, message, expected=expected, hint=hint)

    def fail_expected(self, expected: str, hint: str = "") -> NoReturn:
        """Say what was expected and what stands there."""
        found = "the end of the text" if self.next.kind == "end" else f"`{self.next.text}`"
        self.fail("H120", f"expected {expected}, found {found}", hint=hint or self._hint_for(expected))

    def _hint_for(self, expected: str) -> str:
        if expected == "a molecule" and self.next.text in (",", ">", ")") and self._at:
            return "a comma stands between two molecules, not before the end"
        return ""

    def fail_unclosed(self, opening: Lexeme, closing: str) -> None:
        """Say which bracket is open, or that a comparison closed it too early."""
        line, column = self.source.position(opening.start)
        if self.next.kind == "end":
            message = f"`{opening.text}` is not closed"
            self.fail_at(opening, "H121", message, hint=f"add `{closing}`")
        if self._begins_operand(self.next):
            hint = "a comma is missing before it, or a bracket is not closed"
        elif self.next.text == "<":
            self.fail_comparison()
        elif self.next.text in (")", ">"):
            hint = f"the `{opening.text}` opened at {line}:{column} must be closed first"
        else:
            hint = ""
        self.fail("H120", f"expected `,` or `{closing}`, found `{self.next.text}`", hint=hint)

    def fail_comparison(self) -> NoReturn:
        """Say that `<` and `>` delimit solutions here."""
        message = "a comparison inside a solution needs parentheses, since `<` and `>` delimit solutions"
        self.fail_at(self._comparison(), "H109", message, hint="write `if (x > y)`")

    def _comparison(self) -> Lexeme:
        """Give the `<` or `>` that was most likely meant as a comparison: the last one read, or the next."""
        if self.next.text in ("<", ">"):
            return self.next
        previous = self._lexemes[self._at - 1]
        return previous if previous.text in ("<", ">") else self.next

    def fail_missing_in(self, name: Lexeme) -> None:
        """Say that a let goes nowhere."""
        hint = f"write `let {name.text} = ... in` and then the molecules"
        if self.next.text == "let":
            hint = f"end the rule `{name.text}` with `in` before the next `let`"
        self.fail_expected(f"`in` after the rule `{name.text}`", hint=hint)

    def is_plain_one(self) -> bool:
        """Say whether the next lexeme is the name `one`, not the keyword, which patterns follow."""
        if self.next.text != "one":
            return False
        after = self.peek()
        return after.kind in ("end", "keyword") or (after.kind == "mark" and after.text not in ("<", "(", "?"))

    @staticmethod
    def _begins_operand(lexeme: Lexeme) -> bool:
        return lexeme.kind in ("int", "float", "string", "name", "symbol") or lexeme.text in ("(", "-", "!")


class PatternReader(LexemeReader):
    """Reads the left side of a rule."""

    def patterns(self) -> list[Pattern]:
        """Read one pattern or more."""
        found = [self._pattern()]
        while self.next.text == ",":
            self.take()
            found.append(self._pattern())
        return found

    def _pattern(self) -> Pattern:
        start = self.next.start
        first = self._part()
        if self.next.text != ":" or self.next.kind != "mark":
            return first
        parts = [first]
        while self.next.text == ":" and self.next.kind == "mark":
            self.take()
            parts.append(self._part())
        for part in parts:
            if isinstance(part, RestPattern):
                lexeme = Lexeme("name", part.name, part.start, part.end)
                hint = "put it into a solution, `<?w>`, or a list"
                self.fail_at(lexeme, "H130", "a rest cannot be a part of a tuple", hint=hint)
        return TuplePattern(parts, start=start, end=self.before)

    def _part(self) -> Pattern:
        lexeme = self.next
        kind, text = lexeme.kind, lexeme.text
        if kind == "name" or text == "one":
            return self._named(self.take())
        if kind == "mark":
            if text in ("?", "+"):
                return self._rest(self.take())
            if text == "<":
                return self._solution_pattern()
            if text == "(":
                return self._grouped()
            if text == "-":
                return self._negative(self.take())
        value: object
        if kind == "int":
            value = integer_value(lexeme, self.source)
        elif kind == "float":
            value = float(text)
        elif kind == "string":
            value = string_value(lexeme, self.source)
        elif kind == "symbol":
            value = Symbol(text)
        elif text in ("true", "false") and kind == "keyword":
            value = text == "true"
        else:
            self.fail_expected("a pattern")
        self.take()
        return LiteralPattern(value, start=lexeme.start, end=lexeme.end)

    def _negative(self, sign: Lexeme) -> LiteralPattern:
        number = self.next
        if number.kind not in ("int", "float"):
            self.fail_expected("a number after `-`", hint="patterns do not compute; compare in the condition: `if ...`")
        self.take()
        value = integer_value(number, self.source) if number.kind == "int" else float(number.text)
        return LiteralPattern(-value, start=sign.start, end=number.end)

    def _rest(self, mark: Lexeme) -> RestPattern:
        name = self.next
        if name.kind != "name" and name.text != "one":
            self.fail_expected(f"a name after `{mark.text}`")
        self.take()
        return RestPattern(name.text, mark.text == "+", start=mark.start, end=name.end)

    def _named(self, name: Lexeme) -> Pattern:
        after = self.next
        if after.kind == "mark":
            if after.text == "?":
                self.take()
                return RestPattern(name.text, start=name.start, end=after.end)
            if after.text == "::":
                self.take()
                return VariablePattern(name.text, self._kind(), start=name.start, end=self.before)
            if after.text == "=":
                self.take()
                variable = self.next
                if variable.kind != "name" and variable.text != "one":
                    self.fail_expected(f"a variable for the rule `{name.text}`")
                self.take()
                return RulePattern(name.text, variable.text, start=name.start, end=variable.end)
            if after.text == "(" and name.text == "list":
                return self._one_element_list(name)
        if name.text.startswith("ω"):
            return RestPattern(name.text, at_least_one=True, start=name.start, end=name.end)
        return VariablePattern(name.text, start=name.start, end=name.end)

    def _kind(self) -> str:
        word = self.next
        if word.kind not in ("name", "symbol"):
            self.fail_expected("a kind after `::`", hint="for example `x::int`")
        if word.text not in KINDS:
            hint = nearest(word.text, KINDS) or "known: " + ", ".join(sorted(KINDS))
            self.fail("H131", f"`{word.text}` is no kind of molecule", hint=hint)
        return self.take().text

    def _one_element_list(self, name: Lexeme) -> ListPattern:
        self.deeper()
        opening = self.take()
        items = [] if self.next.text == ")" else self.patterns()
        if self.next.text != ")":
            self.fail_unclosed(opening, ")")
        self.take()
        self.shallower()
        return self._list(items, name)

    def _solution_pattern(self) -> SolutionPattern:
        self.deeper()
        opening = self.take()
        items = [] if self.next.text == ">" else self.patterns()
        if self.next.text != ">":
            self.fail_unclosed(opening, ">")
        self.take()
        self.shallower()
        self.check_rests(items, opening)
        return SolutionPattern(items, start=opening.start, end=self.before)

    def check_rests(self, items: list[Pattern], opening: Lexeme) -> None:
        """Fail where two rests want at least one molecule each."""
        if sum(isinstance(item, RestPattern) and item.at_least_one for item in items) > 1:
            self.fail_at(opening, "H133", "a solution has at most one rest that must not be empty (`+w`)")

    def _grouped(self) -> Pattern:
        self.deeper()
        opening = self.take()
        items = [] if self.next.text == ")" else self.patterns()
        if self.next.text != ")":
            self.fail_unclosed(opening, ")")
        self.take()
        self.shallower()
        if len(items) == 1 and not isinstance(items[0], RestPattern):
            return items[0]
        return self._list(items, opening)

    def _list(self, items: list[Pattern], opening: Lexeme) -> ListPattern:
        if sum(isinstance(item, RestPattern) for item in items) > 1:
            self.fail_at(opening, "H132", "a list pattern has at most one rest")
        return ListPattern(items, start=opening.start, end=self.before)
