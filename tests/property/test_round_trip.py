"""What is printed reads back as what it was."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, note
from hypothesis import strategies as st

import solvent
from solvent.lang.molecule import Molecule, order_key
from solvent.lang.parser import parse_molecules, parse_program
from solvent.lang.printer import TreePrinter
from solvent.lang.solution import Solution
from solvent.source import Source
from tests.property.amounts import examples
from tests.property.strategies import molecule_values, programs
from tests.property.trees import expressions

if TYPE_CHECKING:
    from solvent.lang import syntax as tree


def parsed(text: str) -> list[tree.Expression]:
    """Read molecules, and show the text where that fails."""
    note(text)
    return parse_molecules(Source(text))


@examples(100)
@given(st.lists(expressions(), min_size=1, max_size=2))
def test_printing_then_parsing_molecules_is_identity(trees: list[tree.Expression]) -> None:
    """Any tree, printed and parsed, is the same tree."""
    assert parsed(TreePrinter().items(trees)) == trees


@examples(70)
@given(programs())
def test_parsing_then_printing_then_parsing_programs_is_identity(text: str) -> None:
    """A program, parsed and printed, parses to the same program."""
    program = parse_program(Source(text))
    printed = TreePrinter().items(program.body)
    note(printed)
    assert parse_program(Source(printed)) == program


@examples(70)
@given(programs())
def test_printing_twice_changes_nothing(text: str) -> None:
    """What has been printed, parsed and printed again is the same text."""
    printed = TreePrinter().items(parsed(text))
    assert TreePrinter().items(parsed(printed)) == printed


@examples(100)
@given(molecule_values())
def test_shown_molecules_read_back_equal(molecule: Molecule) -> None:
    """Any molecule without named rules and opaque values, shown, reads back equal."""
    (back,) = solvent.hocl.molecules(solvent.hocl.show(molecule))
    assert order_key(back) == order_key(molecule)


@examples(70)
@given(st.lists(molecule_values(), max_size=4), st.randoms())
def test_order_of_molecules_means_nothing(molecules: list[Molecule], chance: object) -> None:
    """Solutions of the same molecules in another order are equal and are shown the same."""
    other = list(molecules)
    chance.shuffle(other)  # type: ignore[attr-defined]
    assert Solution(molecules) == Solution(other)
    assert solvent.hocl.show(Solution(molecules)) == solvent.hocl.show(Solution(other))


@examples(100)
@given(st.lists(molecule_values()))
def test_solutions_are_shown_in_the_order_of_molecules(molecules: list[Molecule]) -> None:
    """The molecules of a solution are shown by `order_key`, each as it is shown alone."""
    shown = ", ".join(map(solvent.hocl.show, sorted(molecules, key=order_key)))
    assert solvent.hocl.show(Solution(molecules)) == f"<{shown}>"
