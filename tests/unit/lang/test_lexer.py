"""Lexemes, strings, integers, and what is said about characters that begin none."""

from __future__ import annotations

import pytest

import solvent
from solvent.errors import SyntaxProblem
from solvent.lang.lexer import MAX_INTEGER_DIGITS, integer_value, lexemes, string_value
from solvent.source import Source
from tests.unit.lang.complaint import complaint, error_of


def split(text: str) -> list[tuple[str, str]]:
    """Give kinds and texts of the lexemes, without the last."""
    found, _ = lexemes(Source(text))
    return [(one.kind, one.text) for one in found[:-1]]


def test_suffixes_of_java_belong_to_their_numbers() -> None:
    """A number takes the suffix of Java with it; letters that go on are a name of their own, as ever."""
    assert split("3L 2l 0d 2.5f 3Lx") == [
        ("int", "3L"),
        ("int", "2l"),
        ("float", "0d"),
        ("float", "2.5f"),
        ("int", "3"),
        ("symbol", "Lx"),
    ]


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


def test_replace_one_is_one_word() -> None:
    """`replace-one` is a keyword, `replace -one` three lexemes."""
    assert split("replace-one") == [("keyword", "replace-one")]
    assert [text for _, text in split("replace -one")] == ["replace", "-", "one"]


def test_names_may_end_in_primes() -> None:
    """A name may end in primes, as in the papers."""
    assert split("x''") == [("name", "x''")]


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


def test_too_long_integer() -> None:
    """An integer beyond the limit of digits is refused where it stands."""
    text = "<" + "9" * (MAX_INTEGER_DIGITS + 1) + ">"
    assert complaint(text) == ("H105", "1:2", "at most 100000 digits")


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


@pytest.mark.parametrize("text", ['<1, "abc', '<1, "abc\n", 2>', '<1, "abc\\'])
def test_unclosed_string(text: str) -> None:
    """A string that its line does not close is pointed at from its quote on."""
    assert complaint(text) == ("H102", "1:5", 'close it with `"`')


@pytest.mark.parametrize("text, place", [("/* abc", "1:1"), ("<1> /* a * /", "1:5")])
def test_unclosed_comment(text: str, place: str) -> None:
    """A comment that is never closed is pointed at where it begins."""
    assert complaint(text) == ("H103", place, "close it with `*/`")


@pytest.mark.parametrize("text, place", [(r'<"a\qb">', "1:4"), (r'<"\u12">', "1:3"), (r'<"\xff">', "1:3")])
def test_unknown_escape(text: str, place: str) -> None:
    """An escape that means nothing is pointed at inside its string."""
    assert complaint(text) == ("H104", place, r"known: \n \t \r \b \f \0 \" \\ \/ \uXXXX")


def test_unknown_escape_in_a_pattern() -> None:
    """Patterns read strings by the same rules."""
    with pytest.raises(SyntaxProblem) as caught:
        solvent.hocl.parse(r'<replace "\q" by 1>')
    assert caught.value.code == "H104"
