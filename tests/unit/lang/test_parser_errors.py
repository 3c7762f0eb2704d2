"""What a text that does not read as HOCL is told: code, place, hint."""

from __future__ import annotations

import pytest

import solvent
from solvent.hocl.program import MAX_CHARACTERS
from tests.unit.lang.complaint import complaint, error_of

COMMA = "a comma stands between two molecules, not before the end"
COMPARE = "write `if (x > y)`"
REST = "in a product the rest is written without it: `w`"
LET = "end the rule `r` with `in` before the next `let`"


@pytest.mark.parametrize(
    "text, code, place, hint",
    [
        ("<1, 2", "H121", "1:1", "add `>`"),
        ("(1, 2", "H121", "1:1", "add `)`"),
        ("<1, <2, 3>", "H121", "1:1", "add `>`"),
        ("<1, first((1, 2)", "H121", "1:10", "add `)`"),
        ("<replace <x, y", "H121", "1:10", "add `>`"),
        ("<replace (x, y", "H121", "1:10", "add `)`"),
        ("<replace list(x", "H121", "1:14", "add `)`"),
        ("⟨1, 2", "H121", "1:1", "add `>`"),
        ("<1 2>", "H120", "1:4", "a comma is missing before it, or a bracket is not closed"),
        ("<1, , 2>", "H120", "1:5", COMMA),
        ("<1, 2,>", "H120", "1:7", COMMA),
        ("(1, )", "H120", "1:5", COMMA),
        ("(1 : 2 > 3)", "H108", "1:8", "write `a : (b > c)`"),
        ("1 : 2 == 3", "H108", "1:7", "write `a : (b > c)`"),
        ("<replace x, y by x if x > y, 1>", "H109", "1:25", COMPARE),
        ("<1, replace x, y by x if x < y>", "H109", "1:28", COMPARE),
        ("<1, replace x by x if x > 2>", "H109", "1:25", COMPARE),
        ("let X = replace x by in <1>", "H111", "1:5", ""),
        ("let = replace x by in <1>", "H111", "1:5", ""),
        ("let r = 3 in <r>", "H112", "1:9", ""),
        ("let r = (1, 2) in <r>", "H112", "1:9", ""),
        ("<replace ?w by ?w>", "H113", "1:16", REST),
        ("<?w>", "H113", "1:2", REST),
        ('<"a".length>', "H114", "1:12", "write `.length()`"),
        ("let r = replace x by x let s = replace y by y in <r>", "H120", "1:24", LET),
    ],
)
def test_mistakes_have_a_code_a_place_and_a_hint(text: str, code: str, place: str, hint: str) -> None:
    """Brackets, commas, comparisons, lets, rests and methods that are wrong are told where they are, with advice."""
    assert complaint(text) == (code, place, hint)


@pytest.mark.parametrize(
    "text, words",
    [
        ("<(1, 2>", "`(`"),
        ("<1, (2>)", "`(`"),
        ("<1, list(2>", "`(`"),
        ("<1, 2>>", "more `>` than `<`"),
        ("<1, 2 > 3>", "parentheses"),
        ("<1 : 2 > 3>", "parentheses"),
        ("let r = 3 in <r>", "expected `replace`, `replace-one` or `inject`"),
        ("let r = replace x by x <r>", "`in`"),
        ("let r = replace x by <r>", "`in`"),
        ("let r = replace x by x if x <r>", "`in`"),
        ("<replace x by x> in", "error[H115]"),
        ("<replace x, y x>", "<text>:1:15"),
        ("replace x", "expected `by` after the patterns of a rule, found "),
        ("<replace x>", "expected `by` after the patterns of a rule, found "),
        ("<(replace x by x if)>", "<text>:1:20"),
        ("let r replace x by x in <r>", "expected `=` after the name of a rule, found `replace`"),
        ('<"a".>', "<text>:1:6"),
        ("<1, 2> <3>", "comma"),
    ],
)
def test_what_was_meant_is_named(text: str, words: str) -> None:
    """Where a mistake could be several things, the words that help are in what is shown."""
    assert words in error_of(text).show()


@pytest.mark.parametrize("text", ["", "  \n", "// only\n", "/* only */", "package a;"])
def test_empty_file(text: str) -> None:
    """A text without molecules is no program."""
    code, _, hint = complaint(text)
    assert (code, hint) == ("H106", "a program ends in a solution: `<1, 2>`")


@pytest.mark.parametrize("text", ["package a.b", "import a.b <1>"])
def test_header_without_its_end(text: str) -> None:
    """A header line ends in a semicolon."""
    code, _, hint = complaint(text)
    assert (code, hint) == ("H107", "end it with `;`")


@pytest.mark.parametrize(
    "piece, column",
    [
        ("<", 201),
        ("(", 201),
        ("-", 201),
        ("!", 201),
        ("not ", 801),
        ("replace x by ", 2601),
        ("inject ", 1401),
        ("let r = replace x by ", 4209),
        ("list(", 1005),
        ("1:(", 603),
        ("replace x by let r = one y by ", 3001),
    ],
)
def test_thousands_of_levels(piece: str, column: int) -> None:
    """Nesting beyond 200 levels is refused where it passes them."""
    assert complaint(piece * 2_000) == ("H110", f"1:{column}", "build deep structures by rules")


@pytest.mark.parametrize("opening", ["<", "("])
def test_thousands_of_levels_of_patterns(opening: str) -> None:
    """Patterns nest as deep as molecules, and no deeper."""
    assert complaint(f"replace {opening * 2_000}") == ("H110", "1:208", "build deep structures by rules")


@pytest.mark.parametrize("piece", ["let r = ", "1:", "1, ", "let r = replace x by x in ", "x.f().", "1^", "f(", "<>"])
def test_thousands_of_anything(piece: str) -> None:
    """Whatever is repeated thousands of times, the answer is a clear error."""
    assert error_of(piece * 2_000).code.startswith("H")


def test_long_chains_of_operators() -> None:
    """Five hundred operators may follow each other, not more."""
    assert solvent.hocl.molecules("1" + "+1" * 500) == [501]
    assert complaint("1" + "+1" * 501)[::2] == ("H110", "use parentheses or a list")


def test_two_hundred_levels_are_allowed() -> None:
    """Nesting of 200 levels reads and prints."""
    text = "<" * 200 + ">" * 200
    assert solvent.hocl.show(solvent.hocl.parse(text).solution()) == text


def test_text_over_the_limit() -> None:
    """A text of 40 MB is refused before it is read."""
    code, place, hint = complaint("<1>" + " " * 40_000_000)
    assert (code, place) == ("H100", "")
    assert hint == "put large data in from Python: solution.extend(values)"
    assert MAX_CHARACTERS < 40_000_000
