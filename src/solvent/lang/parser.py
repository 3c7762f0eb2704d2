"""Text to tree, by recursive descent.

    program    = { header } molecules
    molecules  = molecule { "," molecule }
    molecule   = { let } molecules | [ name "=" ] rule | tuple [ "^" count ]
    let        = "let" [ "rec" ] name "=" rule "in"
    tuple      = sum { ":" sum }                        (a comparison only outside "<" ">" and tuples)
    rule       = ("replace" | "replace-one" | "one") patterns "by" [ molecules ] [ "if" expression ]
               | "inject" molecules [ "with" patterns ] [ "if" expression ]
    patterns   = pattern { "," pattern }
    pattern    = part { ":" part }
    part       = name [ "::" kind ] | Symbol "::" kind | name "=" name | "?" name | "+" name | atom
               | "<" patterns ">" | "(" patterns ")"

`<` and `>` delimit solutions, so between them (and outside any parentheses there) they are never comparisons; the flag
`_in_solution` is all that this rule needs.

The parser is written by hand: loading the tables of a parser generator takes longer than all of `solvent run` may take,
and errors here can be specific. Three classes build on each other: `LexemeReader` is the stream of lexemes and its
errors, `PatternReader` reads patterns, `Parser` everything else.
"""

from __future__ import annotations

from typing import NoReturn

from solvent.errors import SyntaxProblem, nearest
from solvent.lang import syntax
from solvent.lang.builtin import BUILTIN, JAVA_CONSTANTS
from solvent.lang.lexer import RULE_WORDS, Lexeme, float_value, integer_value, lexemes, string_value
from solvent.lang.molecule import Symbol
from solvent.lang.operators import BETWEEN, COMPARISON, NOT_IN, OPERATORS, PREFIXES, SUM
from solvent.lang.rule import KINDS
from solvent.source import Source, Span

_POWER = {**{text: one.power for text, one in BETWEEN.items()}, NOT_IN: OPERATORS["in"].power}
_PRODUCT_ENDS = frozenset({"if", "in", "with", ")", ">", "", ";"})
MAX_CHAIN = 500
"""The most operators in a row without parentheses."""
MAX_LEVELS = 200
"""The deepest nesting of brackets, rules and signs."""


def parse_program(source: Source) -> syntax.ProgramNode:
    """Parse a whole program."""
    return Parser(source).program()


def parse_molecules(source: Source) -> list[syntax.Expression]:
    """Parse molecules with commas between them, as typed at a prompt."""
    parser = Parser(source)
    found = parser.molecules()
    parser.expect_end()
    return found


class LexemeReader:
    """The lexemes of a text in order, and the errors about them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._lexemes, self.comments = lexemes(source)
        self._at = 0
        self._levels = 0
        self.next = self._lexemes[0]
        self.before = 0

    def take(self) -> Lexeme:
        """Move past the next lexeme and return it."""
        lexeme = self.next
        self.before = lexeme.end
        if lexeme.kind != "end":
            self._at += 1
            self.next = self._lexemes[self._at]
        return lexeme

    def peek(self, ahead: int = 1) -> Lexeme:
        """Return a later lexeme without moving."""
        return self._lexemes[min(self._at + ahead, len(self._lexemes) - 1)]

    def deeper(self) -> None:
        """Enter a level of nesting."""
        self._levels += 1
        if self._levels > MAX_LEVELS:
            self.fail("H110", f"nested more than {MAX_LEVELS} levels deep", hint="build deep structures by rules")

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
        """Raise an error with what was expected and what was found."""
        found = "the end of the text" if self.next.kind == "end" else f"`{self.next.text}`"
        self.fail("H120", f"expected {expected}, found {found}", hint=hint or self._hint_for(expected))

    def _hint_for(self, expected: str) -> str:
        if expected == "a molecule" and self.next.text in (",", ">", ")") and self._at:
            return "a comma stands between two molecules, not before the end"
        return ""

    def fail_unclosed(self, opening: Lexeme, closing: str) -> None:
        """Raise an error about an open bracket, or about a comparison that closed it too early."""
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
        """Raise an error: `<` and `>` delimit solutions here."""
        message = "a comparison inside a solution needs parentheses, since `<` and `>` delimit solutions"
        self.fail_at(self._comparison(), "H109", message, hint="write `if (x > y)`")

    def _comparison(self) -> Lexeme:
        """Return the `<` or `>` that was most likely meant as a comparison: the last one read, or the next."""
        if self.next.text in ("<", ">"):
            return self.next
        previous = self._lexemes[self._at - 1]
        return previous if previous.text in ("<", ">") else self.next

    def fail_missing_in(self, name: Lexeme) -> None:
        """Raise an error about a `let` without `in`."""
        hint = f"write `let {name.text} = ... in` and then the molecules"
        if self.next.text == "let":
            hint = f"end the rule `{name.text}` with `in` before the next `let`"
        self.fail_expected(f"`in` after the rule `{name.text}`", hint=hint)

    def dotted(self) -> str:
        """Return the dotted name, such as `Math.abs`, if one comes next."""
        word = self.peek(2)
        is_dotted = self.next.kind == "symbol" and self.peek().text == "." and word.kind in ("name", "symbol")
        return f"{self.next.text}.{word.text}" if is_dotted else ""

    def is_plain_one(self, ahead: int = 0) -> bool:
        """Return whether a lexeme is the name `one`, not the keyword, which patterns follow."""
        if self.peek(ahead).text != "one":
            return False
        after = self.peek(ahead + 1)
        return after.kind in ("end", "keyword") or (after.kind == "mark" and after.text not in ("<", "(", "?"))

    def names_rule(self) -> bool:
        """Return whether a rule is named in place: `greater = replace ...`."""
        word = self.peek(2)
        return word.kind == "keyword" and word.text in RULE_WORDS and not self.is_plain_one(2)

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

    @staticmethod
    def _begins_operand(lexeme: Lexeme) -> bool:
        return lexeme.kind in ("int", "float", "string", "name", "symbol") or lexeme.text in ("(", "-", "!")


class PatternReader(LexemeReader):
    """Reads the patterns of a rule."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        #: The names with a capital that the patterns of the current rule give a type.
        self._typed: set[str] = set()

    def patterns(self) -> list[syntax.Pattern]:
        """Read one pattern or more."""
        found = [self._pattern()]
        while self.next.text == ",":
            self.take()
            found.append(self._pattern())
        return found

    def _pattern(self) -> syntax.Pattern:
        start = self.next.start
        first = self._part()
        if self.next.text != ":" or self.next.kind != "mark":
            return first
        parts = [first]
        while self.next.text == ":" and self.next.kind == "mark":
            self.take()
            parts.append(self._part())
        for part in parts:
            if isinstance(part, syntax.RestPattern):
                lexeme = Lexeme("name", part.name, part.start, part.end)
                hint = "put it into a solution, `<?w>`, or a list"
                self.fail_at(lexeme, "H130", "a rest cannot be a part of a tuple", hint=hint)
        return syntax.TuplePattern(parts, start=start, end=self.before)

    def _part(self) -> syntax.Pattern:
        lexeme = self.next
        kind, text = lexeme.kind, lexeme.text
        if kind == "name" or text == "one":
            return self._named(self.take())
        if kind == "symbol" and self.peek().text == "::":
            self._typed.add(text)
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
            value = float_value(text)
        elif kind == "string":
            value = string_value(lexeme, self.source)
        elif (spelling := self.dotted()) in JAVA_CONSTANTS:
            self.take()
            self.take()
            return syntax.LiteralPattern(
                JAVA_CONSTANTS[spelling], spelling=spelling, start=lexeme.start, end=self.take().end
            )
        elif kind == "symbol":
            value = Symbol(text)
        elif text in ("true", "false") and kind == "keyword":
            value = text == "true"
        else:
            self.fail_expected("a pattern")
        self.take()
        return syntax.LiteralPattern(value, start=lexeme.start, end=lexeme.end)

    def _negative(self, sign: Lexeme) -> syntax.LiteralPattern:
        number = self.next
        if number.kind not in ("int", "float"):
            self.fail_expected("a number after `-`", hint="patterns do not compute; compare in the condition: `if ...`")
        self.take()
        value = integer_value(number, self.source) if number.kind == "int" else float_value(number.text)
        return syntax.LiteralPattern(-value, start=sign.start, end=number.end)

    def _rest(self, mark: Lexeme) -> syntax.RestPattern:
        name = self.next
        if name.kind != "name" and name.text != "one":
            self.fail_expected(f"a name after `{mark.text}`")
        self.take()
        return syntax.RestPattern(name.text, mark.text == "+", start=mark.start, end=name.end)

    def _named(self, name: Lexeme) -> syntax.Pattern:
        after = self.next
        if after.kind == "mark":
            if after.text == "?":
                self.take()
                return syntax.RestPattern(name.text, start=name.start, end=after.end)
            if after.text == "::":
                self.take()
                return syntax.VariablePattern(name.text, self._kind(), start=name.start, end=self.before)
            if after.text == "=":
                self.take()
                variable = self.next
                if variable.kind != "name" and variable.text != "one":
                    self.fail_expected(f"a variable for the rule `{name.text}`")
                self.take()
                return syntax.RulePattern(name.text, variable.text, start=name.start, end=variable.end)
            if after.text == "(" and name.text == "list":
                return self._one_element_list(name)
        if name.text.startswith("ω"):
            return syntax.RestPattern(name.text, at_least_one=True, start=name.start, end=name.end)
        return syntax.VariablePattern(name.text, start=name.start, end=name.end)

    def _kind(self) -> str:
        word = self.next
        if word.kind not in ("name", "symbol"):
            self.fail_expected("a kind after `::`", hint="for example `x::int`")
        if word.text not in KINDS:
            hint = nearest(word.text, KINDS) or "known: " + ", ".join(sorted(KINDS))
            self.fail("H131", f"`{word.text}` is no kind of molecule", hint=hint)
        return self.take().text

    def _one_element_list(self, name: Lexeme) -> syntax.ListPattern:
        self.deeper()
        opening = self.take()
        items = [] if self.next.text == ")" else self.patterns()
        if self.next.text != ")":
            self.fail_unclosed(opening, ")")
        self.take()
        self.shallower()
        return self._list(items, name)

    def _solution_pattern(self) -> syntax.SolutionPattern:
        self.deeper()
        opening = self.take()
        items = [] if self.next.text == ">" else self.patterns()
        if self.next.text != ">":
            self.fail_unclosed(opening, ">")
        self.take()
        self.shallower()
        self.check_rests(items, opening)
        return syntax.SolutionPattern(items, start=opening.start, end=self.before)

    def check_rests(self, items: list[syntax.Pattern], opening: Lexeme) -> None:
        """Fail if two rests need at least one molecule each."""
        if sum(isinstance(item, syntax.RestPattern) and item.at_least_one for item in items) > 1:
            self.fail_at(opening, "H133", "a solution has at most one rest that must not be empty (`+w`)")

    def _grouped(self) -> syntax.Pattern:
        self.deeper()
        opening = self.take()
        items = [] if self.next.text == ")" else self.patterns()
        if self.next.text != ")":
            self.fail_unclosed(opening, ")")
        self.take()
        self.shallower()
        if len(items) == 1 and not isinstance(items[0], syntax.RestPattern):
            return items[0]
        return self._list(items, opening)

    def _list(self, items: list[syntax.Pattern], opening: Lexeme) -> syntax.ListPattern:
        if sum(isinstance(item, syntax.RestPattern) for item in items) > 1:
            self.fail_at(opening, "H132", "a list pattern has at most one rest")
        return syntax.ListPattern(items, start=opening.start, end=self.before)


class Parser(PatternReader):
    """Reads expressions, rules and programs."""

    _in_solution = False
    _in_let = False
    _in_body = False

    def program(self) -> syntax.ProgramNode:
        """Read headers, lets and molecules to the end of the text."""
        header = self._headers()
        first = self.next
        if first.kind == "end":
            self.fail("H106", "there is no program here", hint="a program ends in a solution: `<1, 2>`")
        body = self.molecules()
        self.expect_end()
        return syntax.ProgramNode(body, comments=self.comments, header=header, start=first.start, end=self.next.start)

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

    def molecules(self) -> list[syntax.Expression]:
        """Read one molecule or more."""
        found = [self._molecule()]
        while self.next.text == "," and self.next.kind == "mark":
            self.take()
            found.append(self._molecule())
        return found

    def _molecule(self) -> syntax.Expression:
        lexeme = self.next
        if lexeme.kind == "keyword":
            if lexeme.text == "let":
                return self._let()
            if lexeme.text in RULE_WORDS and not self.is_plain_one():
                return self._rule()
        if self.peek().text == "=" and lexeme.kind == "name" and self.names_rule():
            self.take()
            self.take()
            rule = self._rule()
            rule.name = lexeme.text
            return rule
        found = self._tuple()
        if self.next.text == "^" and self.next.kind == "mark":
            self.take()
            if self.next.text == "inf":
                self.take()
                return syntax.Multiplet(found, None, start=lexeme.start, end=self.before)
            count = self._operators(self._operand(), SUM)
            found = syntax.Multiplet(found, count, start=lexeme.start, end=self.before)
        return found

    def _tuple(self) -> syntax.Expression:
        start = self.next.start
        left = self._operators(self._operand(), SUM)
        if self.next.text != ":" or self.next.kind != "mark":
            return left if self._comparison_is_closed() else self._operators(left, 1)
        parts = [left]
        while self.next.text == ":" and self.next.kind == "mark":
            self.take()
            parts.append(self._operators(self._operand(), SUM))
        if not self._in_solution and _POWER.get(self.next.text, SUM) < SUM and self.next.text not in ("=", "in"):
            self.fail("H108", "a comparison inside a tuple needs parentheses", hint="write `a : (b > c)`")
        return syntax.TupleNode(parts, start=start, end=self.before)

    def _comparison_is_closed(self) -> bool:
        return self._in_solution and self.next.text in ("<", ">")

    def _let(self) -> syntax.LetNode:
        start = self.next.start
        bindings = []
        while self.next.text == "let" and self.next.kind == "keyword":
            bindings.append(self._binding())
        before, self._in_body = self._in_body, True
        body = self.molecules()
        self._in_body = before
        return syntax.LetNode(bindings, body, start=start, end=self.before)

    def _binding(self) -> syntax.Binding:
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
        return syntax.Binding(name.text, rule, recursive, start=start, end=name.end)

    def _rule_or_group(self) -> syntax.RuleNode:
        if self.next.kind == "keyword" and self.next.text in RULE_WORDS:
            return self._rule()
        if self.next.text == "(":
            start = self.next
            found = self._operand()
            if isinstance(found, syntax.RuleNode):
                return found
            self.fail_at(start, "H112", "a `let` names a rule", expected="`replace`, `replace-one` or `inject`")
        self.fail("H112", "a `let` names a rule", expected="`replace`, `replace-one` or `inject`")

    def _rule(self) -> syntax.RuleNode:
        self.deeper()
        outer, self._typed = self._typed, set()
        word = self.take()
        if word.text == "inject":
            rule = self._inject(word)
        else:
            patterns = self.patterns()
            self.expect_word("by", "after the patterns of a rule")
            product = [] if self._product_is_over() else self.molecules()
            rule = syntax.RuleNode(patterns, product, one_shot=word.text != "replace", start=word.start)
        if self.next.text == "if" and self.next.kind == "keyword":
            self.take()
            rule.condition = self._condition()
        self.check_rests(rule.patterns, word)
        if self._typed:
            _bind_capitals(rule, self._typed)
        self._typed = outer
        rule.source = self.source
        rule.end = self.before
        self.shallower()
        return rule

    def _inject(self, word: Lexeme) -> syntax.RuleNode:
        product = [] if self._product_is_over() else self.molecules()
        patterns: list[syntax.Pattern] = []
        if self.next.text == "with" and self.next.kind == "keyword":
            self.take()
            patterns = self.patterns()
        return syntax.RuleNode(patterns, product, one_shot=True, is_inject=True, start=word.start)

    def _product_is_over(self) -> bool:
        return self.next.kind in ("keyword", "mark", "end") and self.next.text in _PRODUCT_ENDS

    def _condition(self) -> syntax.Expression:
        found = self._operators(self._operand(), 1)
        if self._in_solution and self.next.text in ("<", ">") and self._begins_operand(self.peek()):
            self.fail_comparison()
        return found

    # --- Expressions, by operator precedence.

    def _operators(self, left: syntax.Expression, least: int) -> syntax.Expression:
        chain = 0
        while True:
            lexeme = self.next
            word = lexeme.text
            if word == "not" and self.peek().text == "in" and least <= COMPARISON and not self._in_let:
                self.take()
                word = NOT_IN
            power = _POWER.get(word, 0) if lexeme.kind in ("mark", "keyword") else 0
            if power < least or (word == "in" and self._in_let) or (self._in_solution and word in ("<", ">")):
                return left
            if word in ("<", ">", "in") and not self._can_compare(left, word):
                return left
            if word == "in" and self._in_body:
                self.fail("H115", "`in` without a `let`", hint="membership beside a `let` is written `(x in l)`")
            chain += 1
            if chain > MAX_CHAIN:
                self.fail("H110", f"more than {MAX_CHAIN} operators in a row", hint="use parentheses or a list")
            self.take()
            right = self._operators(self._operand(), power + 1)
            left = self._binary(word, left, right)

    def _can_compare(self, left: syntax.Expression, word: str) -> bool:
        """Return whether `<`, `>` or `in` stands between two operands; else it is a bracket or a let's `in`."""
        if isinstance(left, syntax.SolutionNode) and word != "in":
            return False
        after = self.peek()
        return self._begins_operand(after) or after.text in ("<", "true", "false", "not")

    def _binary(self, operator: str, left: syntax.Expression, right: syntax.Expression) -> syntax.Expression:
        if operator == NOT_IN:
            inside = syntax.Binary("in", left, right, start=left.start, end=right.end)
            return syntax.Unary("!", inside, start=left.start, end=right.end)
        return syntax.Binary(BETWEEN[operator].symbol, left, right, start=left.start, end=right.end)

    def _operand(self) -> syntax.Expression:
        lexeme = self.next
        kind = lexeme.kind
        found: syntax.Expression
        if kind == "int":
            self.take()
            found = syntax.Literal(integer_value(lexeme, self.source), start=lexeme.start, end=lexeme.end)
        elif kind == "mark":
            found = self._marked(lexeme)
        elif kind == "name":
            found = self._name(self.take())
        elif kind == "keyword":
            found = self._keyword(lexeme)
        elif kind == "end":
            self.fail_expected("a molecule")
        elif kind == "symbol":
            found = self._symbol(self.dotted())
        else:
            self.take()
            value = string_value(lexeme, self.source) if kind == "string" else float_value(lexeme.text)
            found = syntax.Literal(value, start=lexeme.start, end=lexeme.end)
        while self.next.text == "." and self.next.kind == "mark":
            found = self._method(found)
        return found

    def _symbol(self, java: str) -> syntax.Expression:
        first = self.take()
        if java not in JAVA_CONSTANTS and java not in BUILTIN and (first.text != "Math" or not java):
            return syntax.Literal(Symbol(first.text), start=first.start, end=first.end)
        self.take()
        last = self.take()
        if java in JAVA_CONSTANTS:
            return syntax.Literal(JAVA_CONSTANTS[java], spelling=java, start=first.start, end=last.end)
        if self.next.text != "(":
            self.fail_at(last, "H114", f"`{java}` is not called", hint=f"write `{java}(...)`")
        return syntax.Call(java, self._arguments(), start=first.start, end=self.before)

    def _keyword(self, lexeme: Lexeme) -> syntax.Expression:
        if lexeme.text in ("true", "false"):
            self.take()
            return syntax.Literal(lexeme.text == "true", start=lexeme.start, end=lexeme.end)
        if lexeme.text == "one":
            return self._name(self.take())
        self.fail_expected("a molecule")

    def _marked(self, lexeme: Lexeme) -> syntax.Expression:
        mark = lexeme.text
        if mark == "<":
            return self._solution()
        if mark == "(":
            return self._parentheses()
        if mark in PREFIXES:
            return self._signed(mark, lexeme)
        if mark == "?":
            self.fail("H113", "`?` belongs to a pattern", hint="in a product the rest is written without it: `w`")
        self.fail_expected("a molecule")

    def _signed(self, mark: str, lexeme: Lexeme) -> syntax.Expression:
        self.deeper()
        self.take()
        operand = self._operators(self._operand(), PREFIXES[mark].power + 1)
        self.shallower()
        if mark == "-" and isinstance(operand, syntax.Literal) and type(operand.value) in (int, float):
            spelling = operand.spelling and f"-{operand.spelling}"
            return syntax.Literal(-operand.value, spelling=spelling, start=lexeme.start, end=operand.end)
        return syntax.Unary(PREFIXES[mark].same_as or mark, operand, start=lexeme.start, end=operand.end)

    def _solution(self) -> syntax.SolutionNode:
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
        return syntax.SolutionNode(items, start=opening.start, end=closing.end)

    def _looks_compared(self, items: list[syntax.Expression]) -> bool:
        """Return whether a solution was closed by what was meant as a comparison: `<... if x > y, 1>`."""
        last = items[-1] if items else None
        return isinstance(last, syntax.RuleNode) and last.condition is not None and self._begins_operand(self.next)

    def _parentheses(self) -> syntax.Expression:
        self.deeper()
        opening = self.take()
        flags = self._in_solution, self._in_let, self._in_body
        self._in_solution = self._in_let = self._in_body = False
        items = [] if self.next.text == ")" else self.molecules()
        if self.next.text != ")":
            self.fail_unclosed(opening, ")")
        closing = self.take()
        self._in_solution, self._in_let, self._in_body = flags
        self.shallower()
        if len(items) == 1:
            return items[0]
        return syntax.ListNode(items, start=opening.start, end=closing.end)

    def _name(self, lexeme: Lexeme) -> syntax.Expression:
        if lexeme.text == "new" and self.next.kind == "symbol" and self.peek().text == "(":
            name = f"new {self.take().text}"
            return syntax.Call(name, self._arguments(), start=lexeme.start, end=self.before)
        if self.next.text == "(" and self.next.kind == "mark":
            arguments = self._arguments()
            return syntax.Call(lexeme.text, arguments, start=lexeme.start, end=self.before)
        return syntax.Name(lexeme.text, start=lexeme.start, end=lexeme.end)

    def _method(self, receiver: syntax.Expression) -> syntax.Call:
        self.take()
        name = self.next
        if name.kind != "name":
            self.fail("H114", "a method's name is missing after `.`", expected="a name, as in `s.length()`")
        self.take()
        if self.next.text != "(":
            self.fail("H114", f"`.{name.text}` is not called", hint=f"write `.{name.text}()`")
        arguments = self._arguments()
        return syntax.Call(name.text, [receiver, *arguments], method=True, start=receiver.start, end=self.before)

    def _arguments(self) -> list[syntax.Expression]:
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


def _bind_capitals(rule: syntax.RuleNode, typed: set[str]) -> None:
    """Turn the constants of a rule to which its patterns give a type into variables, as programs of 2009 have them.

    A name with a capital is a constant unless a pattern gives it a type: after `replace X::int`, `X` is a variable in
    the rule's patterns, product and condition, and in the products and conditions of rules inside it. The parser may
    read the type after the uses (`inject X with X::int`), so it goes through a finished rule once more.
    """
    work: list[syntax.Node] = [rule]
    while work:
        node = work.pop()
        for field in node.fields:
            if field == "patterns" and node is not rule:
                # A rule inside binds its own variables.
                continue
            value = getattr(node, field)
            if isinstance(value, list):
                value[:] = [_variable(one, typed) for one in value]
                work += value
            elif isinstance(value, syntax.Node):
                value = _variable(value, typed)
                setattr(node, field, value)
                work.append(value)


def _variable(node: syntax.Node, typed: set[str]) -> syntax.Node:
    if (
        isinstance(node, syntax.Literal | syntax.LiteralPattern)
        and type(node.value) is Symbol
        and node.value.name in typed
    ):
        kind = syntax.Name if isinstance(node, syntax.Literal) else syntax.VariablePattern
        return kind(node.value.name, start=node.start, end=node.end)
    return node
