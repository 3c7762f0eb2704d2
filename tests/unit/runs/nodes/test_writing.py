"""Molecules travel as text and arrive as they were."""

from __future__ import annotations

import pytest
from hypothesis import given

import solvent
from solvent.errors import Misuse
from solvent.lang.molecule import Opaque, equal
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution
from solvent.runs.nodes.writing import Writing
from tests.property.amounts import examples
from tests.property.strategies import molecule_values

PROGRAM = solvent.hocl.parse(
    "let up = replace x::int by x + 1 if x < 3 in let rec again = replace-one x by x, again in <up, again>"
)


@examples(20)
@given(molecule_values())
def test_molecules_arrive_as_they_were(molecule: solvent.hocl.Molecule) -> None:
    """What is written and read again equals what it was, whatever it is made of."""
    writing = Writing(PROGRAM)
    text = writing.write(molecule)
    again = writing.read(text)
    assert writing.write(again) == text
    assert equal(again, molecule) or "nan" in text


def test_named_rules_stay_the_same_object() -> None:
    """A rule that a let of the program names comes back as that rule, with its place in the program's text."""
    writing = Writing(PROGRAM)
    rule = PROGRAM.rules()["up"]
    text = writing.write(Solution([1, rule]))
    assert text == "<1, up>"
    again = writing.read(text)
    assert any(one is rule for one in again)


def test_closures_are_written_in_full() -> None:
    """A rule that captured a value comes back as a rule that says the same."""
    solution = solvent.hocl.parse(
        "let make = replace A:x by (add = replace y::int by B:(x + y)) in <A:5, make>"
    ).solution()
    solvent.hocl.react(solution)
    (closure,) = [one for one in solution if isinstance(one, Rule) and one.name == "add"]
    writing = Writing(PROGRAM)
    again = writing.read(writing.write(closure))
    assert again == closure
    solvent.hocl.react(done := Solution([again, 2]))
    assert solvent.hocl.show(done) == "<B:7, add>"


def test_opaque_values_are_refused_wherever_they_are() -> None:
    """A Python value without a form in HOCL is found inside tuples, lists and solutions."""
    writing = Writing(PROGRAM)
    opaque = Opaque(object())
    for molecule in (opaque, (1, opaque), Solution([1, solvent.hocl.List([opaque])])):
        with pytest.raises(Misuse, match="cannot go from node to node"):
            writing.write(molecule)
