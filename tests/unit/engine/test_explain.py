"""How far a rule gets, and what stops it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import solvent
from solvent.engine import explain
from solvent.engine.explain import Report, why_not
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    import pytest


def report(molecules: str, rule: str) -> Report:
    """Run a solution with a rule and report on the rule."""
    solution = solvent.hocl.parse(f"<{molecules}, (r = replace {rule})>").solution()
    solvent.hocl.react(solution)
    return why_not(solution, next(one for one in solution if type(one) is Rule))


def test_a_pattern_that_nothing_fits() -> None:
    """The first pattern that no molecule fits is the reason, however many ways lead to it."""
    numbers = ", ".join(map(str, range(1000)))
    found = report(numbers, "x::int, y::int, z::string by z")
    assert (found.verdict, found.is_complete) == ("no molecule fits pattern 3, `z::string`", True)


def test_a_condition_about_a_rest() -> None:
    """A condition is shown with what the rest of the solution was."""
    found = report("1, 2", "x, ?w by DONE if len(w) > 5")
    assert found.verdict == "the patterns fit 2 times, but `len(w) > 5` is false each time"
    assert found.conditions[0].example == "x = 1, w = 2"


def test_nothing_is_left_for_a_rest() -> None:
    """A rest that must not be empty is a pattern like others."""
    found = report("1", "x, +w by DONE")
    assert found.verdict == "no molecule is left for pattern 2, `+w`, beside the patterns before it"


def test_endless_molecules_are_not_used_up() -> None:
    """An endless molecule fits as many patterns as there are."""
    assert report("1^inf", "x, y by DONE if x > y").verdict == "the patterns fit 1 time, but `x > y` is false each time"


def test_a_search_that_is_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A verdict after too many tries says that it is about what has been seen."""
    monkeypatch.setattr(explain, "MAX_TRIES", 4)
    found = report("1, 2, 3", "x, y by DONE if x + y > 10")
    assert not found.is_complete
    assert found.verdict == "as far as the search went, the patterns fit 2 times, but `x + y > 10` is false each time"


def test_the_nearest_is_named_even_without_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the tries do not suffice for a reason the nearest molecules are named all the same."""
    monkeypatch.setattr(explain, "MAX_MISFIT_TRIES", 0)
    (pattern,) = report("A : <1>", "A : <2> by DONE").patterns
    assert (pattern.nearest, pattern.misfits) == (["A:<1>"], [])
