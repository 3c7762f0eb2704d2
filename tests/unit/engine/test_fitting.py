"""Whether a molecule fits a pattern, read from the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import solvent
from solvent.engine.fitting import SearchCut, Tries, fits
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    from solvent.lang.syntax import Pattern


def read(molecule: str, pattern: str) -> tuple[Pattern, solvent.hocl.Molecule]:
    """Read a pattern and a molecule."""
    solution = solvent.hocl.parse(f"<{molecule}, (r = replace NEVER, {pattern} by DONE)>").solution()
    solvent.hocl.react(solution)
    rule = next(one for one in solution if type(one) is Rule)
    return rule.node.patterns[1], next(one for one in solution if one is not rule)


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
