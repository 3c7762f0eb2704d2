"""Text to tree, by recursive descent.

    program    = { header } molecules
    molecules  = molecule { "," molecule }
    molecule   = { let } molecules | rule | tuple [ "^" count ]
    let        = "let" [ "rec" ] name "=" rule "in"
    tuple      = sum { ":" sum }                        (a comparison only outside "<" ">" and tuples)
    rule       = ("replace" | "replace-one" | "one") patterns "by" [ molecules ] [ "if" expression ]
               | "inject" molecules [ "with" patterns ] [ "if" expression ]

`<` and `>` delimit solutions, so between them (and outside any parentheses there) they are never comparisons; that
one rule needs no more memory than the flag `_in_solution`. Patterns are read by `patterns.PatternReader`.

By hand rather than by a parser generator: the start-up of a generator's tables alone is longer than all of
`solvent run` may take, and errors here can say what a person would say.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.chemistry.molecule import Symbol
from solvent.chemistry.syntax import (
    Binary,
    Binding,
    Call,
    Expression,
    LetNode,
    ListNode,
    Literal,
    Multiplet,
    Name,
    Pattern,
    ProgramNode,
    RuleNode,
    SolutionNode,
    TupleNode,
    Unary,
)
from solvent.hocl.lexer import integer_value, string_value
from solvent.hocl.patterns import PatternReader

if TYPE_CHECKING:
    from solvent.hocl.lexer import Lexeme
    from solvent.source import Source

_POWER = {
    "||": 1, "&&": 2, "==": 4, "!=": 4, "<": 4, ">": 4, "<=": 4, ">=": 4, "=": 4, "in": 4, "∈": 4, "∉": 4,
    "+": 5, "-": 5, "*": 6, "/": 6, "%": 6,
}  # fmt: skip
_NOT, _COMPARISON, _SUM, _SIGN = 3, 4, 5, 7
_RULE_WORDS = frozenset({"replace", "replace-one", "one", "inject"})
_PRODUCT_ENDS = frozenset({"if", "in", "with", ")", ">", "", ";"})
CHAIN_MAX = 500
"""How many operators may follow each other without parentheses."""


def parse_program(source: Source) -> ProgramNode:
    """Read a whole file."""
    return Parser(source).program()


def parse_molecules(source: Source) -> list[Expression]:
    """Read molecules with commas between them, such as a person types at a prompt."""
    parser = Parser(source)
    found = parser.molecules()
    parser.expect_end()
    return found


class Parser(PatternReader):
    """Reads expressions, rules and programs."""

    _in_solution = False
    _in_let = False
    _in_body = False

    def program(self) -> ProgramNode:
        """Read headers, lets and molecules to the end of the text."""
        header = self._headers()
        first = self.next
        if first.kind == "end":
            self.fail("H106", "there is no program here", hint="a program ends in a solution: `<1, 2>`")
        body = self.molecules()
        self.expect_end()
        return ProgramNode(body, comments=self.comments, header=header, start=first.start, end=self.next.start)

    def _headers(self) -> list[str]:
        found = []
        while self.next.kind == "name" and self.next.text in ("package", "import"):
            start = self.next.start
            while self.next.text != ";":
                if self.next.kind == "end":
                    self.fail("H107", "this header line is not closed", hint="end it with `;`")
                self.take()
            found.append(self.source.text[start : self.take().end])
        return found

    def molecules(self) -> list[Expression]:
        """Read one molecule or more."""
        found = [self._molecule()]
        while self.next.text == "," and self.next.kind == "mark":
            self.take()
            found.append(self._molecule())
        return found

    def _molecule(self) -> Expression:
        lexeme = self.next
        if lexeme.kind == "keyword":
            if lexeme.text == "let":
                return self._let()
            if lexeme.text in _RULE_WORDS and not self.is_plain_one():
                return self._rule()
        found = self._tuple()
        if self.next.text == "^" and self.next.kind == "mark":
            self.take()
            if self.next.text == "inf":
                self.take()
                return Multiplet(found, None, start=lexeme.start, end=self.before)
            count = self._operators(self._operand(), _SUM)
            found = Multiplet(found, count, start=lexeme.start, end=self.before)
        return found

    def _tuple(self) -> Expression:
        start = self.next.start
        left = self._operators(self._operand(), _SUM)
        if self.next.text != ":" or self.next.kind != "mark":
            return left if self._comparison_is_closed() else self._operators(left, 1)
        parts = [left]
        while self.next.text == ":" and self.next.kind == "mark":
            self.take()
            parts.append(self._operators(self._operand(), _SUM))
        if not self._in_solution and _POWER.get(self.next.text, 9) <= _COMPARISON and self.next.text not in ("=", "in"):
            self.fail("H108", "a comparison inside a tuple needs parentheses", hint="write `a : (b > c)`")
        return TupleNode(parts, start=start, end=self.before)

    def _comparison_is_closed(self) -> bool:
        return self._in_solution and self.next.text in ("<", ">")

    def _let(self) -> LetNode:
        start = self.next.start
        bindings = []
        while self.next.text == "let" and self.next.kind == "keyword":
            bindings.append(self._binding())
        before, self._in_body = self._in_body, True
        body = self.molecules()
        self._in_body = before
        return LetNode(bindings, body, start=start, end=self.before)

    def _binding(self) -> Binding:
        start = self.take().start
        recursive = self.next.text == "rec" and self.take() is not None
        name = self.next
        if name.kind != "name" and name.text != "one":
            self.fail("H111", "`let` names a rule here", expected="a name that starts with a lower-case letter")
        self.take()
        self.expect("=", "after the name of a rule")
        before = self._in_let
        self._in_let = True
        rule = self._rule_or_group()
        self._in_let = before
        rule.name = name.text
        if not (self.next.kind == "keyword" and self.next.text == "in"):
            self.fail_missing_in(name)
        self.take()
        return Binding(name.text, rule, recursive, start=start, end=name.end)

    def _rule_or_group(self) -> RuleNode:
        if self.next.kind == "keyword" and self.next.text in _RULE_WORDS:
            return self._rule()
        if self.next.text == "(":
            start = self.next
            found = self._operand()
            if isinstance(found, RuleNode):
                return found
            self.fail_at(start, "H112", "a `let` names a rule", expected="`replace`, `replace-one` or `inject`")
        self.fail("H112", "a `let` names a rule", expected="`replace`, `replace-one` or `inject`")

    def _rule(self) -> RuleNode:
        self.deeper()
        word = self.take()
        if word.text == "inject":
            rule = self._inject(word)
        else:
            patterns = self.patterns()
            self.expect_word("by", "after the patterns of a rule")
            product = [] if self._product_is_over() else self.molecules()
            rule = RuleNode(patterns, product, one_shot=word.text != "replace", start=word.start)
        if self.next.text == "if" and self.next.kind == "keyword":
            self.take()
            rule.condition = self._condition()
        self.check_rests(rule.patterns, word)
        rule.source = self.source
        rule.end = self.before
        self.shallower()
        return rule

    def _inject(self, word: Lexeme) -> RuleNode:
        product = [] if self._product_is_over() else self.molecules()
        patterns: list[Pattern] = []
        if self.next.text == "with" and self.next.kind == "keyword":
            self.take()
            patterns = self.patterns()
        return RuleNode(patterns, product, one_shot=True, is_inject=True, start=word.start)

    def _product_is_over(self) -> bool:
        return self.next.kind in ("keyword", "mark", "end") and self.next.text in _PRODUCT_ENDS

    def _condition(self) -> Expression:
        found = self._operators(self._operand(), 1)
        if self._in_solution and self.next.text in ("<", ">") and self._begins_operand(self.peek()):
            self.fail_comparison()
        return found

    # --- Expressions, by operator precedence.

    def _operators(self, left: Expression, least: int) -> Expression:
        chain = 0
        while True:
            lexeme = self.next
            word = lexeme.text
            if word == "not" and self.peek().text == "in" and least <= _COMPARISON and not self._in_let:
                self.take()
                word = "∉"
            power = _POWER.get(word, 0) if lexeme.kind in ("mark", "keyword") else 0
            if power < least or (word == "in" and self._in_let) or (self._in_solution and word in ("<", ">")):
                return left
            if word in ("<", ">", "in") and not self._can_compare(left, word):
                return left
            if word == "in" and self._in_body:
                self.fail("H115", "`in` without a `let`", hint="membership beside a `let` is written `(x in l)`")
            chain += 1
            if chain > CHAIN_MAX:
                self.fail("H110", f"more than {CHAIN_MAX} operators in a row", hint="use parentheses or a list")
            self.take()
            right = self._operators(self._operand(), power + 1)
            left = self._binary(word, left, right)

    def _can_compare(self, left: Expression, word: str) -> bool:
        """Say whether `<`, `>` or `in` stands between two operands; else it is a bracket or a let's `in`."""
        if isinstance(left, SolutionNode) and word != "in":
            return False
        after = self.peek()
        return self._begins_operand(after) or after.text in ("<", "true", "false", "not")

    def _binary(self, operator: str, left: Expression, right: Expression) -> Expression:
        if operator == "∉":
            inside = Binary("in", left, right, start=left.start, end=right.end)
            return Unary("!", inside, start=left.start, end=right.end)
        operator = {"=": "==", "∈": "in"}.get(operator, operator)
        return Binary(operator, left, right, start=left.start, end=right.end)

    def _operand(self) -> Expression:
        lexeme = self.next
        kind = lexeme.kind
        found: Expression
        if kind == "int":
            self.take()
            found = Literal(integer_value(lexeme, self.source), start=lexeme.start, end=lexeme.end)
        elif kind == "mark":
            found = self._marked(lexeme)
        elif kind == "name":
            found = self._name(self.take())
        elif kind == "keyword":
            found = self._keyword(lexeme)
        elif kind == "end":
            self.fail_expected("a molecule")
        else:
            self.take()
            value = {"float": float, "symbol": Symbol}.get(kind, str)
            text = string_value(lexeme, self.source) if kind == "string" else value(lexeme.text)
            found = Literal(text, start=lexeme.start, end=lexeme.end)
        while self.next.text == "." and self.next.kind == "mark":
            found = self._method(found)
        return found

    def _keyword(self, lexeme: Lexeme) -> Expression:
        if lexeme.text in ("true", "false"):
            self.take()
            return Literal(lexeme.text == "true", start=lexeme.start, end=lexeme.end)
        if lexeme.text == "one":
            return self._name(self.take())
        self.fail_expected("a molecule")

    def _marked(self, lexeme: Lexeme) -> Expression:
        mark = lexeme.text
        if mark == "<":
            return self._solution()
        if mark == "(":
            return self._parentheses()
        if mark in ("-", "!", "not"):
            return self._signed(mark, lexeme)
        if mark == "?":
            self.fail("H113", "`?` belongs to a pattern", hint="in a product the rest is written without it: `w`")
        self.fail_expected("a molecule")

    def _signed(self, mark: str, lexeme: Lexeme) -> Expression:
        # `!x == y` is `(!x) == y` as in the 2009 compiler; `not x == y` is `not (x == y)` as in Python.
        self.deeper()
        self.take()
        operand = self._operators(self._operand(), _NOT + 1 if mark == "not" else _SIGN)
        self.shallower()
        if mark == "-" and isinstance(operand, Literal) and type(operand.value) in (int, float):
            return Literal(-operand.value, start=lexeme.start, end=operand.end)
        return Unary("-" if mark == "-" else "!", operand, start=lexeme.start, end=operand.end)

    def _solution(self) -> SolutionNode:
        self.deeper()
        opening = self.take()
        before, self._in_solution = self._in_solution, True
        let_before, self._in_let = self._in_let, False
        body_before, self._in_body = self._in_body, False
        items = [] if self.next.text == ">" else self.molecules()
        if self.next.text != ">":
            self.fail_unclosed(opening, ">")
        self._in_solution, self._in_let, self._in_body = before, let_before, body_before
        closing = self.take()
        if self._in_solution is False and self._looks_compared(items):
            self.fail_comparison()
        self.shallower()
        return SolutionNode(items, start=opening.start, end=closing.end)

    def _looks_compared(self, items: list[Expression]) -> bool:
        """Say whether a solution was closed by what was meant as a comparison: `<... if x > y, 1>`."""
        last = items[-1] if items else None
        return isinstance(last, RuleNode) and last.condition is not None and self._begins_operand(self.next)

    def _parentheses(self) -> Expression:
        self.deeper()
        opening = self.take()
        flags = self._in_solution, self._in_let, self._in_body
        self._in_solution = self._in_let = self._in_body = False
        name = self.next
        if name.kind == "name" and self.peek().text == "=" and self.peek(2).text in _RULE_WORDS:
            self.take()
            self.take()
            rule = self._rule()
            rule.name = name.text
            items: list[Expression] = [rule]
        else:
            items = [] if self.next.text == ")" else self.molecules()
        if self.next.text != ")":
            self.fail_unclosed(opening, ")")
        closing = self.take()
        self._in_solution, self._in_let, self._in_body = flags
        self.shallower()
        if len(items) == 1:
            return items[0]
        return ListNode(items, start=opening.start, end=closing.end)

    def _name(self, lexeme: Lexeme) -> Expression:
        if self.next.text == "(" and self.next.kind == "mark":
            arguments = self._arguments()
            return Call(lexeme.text, arguments, start=lexeme.start, end=self.before)
        return Name(lexeme.text, start=lexeme.start, end=lexeme.end)

    def _method(self, receiver: Expression) -> Call:
        self.take()
        name = self.next
        if name.kind != "name":
            self.fail("H114", "a method's name is missing after `.`", expected="a name, as in `s.length()`")
        self.take()
        if self.next.text != "(":
            self.fail("H114", f"`.{name.text}` is not called", hint=f"write `.{name.text}()`")
        arguments = self._arguments()
        return Call(name.text, [receiver, *arguments], method=True, start=receiver.start, end=self.before)

    def _arguments(self) -> list[Expression]:
        self.deeper()
        opening = self.take()
        flags = self._in_solution, self._in_let, self._in_body
        self._in_solution = self._in_let = self._in_body = False
        found = [] if self.next.text == ")" else self.molecules()
        if self.next.text != ")":
            self.fail_unclosed(opening, ")")
        self.take()
        self._in_solution, self._in_let, self._in_body = flags
        self.shallower()
        return found

    def expect_end(self) -> None:
        """Fail unless the whole text has been read."""
        if self.next.kind == "keyword" and self.next.text == "in":
            self.fail("H115", "`in` without a `let`", hint="membership inside a `let` is written `(x in l)`")
        if self.next.kind != "end":
            self.fail_expected("the end of the program", hint=self._hint_at_end())

    def _hint_at_end(self) -> str:
        comparison = "a comparison inside a solution needs parentheses: `(x > y)`"
        if self.next.text == ">":
            return f"there are more `>` than `<`; {comparison}"
        if self._begins_operand(self.next) or self.next.text == "<":
            return f"molecules are separated by commas; {comparison}"
        return ""
