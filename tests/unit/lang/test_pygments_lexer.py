"""What the Pygments lexer makes of programs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments import token
from pygments.lexers import get_lexer_by_name, guess_lexer_for_filename

from solvent.lang.lexer import lexemes
from solvent.lang.pygments_lexer import HoclLexer
from solvent.source import Source

if TYPE_CHECKING:
    from pygments.token import _TokenType

ROOT = Path(__file__).resolve().parents[3]
PROGRAMS = sorted(file for folder in ("examples", "src") for file in (ROOT / folder).rglob("*.hocl"))
_CLASSES = {
    "int": {token.Number.Integer},
    "float": {token.Number.Float},
    "string": {token.String.Double},
    "symbol": {token.Name.Constant, token.Name.Namespace, token.Keyword.Type},
    "name": {token.Name},
    "keyword": {token.Keyword},
    "mark": {token.Operator, token.Punctuation, token.Name.Namespace},
}


def _classified(text: str) -> list[tuple[_TokenType, str]]:
    return [*HoclLexer(stripnl=False, ensurenl=False).get_tokens(text)]


def _words(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, piece) for kind, piece in _classified(text) if kind not in token.Whitespace]


@pytest.mark.parametrize("file", [pytest.param(file, id=file.stem) for file in PROGRAMS])
def test_programs_are_classified_as_the_lexer_reads_them(file: Path) -> None:
    """Every lexeme of our programs has a class that fits its kind, none is an error, and nothing is lost."""
    text = file.read_text(encoding="utf-8")
    found = _classified(text)
    assert "".join(piece for _, piece in found) == text
    assert [piece for kind, piece in found if kind in token.Error] == []
    starts, at = {}, 0
    for kind, piece in found:
        starts[at] = kind
        at += len(piece)
    read, comments = lexemes(Source(text, file.name))
    wrong = [
        (one.text, starts.get(one.start))
        for one in read[:-1]
        if not any(starts[one.start] in kind for kind in _CLASSES[one.kind])
        and not (one.kind == "name" and starts[one.start] in token.Keyword)
    ]
    assert wrong == []
    assert [comment for start, comment in comments if starts[start] not in token.Comment] == []


@given(st.lists(st.sampled_from([*'<>"\\/*#:=abZ1.;\n ∧é{', "let ", "import ", "replace-one"])))
def test_nothing_is_lost_of_any_text(pieces: list[str]) -> None:
    """Whatever a text is, what comes out of the lexer, joined, is the text."""
    text = "".join(pieces)
    assert "".join(piece for _, _, piece in HoclLexer().get_tokens_unprocessed(text)) == text


def test_words_are_told_apart_by_their_neighbours() -> None:
    """Names of rules, calls, built-in functions, kinds and constants have classes of their own."""
    text = "let rec up = replace x::int by f(len(x)), A^inf, (m = one y by) if x and true in <up>"
    names = {piece: kind for kind, piece in _words(text)}
    words = ("rec", "up", "int", "f", "len", "A", "inf", "m", "one", "and", "true")
    assert {word: str(names[word]).removeprefix("Token.") for word in words} == {
        "rec": "Keyword",
        "up": "Name",
        "int": "Keyword.Type",
        "f": "Name.Function",
        "len": "Name.Builtin",
        "A": "Name.Constant",
        "inf": "Keyword.Constant",
        "m": "Name.Function",
        "one": "Keyword",
        "and": "Operator.Word",
        "true": "Keyword.Constant",
    }
    assert (token.Name.Function, "up") in _words(text)


def test_escapes_in_strings_are_seen() -> None:
    """An escape stands out from the string around it."""
    assert _words(r'"a\n\u0041"') == [
        (token.String.Double, '"a'),
        (token.String.Escape, r"\n"),
        (token.String.Escape, r"\u0041"),
        (token.String.Double, '"'),
    ]


def test_what_begins_nothing_is_an_error() -> None:
    """A character that begins no lexeme is an error, and what follows it is classified again."""
    assert _words('{ 1 "open') == [
        (token.Error, "{"),
        (token.Number.Integer, "1"),
        (token.Error, '"'),
        (token.Name, "open"),
    ]


def test_headers_of_old_programs_are_namespaces() -> None:
    """The lines `package` and `import` at the top are no names of the program."""
    kinds = {kind for kind, piece in _words("package a.b;\nimport c;\n<import>") if piece in ("a", "b", "c")}
    assert kinds == {token.Name.Namespace}
    assert _words("import c;\n<import>")[-2] == (token.Name, "import")


def test_pygments_finds_the_lexer() -> None:
    """Pygments knows the lexer by its name and by the ending of a file, as installed."""
    assert type(get_lexer_by_name("hocl")).__name__ == "HoclLexer"
    assert type(guess_lexer_for_filename("max.hocl", "<1>")).__name__ == "HoclLexer"


def test_a_capital_with_a_type_is_coloured_as_a_variable() -> None:
    """Where a pattern gives a name with a capital a type it is a variable; the suffix of a number belongs to it."""
    found = dict(reversed([(piece, kind) for kind, piece in _words("replace X::int by SRC, 3L")]))
    assert [found[word] for word in ("X", "SRC", "3L")] == [token.Name, token.Name.Constant, token.Number.Integer]
