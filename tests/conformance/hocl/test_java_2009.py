"""What programs of the 2009 compiler borrow from Java, construct by construct.

The programs are our own; each shows one construct as the programs of 2009 write it.
"""

from __future__ import annotations

import pytest

import solvent
from solvent.lang.layout import format_program
from solvent.lang.parser import parse_molecules, parse_program
from solvent.source import Source

NEW = (
    "known: new BigInteger, new Double, new Float, new Integer, new Long, new String; "
    "other values come from functions of your own"
)
PROGRAMS = [
    pytest.param(
        '<"a", 1, 2.5, true, A, <1>, 1 : 2, (replace x::Object by Z if x != Z)>',
        "<Z, Z, Z, Z, Z, 1:2, <1>, (replace x::Object by Z if x != Z)>",
        id="Object is any value but no tuple, solution or rule",
    ),
    pytest.param(
        "<7, (drop = replace x::Object by 1 if x != 1), (keep = replace A by B)>", "<1, drop, keep>", id="no rule"
    ),
    pytest.param('<"N" : 3L, 2l, -5L>', '<-5, 2, "N":3>', id="long integers"),
    pytest.param("<0d, 2.5f, 1e2D, -3F>", "<-3.0, 0.0, 2.5, 100.0>", id="floats with a suffix"),
    pytest.param("<4, (replace-one 4L by 2.0d), 1>", "<1, 2.0>", id="a suffix in a pattern"),
    pytest.param(
        "<Math.abs(-3), Math.abs(-2.5), Math.ceil(2.1), Math.floor(-2.1), Math.round(2.5), Math.round(-2.5)>",
        "<-3.0, -2, 2.5, 3.0, 3, 3>",
        id="Math rounds as Java does",
    ),
    pytest.param("<Math.min(1, 2), Math.max(3, 2.0), Math.sqrt(9), Math.pow(2, 3)>", "<1, 3.0, 3.0, 8.0>", id="Math"),
    pytest.param(
        "<3, 40, (root = replace x::int by x : Math.ceil(Math.sqrt(x)) if x < Math.ceil(Math.sqrt(100)))>",
        "<40, 3:2.0, root>",
        id="Math in a condition and a product",
    ),
    pytest.param('<new Integer("10"), new Integer(4), new Long(0)>', "<0, 4, 10>", id="new Integer"),
    pytest.param('<2, replace-one x::int by new Float(x), new String("a")>', '<2.0, "a">', id="new Float"),
    pytest.param(
        '<new BigInteger("12345678901234567890").add(BigInteger.ONE)>', "<12345678901234567891>", id="new BigInteger"
    ),
    pytest.param(
        "<9, 4, (less = replace x::BigInteger, y::BigInteger by x.subtract(y) "
        "if x.compareTo(y) > 0 && x.remainder(y).compareTo(BigInteger.ZERO) > 0)>",
        "<5, less>",
        id="methods of big integers",
    ),
    pytest.param(
        '<"A" : Integer.MAX_VALUE, "B" : -Integer.MAX_VALUE, Integer.MIN_VALUE>',
        '<-2147483648, "A":2147483647, "B":-2147483647>',
        id="Integer.MAX_VALUE",
    ),
    pytest.param(
        "<1, 2147483647, (replace-one Integer.MAX_VALUE by FAR)>", "<1, FAR>", id="Integer.MAX_VALUE in a pattern"
    ),
    pytest.param(
        "let make = replace-one LIMIT : p by cap = replace x::int by p if x > p in "
        "<<make, LIMIT : 5, 3, 9>, replace-one <cap = c, ?w> by w>",
        "<3, 5>",
        id="a rule named in place without parentheses",
    ),
    pytest.param("<1, 2, add = replace x::int, y::int by x + y>", "<3, add>", id="a named rule at the end"),
    pytest.param("<1, 2, (replace-one X::int, Y::int by Y : X if X < Y)>", "<2:1>", id="typed capitals"),
    pytest.param(
        "<A : 3, 3, (replace-one K : X, X::int by K : X)>",
        "<3, A:3, (replace-one K:X, X::int by K:X)>",
        id="a capital without a type is a constant",
    ),
    pytest.param("<K : 3, 3, (replace-one K : X, X::int by SAME : X)>", "<SAME:3>", id="one variable, typed once"),
    pytest.param("<2, (inject X * 10 with X::int)>", "<2, 20>", id="inject reads its pattern last"),
    pytest.param(
        "<N : 2, (replace-one N : Factor::int by (replace-one x::int by x * Factor)), 5>",
        "<10>",
        id="a rule inside closes over a capital",
    ),
    pytest.param(
        "<X, 1, (replace-one X::int by (replace-one X by FOUND : X))>", "<FOUND:1>", id="a pattern inside is a constant"
    ),
    pytest.param("<Math, Integer : 3, T.equals(T)>", "<true, Math, Integer:3>", id="class names stay symbols"),
]


@pytest.mark.parametrize("text, expected", PROGRAMS)
def test_construct_runs(text: str, expected: str) -> None:
    """A program with a construct of 2009 ends in the solution that it would end in there."""
    solution = solvent.hocl.parse(text).solution()
    assert solvent.hocl.react(solution, max_reactions=1000).inert
    assert solvent.hocl.show(solution) == expected


@pytest.mark.parametrize("text, expected", PROGRAMS)
def test_construct_survives_printing(text: str, expected: str) -> None:
    """A program with a construct of 2009 reads the same when it is laid out, and its layout is stable."""
    program = parse_program(Source(text))
    laid_out = format_program(program, Source(text))
    again = parse_program(Source(laid_out))
    assert again == program
    assert format_program(again, Source(laid_out)) == laid_out


def test_names_of_java_are_kept_by_the_layout() -> None:
    """Laying a program out keeps the names that its author wrote, and does not put their values there."""
    text = "<Math.abs(Integer.MAX_VALUE), new Integer(-Long.MIN_VALUE), replace Math.E by 1>\n"
    assert format_program(parse_program(Source(text)), Source(text)) == text


def test_a_method_of_a_symbol_named_as_a_class_survives_printing() -> None:
    """`(Math).f(x)`, a function of the symbol, is not printed as a function of Java."""
    text = "<(Math).abs(2), (T).abs(2)>"
    laid_out = format_program(parse_program(Source(text)), Source(text))
    assert laid_out == "<(Math).abs(2), T.abs(2)>\n"
    assert parse_molecules(Source(laid_out)) == parse_molecules(Source(text))


def test_a_captured_symbol_is_not_taken_for_a_variable() -> None:
    """A rule that captured a symbol, printed in full, reads back with the symbol where a variable has its name."""
    solution = solvent.hocl.parse("<A : Y, replace-one A : v by (replace-one Y::int by Y : v)>").solution()
    solvent.hocl.react(solution)
    again = solvent.hocl.parse(f"<5, {solvent.hocl.show(solution)[1:-1]}>").solution()
    solvent.hocl.react(again)
    assert solvent.hocl.show(again) == "<5:Y>"


@pytest.mark.parametrize(
    "text, code, hint",
    [
        ("<Math.flor(1)>", "H204", "did you mean `Math.floor`?"),
        ("<Math.abs>", "H114", "write `Math.abs(...)`"),
        ("<Math.abs(1, 2)>", "H206", ""),
        ("<new Point(1)>", "H204", NEW),
        ("<replace X by x>", "H203", ""),
    ],
)
def test_mistakes_in_java_are_told(text: str, code: str, hint: str) -> None:
    """A call that Java would not know gets an error with a code and, where there is one, a hint."""
    with pytest.raises(solvent.SolventError) as caught:
        solvent.hocl.parse(text).solution()
    assert (caught.value.code, caught.value.hint) == (code, hint)
