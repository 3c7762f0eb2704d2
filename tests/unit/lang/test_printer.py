"""Printing molecules and rules."""

from __future__ import annotations

import math

import pytest

import solvent
from solvent.lang.molecule import Endless, List, Molecule, Opaque, Symbol
from solvent.lang.printer import print_rule
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution
from tests.growth import executed_lines


@pytest.mark.parametrize(
    "molecule, text",
    [
        (3, "3"),
        pytest.param(-(10**5000), "-1" + "0" * 5000, id="huge"),
        (2.0, "2.0"),
        (1e300, "1e+300"),
        (math.inf, "1e999"),
        (-math.inf, "-1e999"),
        (math.nan, 'float("nan")'),
        (True, "true"),
        ('a\n"\\\x00é', '"a\\n\\"\\\\\\u0000é"'),
        (Symbol("SRC"), "SRC"),
        ((1, (2, 3), "a"), '1:(2:3):"a"'),
        (List(), "()"),
        (List([1]), "list(1)"),
        (List([1, (2, 3)]), "(1, 2:3)"),
        (Solution(), "<>"),
        (Solution([3, 1, Symbol("A"), "b", 2.5, Solution([2, 1])]), '<1, 2.5, 3, "b", A, <1, 2>>'),
        (Solution([Endless(1), Endless((1, 2))]), "<1^inf, (1:2)^inf>"),
        (Opaque({1: 2}), 'opaque("{1: 2}")'),
    ],
)
def test_molecules(molecule: Molecule, text: str) -> None:
    """Each molecule is written as it is read, solutions in canonical order."""
    assert solvent.hocl.show(molecule) == text


def test_rules_are_shown_by_name() -> None:
    """A rule in a solution is shown by its name, or in full if it has none."""
    named, nameless = solvent.hocl.rule("replace x by", name="r"), solvent.hocl.rule("replace x by <x> if x > 1")
    assert solvent.hocl.show(Solution([named, nameless])) == "<(replace x by <x> if x > 1), r>"


@pytest.mark.parametrize(
    "text",
    [
        "replace x, y by x if x >= y && !(y == 1)",
        "replace-one x::int, <max = m, ?w> by w, <w>, x:(1:2)",
        "inject 1, A with (x, ?r), +w if (x in (1, 2))",
        "inject A",
        "replace T:<RES:r, +w> by (inner = replace z by r:z), 3^2, A^inf",
        "replace x by (let rec r = replace-one y by r, x in <r>)",
        'replace x by x.substring(0, 1), max(x, -1), -x, "a" + x * (2 - 1)',
    ],
)
def test_rules_are_printed_as_they_are_read(text: str) -> None:
    """A rule in canonical spelling prints as itself."""
    assert print_rule(solvent.hocl.rule(text)) == text


def test_captured_values_stand_in_for_their_names() -> None:
    """A closure prints with the values it captured, except where a pattern hides the name."""
    solution = solvent.hocl.parse(
        "<5, replace-one x::int by (replace-one y::string by x : y, (replace x by x))>"
    ).solution()
    solvent.hocl.react(solution)
    (rule,) = solution
    assert isinstance(rule, Rule)
    assert print_rule(rule) == "replace-one y::string by 5:y, (replace x by x)"


def test_a_captured_tuple_is_read_back_as_one() -> None:
    """It stands in parentheses where it is a part of something else, in a condition and in another tuple."""
    text = "<(1 : A), replace-one x::tuple by (replace-one y by B : x, x, <x>, (x, 2) if y < x)>"
    solution = solvent.hocl.parse(text).solution()
    solvent.hocl.react(solution)
    (rule,) = solution
    assert isinstance(rule, Rule)
    assert print_rule(rule) == "replace-one y by B:(1:A), 1:A, <1:A>, (1:A, 2) if y < (1:A)"
    (again,) = solvent.hocl.parse(f"<({print_rule(rule)})>").solution()
    assert isinstance(again, Rule)
    assert print_rule(again) == print_rule(rule)


def test_deep_solutions_are_printed_in_time_that_grows_with_their_size() -> None:
    """What stands inside many solutions is not sorted once for each of them."""

    def nested(levels: int) -> Solution:
        solution = Solution([1])
        for _ in range(levels):
            solution = Solution([2, solution, (3, Solution())])
        return solution

    small, large = nested(10), nested(100)
    shown = executed_lines(lambda: solvent.hocl.show(large))
    assert shown < 20 * executed_lines(lambda: solvent.hocl.show(small))
