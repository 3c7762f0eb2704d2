"""What inside the nearest molecule does not fit a pattern, and why."""

from __future__ import annotations

import pytest

import solvent
from solvent.engine.explain import PatternReport, why_not
from solvent.engine.misfit import Misfit, Step
from solvent.lang.rule import Rule


def reports(molecules: str, patterns: str) -> list[PatternReport]:
    """Say how the patterns of a rule fare among molecules."""
    solution = solvent.hocl.parse(f"<{molecules}, (r = replace {patterns} by DONE)>").solution()
    solvent.hocl.react(solution)
    return why_not(solution, next(one for one in solution if type(one) is Rule and one.name == "r")).patterns


def sentences(molecules: str, patterns: str) -> list[str]:
    """Give the misfits of a rule's last pattern in words."""
    return [one.sentence() for one in reports(molecules, patterns)[-1].misfits]


def test_a_path_leads_to_the_innermost_pattern() -> None:
    """A misfit has every step inwards, the pattern at its end, what it met there, and why that does not fit."""
    (report,) = reports("T1 : <SRC : <T0>, IN : <1>>", "T1 : <SRC : <>, IN : <?i>, ?w>")
    path = [
        Step("part 2", "<SRC:<>, IN:<?i>, ?w>", "<IN:<1>, SRC:<T0>>"),
        Step("inside", "SRC:<>", "SRC:<T0>"),
        Step("part 2", "<>", "<T0>"),
    ]
    misfit = Misfit("T1:<IN:<1>, SRC:<T0>>", path, "<>", "<T0>", "it is not empty")
    assert report == PatternReport(
        "T1:<SRC:<>, IN:<?i>, ?w>",
        fit=0,
        fits_together=False,
        nearest=["T1:<IN:<1>, SRC:<T0>>"],
        misfits=[misfit],
    )
    assert misfit.sentence() == (
        "in part 2, `SRC:<>` finds no partner; in part 2 of `SRC:<T0>`, `<T0>` does not fit `<>`: it is not empty"
    )


@pytest.mark.parametrize(
    "molecules,patterns,expected",
    [
        (
            'A : "s"',
            "A : x::int",
            'in part 2, `"s"` does not fit `x::int`: kind differs: expected int, found string',
        ),
        ("A : 1", "A : <x>", "in part 2, `1` does not fit `<x>`: kind differs: expected solution, found int"),
        ("A : 1", "A : 1.0", "in part 2, `1` does not fit `1.0`: kind differs: expected float, found int"),
        ("A : 1 : 2", "A : 1 : 3", "in part 3, `2` does not fit `3`: it is another value"),
        ("A : 1 : 2", "A : x", "it has 3 parts, expected 2"),
        (
            "A : (B : 1)",
            "A : (B : x : y)",
            "in part 2, `B:1` does not fit `B:x:y`: it has 2 parts, expected 3",
        ),
        (
            "A : (m = replace P by Q)",
            "A : n = x",
            "in part 2, `m` does not fit `n = x`: the rule has another name",
        ),
    ],
)
def test_parts_of_tuples(molecules: str, patterns: str, expected: str) -> None:
    """In a tuple the first part that does not fit is named by its number."""
    assert sentences(molecules, patterns) == [expected]


@pytest.mark.parametrize(
    "molecules,patterns,expected",
    [
        ("(1, 2)", "(1, 3)", "in item 2, `2` does not fit `3`: it is another value"),
        (
            "(1, 2, 3)",
            "(?w, x::string)",
            "in item 3, `3` does not fit `x::string`: kind differs: expected string, found int",
        ),
        ("(1, 2, 3)", "(x, y)", "its length is 3, expected 2"),
        ("list(1)", "(x, y, +w)", "its length is 1, expected at least 3"),
        (
            "(1, (2, 3))",
            "(x, (x, y))",
            "in item 1 of item 2, `2` does not fit `x`: `x` is bound to 1 by an earlier pattern",
        ),
    ],
)
def test_items_of_lists(molecules: str, patterns: str, expected: str) -> None:
    """In a list the first item that does not fit is named by its place in the list, counted past a rest."""
    assert sentences(molecules, patterns) == [expected]


@pytest.mark.parametrize(
    "molecules,patterns,expected",
    [
        ("<A, B>", "<A, C, ?w>", "`C` finds no partner: no molecule equals it"),
        ('<"a">', "<x::int>", "`x::int` finds no partner: no molecule is of kind int"),
        ("<A>", "<<?w>>", "`<?w>` finds no partner: no molecule is of kind solution"),
        ("<B : 1>", "<A : x>", "`A:x` finds no partner: no tuple starts with `A`"),
        ("<B : 1>", "<x : y : z>", "`x:y:z` finds no partner: no tuple has 3 parts"),
        ("<(m = replace P by Q)>", "<n = x>", "`n = x` finds no partner: no rule there is named `n`"),
        ("<>", "<x>", "`x` finds no partner: there is no molecule for it"),
        ('<1, "a">', "<x::int, y::int>", "`y::int` finds no partner: what fits it is taken by another pattern"),
        ("<1, 2>", "<x>", "`2` is left over"),
        ("<1, 2>", "<>", "it is not empty"),
        ("<1>", "<x, +w>", "nothing is left for `+w`"),
        ("<1^inf>", "<x>", "`1^inf` is left over"),
        (
            "<A : 1, 2>",
            "<A : x, x>",
            "`x` finds no partner; `2` does not fit `x`: `x` is bound to 1 by an earlier pattern",
        ),
        ("<<2>>", "<<1>>", "`<1>` finds no partner; in `<2>`, `1` finds no partner: no molecule equals it"),
        (
            "<A : (1, 2)>",
            "<A : (1, 3)>",
            "`A:(1, 3)` finds no partner; in item 2 of part 2 of `A:(1, 2)`, `2` does not fit `3`: it is another value",
        ),
    ],
)
def test_sub_solutions(molecules: str, patterns: str, expected: str) -> None:
    """In a sub-solution a pattern without a partner is to blame, and then what stops its nearest one."""
    assert sentences(molecules, patterns) == [expected]


def test_a_sub_solution_that_still_reacts() -> None:
    """A sub-solution that is not inert fits no pattern, and that is the reason."""
    solution = solvent.hocl.parse("<A : <1>, (r = replace A : <x> by x)>").solution()
    rule = next(one for one in solution if type(one) is Rule)
    (misfit,) = why_not(solution, rule).patterns[0].misfits
    assert misfit.sentence() == "in part 2, `<1>` does not fit `<x>`: the sub-solution is not inert"


def test_a_variable_bound_by_an_earlier_pattern() -> None:
    """A molecule that fits alone is compared with what the patterns before have bound."""
    first, second = reports("A : 3, B : 4", "A : x, B : x")
    assert (first.misfits, second.fit, second.fits_together) == ([], 1, False)
    assert second.misfits[0].sentence() == "in part 2, `4` does not fit `x`: `x` is bound to 3 by an earlier pattern"


def test_a_variable_on_its_own() -> None:
    """A variable that is bound already is compared with the molecules of its kind."""
    assert sentences('A : 3, 4, "s"', "A : x, x::int") == ["`x` is bound to 3 by an earlier pattern"]


def test_bindings_of_every_way_are_tried() -> None:
    """Where the patterns before fit in several ways, the way that comes nearest counts."""
    found = sentences("A : 1, A : 2, B : 2 : 7, B : 9 : 9", "A : x, B : x : x")
    assert found[0] == "in part 3, `7` does not fit `x`: `x` is bound to 2 by an earlier pattern"


def test_the_nearest_comes_first() -> None:
    """Molecules are in the order of how much of the pattern fits; equal ones are told once, and three at most."""
    molecules = "A : 9 : 9 : 9, A : 9 : 9 : 9, A : 1 : 9 : 9, A : 1 : 2 : 9, A : 9, B : 1"
    (report,) = reports(molecules, "A : 1 : 2 : 3")
    assert report.nearest == ["A:1:2:9", "A:1:9:9", "A:9:9:9"]


def test_the_nearest_partner_inside_is_told() -> None:
    """Of several molecules in a sub-solution the nearest is looked into."""
    (told,) = sentences("<A : 9 : 9, A : 1 : 9>", "<A : 1 : 2, ?w>")
    assert told == ("`A:1:2` finds no partner; in part 3 of `A:1:9`, `9` does not fit `2`: it is another value")


def test_molecules_in_a_sentence_can_be_shortened() -> None:
    """What a sentence shows of molecules is up to whoever shows it."""
    (misfit,) = reports("A : <B : 12345>", "A : <B : 1>")[0].misfits
    assert misfit.sentence(lambda text: text[:3]) == (
        "in part 2, `B:1` finds no partner; in part 2 of `B:1`, `123` does not fit `1`: it is another value"
    )
