"""What a text that does not read as HOCL is told: code, place, hint."""

from __future__ import annotations

import pytest

import solvent
from solvent.hocl.program import MAX_CHARACTERS
from tests.unit.lang.complaint import complaint, error_of

COMMA = "a comma stands between two molecules, not before the end"
COMPARE = "write `if (x > y)`"


@pytest.mark.parametrize(
    "text, place, hint",
    [
        ("<1, 2", "1:1", "add `>`"),
        ("(1, 2", "1:1", "add `)`"),
        ("<1, <2, 3>", "1:1", "add `>`"),
        ("<1, first((1, 2)", "1:10", "add `)`"),
        ("<replace <x, y", "1:10", "add `>`"),
        ("<replace (x, y", "1:10", "add `)`"),
        ("<replace list(x", "1:14", "add `)`"),
        ("⟨1, 2", "1:1", "add `>`"),
    ],
)
def test_bracket_open_at_the_end(text: str, place: str, hint: str) -> None:
    """A bracket that the text never closes is pointed at."""
    assert complaint(text) == ("H121", place, hint)


@pytest.mark.parametrize("text, bracket", [("<(1, 2>", "("), ("<1, (2>)", "("), ("<1, list(2>", "(")])
def test_bracket_closed_by_another(text: str, bracket: str) -> None:
    """A bracket that another kind closes is named."""
    assert f"`{bracket}`" in error_of(text).show()


def test_two_molecules_without_a_comma() -> None:
    """Two molecules side by side lack a comma or a bracket."""
    hint = "a comma is missing before it, or a bracket is not closed"
    assert complaint("<1 2>") == ("H120", "1:4", hint)


@pytest.mark.parametrize("text, place", [("<1, , 2>", "1:5"), ("<1, 2,>", "1:7"), ("(1, )", "1:5")])
def test_comma_too_many(text: str, place: str) -> None:
    """A comma without a molecule after it is an error."""
    assert complaint(text) == ("H120", place, COMMA)


def test_bracket_too_many() -> None:
    """A `>` too many is explained, although it could be a comparison."""
    assert "more `>` than `<`" in error_of("<1, 2>>").hint


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


@pytest.mark.parametrize("text, place", [("(1 : 2 > 3)", "1:8"), ("1 : 2 == 3", "1:7")])
def test_comparison_in_a_tuple(text: str, place: str) -> None:
    """A comparison inside a tuple needs parentheses."""
    assert complaint(text) == ("H108", place, "write `a : (b > c)`")


@pytest.mark.parametrize(
    "text, place",
    [
        ("<replace x, y by x if x > y, 1>", "1:25"),
        ("<1, replace x, y by x if x < y>", "1:28"),
        ("<1, replace x by x if x > 2>", "1:25"),
    ],
)
def test_comparison_in_a_solution(text: str, place: str) -> None:
    """A comparison inside a solution needs parentheses, since `<` and `>` delimit solutions."""
    assert complaint(text) == ("H109", place, COMPARE)


@pytest.mark.parametrize("text", ["<1, 2 > 3>", "<1 : 2 > 3>"])
def test_comparison_among_molecules(text: str) -> None:
    """A comparison among the molecules of a solution is told about parentheses too."""
    assert "parentheses" in error_of(text).show()


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


@pytest.mark.parametrize("text, place", [("let X = replace x by in <1>", "1:5"), ("let = replace x by in <1>", "1:5")])
def test_let_without_a_name(text: str, place: str) -> None:
    """A `let` needs a lower-case name."""
    assert complaint(text) == ("H111", place, "")


@pytest.mark.parametrize("text, place", [("let r = 3 in <r>", "1:9"), ("let r = (1, 2) in <r>", "1:9")])
def test_let_without_a_rule(text: str, place: str) -> None:
    """A `let` names a rule and nothing else."""
    assert complaint(text) == ("H112", place, "")
    assert error_of(text).note == "expected `replace`, `replace-one` or `inject`"


@pytest.mark.parametrize("text, place", [("<replace ?w by ?w>", "1:16"), ("<?w>", "1:2")])
def test_question_mark_in_a_product(text: str, place: str) -> None:
    """In a product the rest is written without its mark."""
    assert complaint(text) == ("H113", place, "in a product the rest is written without it: `w`")


def test_method_without_parentheses() -> None:
    """A method is called with parentheses."""
    assert complaint('<"a".length>') == ("H114", "1:12", "write `.length()`")


def test_method_without_a_name() -> None:
    """A dot is followed by a method's name."""
    assert complaint('<"a".>')[:2] == ("H114", "1:6")


def test_let_without_in_before_another_let() -> None:
    """A missing `in` before the next `let` is explained."""
    hint = "end the rule `r` with `in` before the next `let`"
    assert complaint("let r = replace x by x let s = replace y by y in <r>") == ("H120", "1:24", hint)


@pytest.mark.parametrize(
    "text", ["let r = replace x by x <r>", "let r = replace x by <r>", "let r = replace x by x if x <r>"]
)
def test_let_without_in_before_the_solution(text: str) -> None:
    """A missing `in` before the solution is explained, although `<` could be a comparison."""
    shown = error_of(text).show()
    assert "`in`" in shown
    assert "`r`" in shown


def test_in_without_let() -> None:
    """An `in` at the end is explained."""
    assert complaint("<replace x by x> in")[0] == "H115"


@pytest.mark.parametrize("text, place", [("<replace x, y x>", "1:15"), ("replace x", "1:10"), ("<replace x>", "1:11")])
def test_rule_without_by(text: str, place: str) -> None:
    """After the patterns of a rule comes `by`."""
    error = error_of(text)
    assert complaint(text)[:2] == ("H120", place)
    assert error.message.startswith("expected `by` after the patterns of a rule, found ")


def test_condition_without_anything() -> None:
    """After `if` comes a condition."""
    assert complaint("<(replace x by x if)>")[:2] == ("H120", "1:20")


def test_let_without_equals() -> None:
    """After the name of a rule comes `=`."""
    assert error_of("let r replace x by x in <r>").message == "expected `=` after the name of a rule, found `replace`"


def test_molecules_after_the_solution() -> None:
    """Two solutions without a comma are told about the comma."""
    assert "comma" in error_of("<1, 2> <3>").show()
