"""Lexemes, strings, integers, and what is said about characters that begin none."""

from __future__ import annotations

import pytest

from solvent.lang.lexer import MAX_INTEGER_DIGITS, integer_value, lexemes, string_value
from solvent.source import Source
from tests.unit.lang.complaint import complaint, error_of


def split(text: str) -> list[tuple[str, str]]:
    """Give kinds and texts of the lexemes, without the last."""
    found, _ = lexemes(Source(text))
    return [(one.kind, one.text) for one in found[:-1]]


@pytest.mark.parametrize(
    "text, kinds",
    [
        # A number takes the suffix of Java with it; letters that go on are a name of their own, as ever.
        ("3L 2l 0d 2.5f", "int int float float"),
        ("3Lx", "int symbol"),
        ("replace-one", "keyword"),
        ("replace -one", "keyword mark keyword"),
        ("x''", "name"),
    ],
)
def test_kinds_of_lexemes(text: str, kinds: str) -> None:
    """A text is split where its words and numbers end."""
    assert [kind for kind, _ in split(text)] == kinds.split()


@pytest.mark.parametrize(
    "papers, marks",
    [("⟨ ⟩", "< >"), ("≥ ≤ ≠", ">= <= !="), ("∧ ∨ ¬", "&& || !"), ("and or", "&& ||"), ("∞", "inf")],
)
def test_unicode_of_the_papers_is_ascii(papers: str, marks: str) -> None:
    """The signs of the papers and the words of Python become the marks of the 2009 compiler."""
    assert [text for _, text in split(papers)] == marks.split()


@pytest.mark.parametrize("text", ["1 // no\n2", "1 # no\n2", "1 /* no\n * */ 2", "1 /**/ 2", "1 /** **/ 2"])
def test_comments_are_kept_aside(text: str) -> None:
    """All three forms of comments are no lexemes and are kept with their offset."""
    found, comments = lexemes(Source(text))
    assert [one.text for one in found[:-1]] == ["1", "2"]
    assert [at for at, _ in comments] == [2]


@pytest.mark.parametrize(
    "text, value",
    [
        (r'"a\n\t\r\"\\\/"', 'a\n\t\r"\\/'),
        (r'"\b\f\0"', "\b\f\0"),
        (r'"\u00e9\ud83d"', "é\ud83d"),
        ('"ω"', "ω"),
        ('""', ""),
        ('"// no comment"', "// no comment"),
    ],
)
def test_escapes_in_strings(text: str, value: str) -> None:
    """Each escape stands for its character."""
    source = Source(text)
    assert string_value(lexemes(source)[0][0], source) == value


def test_long_integers_are_read_whole() -> None:
    """An integer longer than Python converts at once keeps every digit."""
    source = Source("1" + "0" * 9_999 + "7")
    assert integer_value(lexemes(source)[0][0], source) == 10**10_000 + 7


@pytest.mark.parametrize(
    "text, place, hint",
    [
        ("<1, @>", "1:5", ""),
        ("<1,\n 2,\n @3>", "3:2", ""),
        ("<1 & 2>", "1:4", "the boolean `and` is written `&&`"),
        ("<1 | 2>", "1:4", "the boolean `or` is written `||`"),
        ("<'a'>", "1:2", 'strings stand in double quotes: "..."'),
        ("{1}", "1:1", "a solution is written `< ... >`"),
        ("[1]", "1:1", "a list is written `(a, b)`; one element: `list(a)`"),
    ],
)
def test_stray_characters(text: str, place: str, hint: str) -> None:
    """A character that begins no lexeme is named, with what was probably meant."""
    assert complaint(text) == ("H101", place, hint)


def test_unprintable_character_is_shown_by_number() -> None:
    """A character that cannot be seen is named by its code point."""
    assert error_of("<\x00>").message == "`U+0000` means nothing here"


ESCAPES = r"known: \n \t \r \b \f \0 \" \\ \/ \uXXXX"


@pytest.mark.parametrize(
    "text, code, place, hint",
    [
        # A string that its line does not close is pointed at from its quote on.
        ('<1, "abc', "H102", "1:5", 'close it with `"`'),
        ('<1, "abc\n", 2>', "H102", "1:5", 'close it with `"`'),
        ('<1, "abc\\', "H102", "1:5", 'close it with `"`'),
        # A comment that is never closed, where it begins.
        ("/* abc", "H103", "1:1", "close it with `*/`"),
        ("<1> /* a * /", "H103", "1:5", "close it with `*/`"),
        # An escape that means nothing, inside its string, also in a pattern.
        (r'<"a\qb">', "H104", "1:4", ESCAPES),
        (r'<"\u12">', "H104", "1:3", ESCAPES),
        (r'<"\xff">', "H104", "1:3", ESCAPES),
        (r'<replace "\q" by 1>', "H104", "1:11", ESCAPES),
        (f"<{'9' * (MAX_INTEGER_DIGITS + 1)}>", "H105", "1:2", "at most 100000 digits"),
    ],
    ids=map(str, range(10)),
)
def test_broken_lexemes(text: str, code: str, place: str, hint: str) -> None:
    """What is not closed, not known or too long is refused where it stands."""
    assert complaint(text) == (code, place, hint)
