"""The common layout: what is broken and how, where comments go, and that nothing else changes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st

from solvent.errors import SyntaxProblem
from solvent.hocl.program_file import format_text
from solvent.lang.layout import WIDTH
from solvent.lang.lexer import lexemes
from solvent.lang.parser import parse_program
from solvent.lang.printer import TreePrinter
from solvent.source import Source
from tests.property.amounts import examples
from tests.property.trees import expressions

if TYPE_CHECKING:
    from solvent.lang import syntax as tree

ROOT = Path(__file__).resolve().parents[3]
EXAMPLES = sorted((ROOT / "examples" / "hocl").glob("*/*.hocl"))
GAPS = (
    " ",
    "\n",
    "\n\n\n",
    "  \t",
    " // remark\n",
    "\n# own line\n",
    " /* block */ ",
    "\n/* two\n   lines */\n",
)
LONG = ", ".join(f"NUMBER{n:03}" for n in range(20))


def laid_out(text: str) -> str:
    """Lay a text out."""
    return format_text(text)


def comments(text: str) -> list[str]:
    """Give the comments of a text, without the spaces at the ends of their lines."""
    return ["\n".join(map(str.rstrip, comment.split("\n"))) for _, comment in lexemes(Source(text))[1]]


def is_program(text: str) -> bool:
    """Say whether a text reads as a program."""
    try:
        parse_program(Source(text))
    except SyntaxProblem:
        return False
    return True


def check(text: str) -> None:
    """Check all that must hold of any text and its layout."""
    formatted = laid_out(text)
    assert parse_program(Source(formatted)) == parse_program(Source(text))
    assert comments(formatted) == comments(text)
    assert laid_out(formatted) == formatted
    assert not any(line != line.rstrip() for line in formatted.split("\n"))


@examples(100)
@given(st.lists(expressions(), min_size=1, max_size=2), st.data())
def test_layout_keeps_comments(trees: list[tree.Expression], data: st.DataObject) -> None:
    """Comments anywhere between two lexemes survive, in their order."""
    printed = TreePrinter().items(trees)
    assume(is_program(printed))
    found, _ = lexemes(Source(printed))
    text = ""
    for one, after in pairwise(found):
        gap = data.draw(st.sampled_from(GAPS)) if data.draw(st.booleans()) else printed[one.end : after.start]
        text += printed[one.start : one.end] + gap
    assume(is_program(text))
    note(text)
    check(text)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_layout_of_examples(path: Path) -> None:
    """Every example keeps its program and its comments, in lines of at most 88 characters."""
    text = path.read_text(encoding="utf-8")
    if not is_program(text):
        pytest.skip("several final states are not one program")
    check(text)
    lines = [line for line in laid_out(text).split("\n") if "//" not in line]
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize(
    "text",
    [
        # What was written on one line and fits.
        "let max = replace x, y by x if x >= y in\n<2, 3 : A, <max>>\n",
        # Parentheses around a last rule that compares by `>`, which would close the solution.
        "<1, (replace x, y by x if x > y)>\n",
        # Parentheses around a rule at the end of a broken product: an `if` after it would be its own.
        "let r =\n  replace x\n  by\n    1,\n    // why\n    (replace y by y)\n  if x == 1\nin\n<r>\n",
        # `package` and `import` lines, also when a comment says the same.
        "// package a;\npackage a;\nimport b.c;\n\n<1>\n",
    ],
)
def test_what_is_laid_out_stays(text: str) -> None:
    """A text in the common layout is left as it is."""
    assert laid_out(text) == text


def test_long_let_is_broken_by_clauses() -> None:
    """A let that does not fit has a line for each clause."""
    text = f"let pick = replace-one first : second by {LONG[:60]} if first > second && second != 0 in <pick>"
    assert laid_out(text) == (
        "let pick =\n"
        "  replace-one first : second\n"
        f"  by {LONG[:60].rstrip(', ')}\n"
        "  if first > second && second != 0\n"
        "in\n"
        "<pick>\n"
    )


def test_broken_let_stays_broken() -> None:
    """A rule that its author wrote over several lines stays on several lines."""
    assert laid_out("let r = replace x\n by x in <r>") == "let r =\n  replace x\n  by x\nin\n<r>\n"


def test_long_solution_is_filled() -> None:
    """Short molecules of a long solution share lines, rules stand alone."""
    text = laid_out(f"<{LONG}, (named = replace x by y), replace x by y>".replace("by y", "by x"))
    first, *others = text.splitlines()
    assert first == "<"
    assert others[0].startswith("  NUMBER000, NUMBER001")
    assert others[-3:] == ["  (named = replace x by x),", "  replace x by x", ">"]


def test_long_condition_is_broken() -> None:
    """A condition that does not fit is broken before its `&&`."""
    text = f"let r = replace x, y by x if {' && '.join(['x * x + y * y > 100'] * 5)} in <r>"
    lines = laid_out(text).splitlines()
    assert lines[3] == "  if x * x + y * y > 100"
    assert lines[4:8] == ["    && x * x + y * y > 100"] * 4


def test_comment_at_the_end_of_a_line() -> None:
    """A comment behind something stays behind it; one on its own line stays before what it preceded."""
    text = "// top\nlet r = replace x by x in // why\n<\n  // first\n  1, // one\n  2,\n\n  // last\n  r\n>\n// end\n"
    assert laid_out(text) == text.replace(" // why", "  // why").replace(" // one", "  // one")


def test_deep_tuple_breaks_inside() -> None:
    """A tuple that does not fit is broken in its solution."""
    text = laid_out(f"<AGENT : 1 : <{LONG}>>").splitlines()
    assert text[:2] == ["<", "  AGENT : 1 : <"]
    assert text[2].startswith("    NUMBER000")
    assert text[-2:] == ["  >", ">"]
