"""Whatever the text: it is a program, or a `SolventError` says why not."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, example, given
from hypothesis import strategies as st

import solvent
from solvent.hocl.program import read_text
from tests.property.amounts import examples
from tests.property.strategies import programs

if TYPE_CHECKING:
    from pathlib import Path

SAMPLES = (
    "let max = replace x, y by x if x >= y in\n< <2, 3, max>,\n  replace-one <max = m, ?w> by w >",
    (
        'package a.b; import c.d;\n/* c */ let rec r = replace-one x::int:"a", <?w> by r, x + 1, w'
        ' if x < 3 && !(x == 2) in # d\n<r, 1:"a">'
    ),
    '<(greater = replace x::int, "G":<?w> by "G":<x, w> if x > 2), "G":<>, (1, 2.5e3, ()), 3^2, A^inf>',
    "inject SRC : 1 with ti : <RES : r, DST : <tj, +d>, i?>, (x, ?rest) if (tj in rest) || ti.equals(tj)",
    "⟨1, ω, replace ω by ω if 1 ≥ 2 ∧ ¬ (1 ≠ 2) ∨ (1 ∈ (1, 2))⟩ // end",
    'let a = one x by let b = replace y by x : y in <b, -x, "\\n"> in a, (a), s.substring(0, 1).length()',
    "<3L, -2.5f, keep = replace X::Object, Y::long by Math.abs(X), new Integer(Y), Integer.MAX_VALUE if X != Y>",
)
PIECES = (
    "X::int",
    "3L",
    "Math.abs",
    "Integer.MAX_VALUE",
    "new Integer",
    "let",
    "in",
    "rec",
    "replace",
    "replace-one",
    "one",
    "by",
    "if",
    "inject",
    "with",
    "<",
    ">",
    "(",
    ")",
    ",",
    ":",
    "::",
    "=",
    "==",
    ">=",
    "?",
    "+",
    "-",
    "*",
    "/",
    "%",
    "^",
    "^inf",
    "!",
    "not",
    "&&",
    "||",
    ".",
    ";",
    '"',
    "\\",
    "//",
    "/*",
    "#",
    "1",
    "2.5",
    "1e9",
    "x",
    "w",
    "?w",
    "A",
    "int",
    '"a"',
    "list(",
    "max",
    "ω",
    "∞",
    "∉",
    "⟨",
    "'",
    "{",
    "[",
    "&",
    "\n",
    "\0",
)
_PIECE = re.compile(r"\w+|\s+|.", re.DOTALL)


def read(text: str) -> None:
    """Read a program and make its solution; nothing but a `SolventError` with a code may come out."""
    try:
        solvent.hocl.parse(text).solution()
    except solvent.SolventError as error:
        refused = error
    else:
        return
    assert re.fullmatch(r"H\d{3}", refused.code)
    assert refused.show().startswith(f"error[{refused.code}]: ")
    assert refused.exit_code == 2


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """Give a valid program with some of its pieces deleted, doubled, exchanged or put in."""
    text = draw(st.one_of(st.sampled_from(SAMPLES), programs()))
    pieces = _PIECE.findall(text)
    for _ in range(draw(st.integers(1, 6))):
        at = draw(st.integers(0, len(pieces)))
        change = draw(st.sampled_from(("delete", "insert", "insert", "double", "exchange")))
        if change == "insert":
            pieces.insert(at, draw(st.sampled_from(PIECES)))
        elif change == "delete":
            del pieces[at : at + draw(st.integers(1, 4))]
        elif change == "double":
            pieces[at:at] = pieces[at : at + draw(st.integers(1, 8))]
        elif pieces:
            other = draw(st.integers(0, len(pieces) - 1))
            at = min(at, len(pieces) - 1)
            pieces[at], pieces[other] = pieces[other], pieces[at]
    return "".join(pieces)


@pytest.mark.parametrize("text", SAMPLES[:3])
def test_samples_are_programs(text: str) -> None:
    """The texts that are mutated are programs themselves."""
    solvent.hocl.parse(text).solution()


@examples(200)
@given(st.text(st.characters(exclude_categories=())))
@example("")
@example("\ufeff<1>")
@example("<1\x00>")
def test_any_text_is_read_or_refused(text: str) -> None:
    """Arbitrary text raises nothing but a `SolventError`."""
    read(text)


@examples(200)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(" ".join))
def test_any_pieces_are_read_or_refused(text: str) -> None:
    """Pieces of the language in any order raise nothing but a `SolventError`."""
    read(text)


@examples(200)
@given(mutated())
def test_damaged_programs_are_read_or_refused(text: str) -> None:
    """Programs with pieces deleted, doubled or exchanged raise nothing but a `SolventError`."""
    read(text)


@examples(100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary())
@example(data=b"\xff\xfe<1>")
@example(data=b"\xef\xbb\xbf<1>")
def test_any_bytes_are_read_or_refused(data: bytes, tmp_path: Path) -> None:
    """A file of arbitrary bytes raises nothing but a `SolventError`."""
    file = tmp_path / "any.hocl"
    file.write_bytes(data)
    try:
        text = read_text(file)
    except solvent.SolventError as error:
        refused = error
    else:
        read(text)
        return
    assert refused.code == "H100"
    assert str(file) in refused.show()
