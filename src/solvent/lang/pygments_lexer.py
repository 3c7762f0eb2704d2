"""A Pygments lexer for HOCL: `hocl` wherever Pygments colours code, from Sphinx to a terminal.

It splits a text by the expression of the real lexer, `LEXEME`, and takes words from the tables of the language, so
that it cannot drift from them. A name is classified by its neighbours alone: programs are coloured while they are
being typed, when they have no tree yet.

Pygments finds the class by the entry point `pygments.lexers`; no other module imports this one at start-up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from pygments import token
from pygments.lexer import Lexer

from solvent.lang.builtin import BUILTIN
from solvent.lang.lexer import KEYWORDS, LEXEME, OPERATOR_WORDS, RULE_WORDS
from solvent.lang.rule import KINDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypeAlias

    from pygments.token import _TokenType

    Classified: TypeAlias = tuple[int, _TokenType, str]

CONSTANTS = frozenset({"true", "false"})
HEADER_WORDS = frozenset({"package", "import"})
PUNCTUATION = frozenset("<>⟨⟩(),:;.")
ESCAPE = r"\\(?:u[0-9a-fA-F]{4}|.)"
_SIMPLE = {"space": token.Whitespace, "float": token.Number.Float, "int": token.Number.Integer}
_PART_OF_STRING = re.compile(rf"(?P<escape>{ESCAPE})|[^\\]+")
_CALLED = re.compile(r"\s*\(")
_TYPED = re.compile(r"\s*::")
_RULE = "|".join(sorted(RULE_WORDS))
_NAMES_A_RULE = re.compile(rf"\s*=\s*(?:{_RULE})(?![\w-])")


class HoclLexer(Lexer):
    """Splits a HOCL program into Pygments tokens; a character that begins no lexeme is an `Error`."""

    name = "HOCL"
    aliases: ClassVar[list[str]] = ["hocl"]
    filenames: ClassVar[list[str]] = ["*.hocl"]
    mimetypes: ClassVar[list[str]] = ["text/x-hocl"]

    def get_tokens_unprocessed(self, text: str) -> Iterator[Classified]:
        """Split a text into tokens, which together are the whole text."""
        before, at, in_header = "", 0, True
        while at < len(text):
            match = LEXEME.match(text, at)
            if match is None:
                yield at, token.Error, text[at]
                at += 1
                continue
            kind, piece = match.lastgroup or "", match.group()
            if kind == "string":
                yield from _parts_of_string(at, piece)
            elif in_header and kind in ("word", "mark") and (before or piece in HEADER_WORDS):
                yield at, _in_header(piece), piece
            else:
                yield at, _class(kind, piece, text, match.end(), before), piece
            at = match.end()
            if kind not in ("space", "comment"):
                # A header is open from its word to its `;`; the first lexeme of anything else ends them all.
                in_header = in_header and (bool(before) or piece in HEADER_WORDS)
                before = "" if in_header and piece == ";" else piece

    @staticmethod
    def analyse_text(text: str) -> float:
        """Return how likely a text is HOCL, from 0 to 1."""
        return 0.5 if re.search(r"\breplace(?:-one)?\b[^;]*\bby\b", text) else 0.0


def _in_header(piece: str) -> _TokenType:
    if piece == ";":
        return token.Punctuation
    return token.Keyword.Namespace if piece in HEADER_WORDS else token.Name.Namespace


def _class(kind: str, piece: str, text: str, end: int, before: str) -> _TokenType:
    if kind == "word":
        return _class_of_word(piece, text, end, before)
    if kind == "comment":
        return token.Comment.Multiline if piece.startswith("/*") else token.Comment.Single
    if kind == "mark":
        return token.Punctuation if piece in PUNCTUATION else token.Operator
    return _SIMPLE[kind]


def _class_of_word(word: str, text: str, end: int, before: str) -> _TokenType:
    """Return the class of a word, from the text before and after it."""
    if word in KEYWORDS:
        if word in OPERATOR_WORDS:
            return token.Operator.Word
        return token.Keyword.Constant if word in CONSTANTS else token.Keyword
    if before == "let" and word == "rec":
        return token.Keyword
    if before == "::" and word in KINDS:
        return token.Keyword.Type
    if before == "^" and word == "inf":
        return token.Keyword.Constant
    if word[0].isupper():
        return token.Name if _TYPED.match(text, end) else token.Name.Constant
    if before in ("let", "rec") or _NAMES_A_RULE.match(text, end):
        return token.Name.Function
    if _CALLED.match(text, end):
        return token.Name.Builtin if word in BUILTIN else token.Name.Function
    return token.Name


def _parts_of_string(at: int, piece: str) -> Iterator[Classified]:
    for match in _PART_OF_STRING.finditer(piece):
        kind = token.String.Escape if match["escape"] else token.String.Double
        yield at + match.start(), kind, match.group()
