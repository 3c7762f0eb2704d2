"""Text to lexemes.

One regular expression splits the text; the Unicode of the papers becomes the ASCII of the 2009 compiler here,
so that nothing after this file knows there are two spellings. Comments are kept aside for the formatter.
"""

from __future__ import annotations

import re

from solvent.errors import SyntaxProblem
from solvent.lang.operators import BETWEEN, NOT_IN, SPELLINGS, WORDS
from solvent.source import Source, Span

FLOAT = r"(?:\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+)(?:[dDfF]\b)?|\d+[dDfF]\b"
INTEGER = r"\d+(?:[lL]\b)?"
NAME = r"[^\W\d]\w*'*"
_SIGNS = {"::", *"<>(),:=?.;^⟨⟩∞", NOT_IN, *SPELLINGS, *BETWEEN} - WORDS.keys() - {"/"}
_IN_ORDER = sorted(_SIGNS, key=lambda sign: (-len(sign), sign))
_LONG = "|".join(re.sub(r"[|*+?.^$]", r"\\\g<0>", sign) for sign in _IN_ORDER if len(sign) > 1)
_SHORT = "".join(rf"\{sign}" if sign in "-^" else sign for sign in _IN_ORDER if len(sign) == 1)
MARK = rf"{_LONG}|[{_SHORT}]|/(?!\*)"
"""Highlighters share these expressions, so that they cannot drift from the lexer."""
LEXEME = re.compile(
    rf"""
    (?P<space>[ \t\r\n\f\u00a0\ufeff]+)
  | (?P<comment>//[^\n]*|\#[^\n]*|/\*[\s\S]*?\*/)
  | (?P<float>{FLOAT})
  | (?P<int>{INTEGER})
  | (?P<string>"(?:[^"\\\n]|\\[^\n])*")
  | (?P<word>(?:replace-one\b)|{NAME})
  | (?P<mark>{MARK})
    """,
    re.VERBOSE,
)

RULE_WORDS = frozenset({"replace", "replace-one", "one", "inject"})
"""The keywords that begin a rule."""
KEYWORDS = RULE_WORDS | {"let", "in", "by", "if", "with", "true", "false"} | WORDS.keys()
OPERATOR_WORDS = frozenset({word for word, one in WORDS.items() if not one.is_enclosed})
"""The keywords that are always operators; the `in` of a `let` is none."""
_ASCII = {"⟨": "<", "⟩": ">", "∞": "inf", **{text: one.symbol for text, one in SPELLINGS.items()}}
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "0": "\0"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
MAX_INTEGER_DIGITS = 100_000
_DIGITS_AT_ONCE = 4000
"""Python refuses to convert longer integers at once, so they are read in pieces."""


class Lexeme:
    """One lexeme: its kind (`int float string name symbol keyword mark end`), its ASCII text, its place."""

    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end


def lexemes(source: Source) -> tuple[list[Lexeme], list[tuple[int, str]]]:
    """Split a text into lexemes, with an `end` lexeme last, and its comments with their offsets."""
    text = source.text
    found: list[Lexeme] = []
    comments: list[tuple[int, str]] = []
    add = found.append
    at = 0
    for match in LEXEME.finditer(text):
        start, end = match.span()
        if start != at:
            break
        at = end
        kind = match.lastgroup
        if kind == "space":
            continue
        word = match.group()
        if kind == "mark":
            add(Lexeme("mark", _ASCII.get(word, word), start, end))
        elif kind == "word":
            add(_word(word, start, end))
        elif kind == "comment":
            comments.append((start, word))
        else:
            add(Lexeme(kind or "", word, start, end))
    if at != len(text):
        raise _stray(source, at)
    add(Lexeme("end", "", len(text), len(text)))
    return found, comments


def _word(word: str, start: int, end: int) -> Lexeme:
    if word in KEYWORDS:
        is_operator = word in OPERATOR_WORDS
        return Lexeme("mark", _ASCII[word], start, end) if is_operator else Lexeme("keyword", word, start, end)
    return Lexeme("symbol" if word[0].isupper() else "name", word, start, end)


def _stray(source: Source, at: int) -> SyntaxProblem:
    """Return the error about the first character that begins no lexeme."""
    char = source.text[at]
    if char == '"':
        end = source.text.find("\n", at)
        span = Span(source, at, len(source.text) if end < 0 else end)
        return SyntaxProblem("H102", "a string is not closed on its line", span=span, hint='close it with `"`')
    span = Span(source, at, at + 1)
    if source.text.startswith("/*", at):
        return SyntaxProblem("H103", "a comment is not closed", span=span, hint="close it with `*/`")
    hint = {
        "&": "the boolean `and` is written `&&`",
        "|": "the boolean `or` is written `||`",
        "'": 'strings stand in double quotes: "..."',
        "{": "a solution is written `< ... >`",
        "[": "a list is written `(a, b)`; one element: `list(a)`",
    }.get(char, "")
    shown = char if char.isprintable() else f"U+{ord(char):04X}"
    return SyntaxProblem("H101", f"`{shown}` means nothing here", span=span, hint=hint)


def string_value(lexeme: Lexeme, source: Source) -> str:
    """Return the characters a string lexeme stands for."""
    inside = lexeme.text[1:-1]
    if "\\" not in inside:
        return inside

    def replaced(match: re.Match[str]) -> str:
        code, char = match.groups()
        if code is not None:
            return chr(int(code, 16))
        if char in _ESCAPES:
            return _ESCAPES[char]
        at = lexeme.start + 1 + match.start()
        span = Span(source, at, at + 2)
        raise SyntaxProblem(
            "H104", f"`\\{char}` is no escape", span=span, hint=r"known: \n \t \r \b \f \0 \" \\ \/ \uXXXX"
        )

    return _ESCAPE.sub(replaced, inside)


def integer_value(lexeme: Lexeme, source: Source) -> int:
    """Return the integer that an `int` lexeme stands for; the `L` of Java's long integers changes nothing."""
    digits = lexeme.text.rstrip("lL")
    if len(digits) > MAX_INTEGER_DIGITS:
        span = Span(source, lexeme.start, lexeme.end)
        message = f"an integer of {len(digits)} digits is too long to read"
        raise SyntaxProblem("H105", message, span=span, hint=f"at most {MAX_INTEGER_DIGITS} digits")
    value = 0
    for at in range(0, len(digits), _DIGITS_AT_ONCE):
        piece = digits[at : at + _DIGITS_AT_ONCE]
        value = value * 10 ** len(piece) + int(piece)
    return value


def float_value(text: str) -> float:
    """Return the number that the text of a `float` lexeme stands for."""
    return float(text.rstrip("dDfF"))
