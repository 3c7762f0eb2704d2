"""Whether a molecule fits a pattern, read from the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.engine.fitting import SearchCut, Tries, fits
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    from solvent.engine.fitting import Bindings
    from solvent.lang.syntax import Pattern

MAX_TRIES = 10_000


def read(molecule: str, pattern: str) -> tuple[Pattern, solvent.hocl.Molecule]:
    """Read a pattern and a molecule."""
    solution = solvent.hocl.parse(f"<{molecule}, (r = replace NEVER, {pattern} by DONE)>").solution()
    solvent.hocl.react(solution)
    rule = next(one for one in solution if type(one) is Rule)
    return rule.node.patterns[1], next(one for one in solution if one is not rule)


def ways(molecule: str, pattern: str) -> list[Bindings]:
    """Give all ways in which a molecule fits a pattern."""
    return list(fits(*read(molecule, pattern), {}, Tries(MAX_TRIES)))


def test_every_way_is_given() -> None:
    """A sub-solution fits in as many ways as partners can be chosen."""
    assert ways("<1, 2>", "<x, y>") == [{"x": 1, "y": 2}, {"x": 2, "y": 1}]


def test_the_same_variable_asks_for_equal_molecules() -> None:
    """A variable that stands twice fits equal molecules only, of the same kind."""
    assert ways("A : 1 : 1", "A : x : x") == [{"x": 1}]
    assert ways("A : 1 : 1.0", "A : x : x") == []


def test_rests_of_lists_and_solutions() -> None:
    """A rest is bound to what the other patterns leave, in a list the items between them."""
    assert ways("(1, 2, 3, 4)", "(x, ?w, y)") == [{"x": 1, "w": [2, 3], "y": 4}]
    assert ways("<A, 1, 2>", "<A, +w>") == [{"w": [1, 2]}]
    assert ways("<A>", "<A, +w>") == []


def test_an_endless_molecule_is_never_used_up() -> None:
    """Of an endless molecule one is taken and as many are left."""
    assert [way["x"] for way in ways("<1^inf>", "<x, x, +w>")] == [1]
    assert ways("<1^inf>", "<x>") == []


def test_choosy_patterns_go_first() -> None:
    """A pattern without a partner ends the search before the others have been combined."""
    numbers = ", ".join(map(str, range(100)))
    pattern, molecule = read(f"<{numbers}>", "<x, y, z, A : x>")
    assert list(fits(pattern, molecule, {}, Tries(100))) == []


def test_the_search_is_bounded() -> None:
    """A search that needs more tries than it has says so."""
    pattern, molecule = read("<1, 2, 3>", "<x, y, z, z>")
    with pytest.raises(SearchCut):
        list(fits(pattern, molecule, {}, Tries(5)))
