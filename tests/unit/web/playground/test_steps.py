"""The steps of a run show what is in its solution, whatever the program."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given

import solvent
from solvent.errors import SolventError
from solvent.web.playground.editor import examples
from solvent.web.playground.steps import Steps
from tests.property.amounts import examples as amount
from tests.property.strategies import programs

EXAMPLES = examples()
LIGHT = [one for one in EXAMPLES if one.name not in ("eight-queens", "satisfiability", "six-queens")]
"""Those that are short to run."""


def _text(members: list[Any], molecules: dict[int, str]) -> str:
    """Write a moment as the page does."""
    return f"<{', '.join(_member(one, molecules) for one in members)}>"


def _member(member: Any, molecules: dict[int, str]) -> str:
    if isinstance(member, int):
        return molecules[member]
    return "".join(_text(one, molecules) if isinstance(one, list) else one for one in member[1:])


def _watched(text: str, seed: int | None) -> tuple[solvent.hocl.Solution, dict[str, Any]]:
    solution = solvent.hocl.parse(text, name="program").solution()
    steps = Steps(solution, max_steps=150)
    with contextlib.suppress(SolventError):
        solvent.hocl.react(solution, seed=seed, max_reactions=150, observe=steps)
    return solution, steps.as_json()


@pytest.mark.parametrize("name", [one.name for one in LIGHT])
def test_the_last_moment_is_the_final_solution(name: str) -> None:
    """Going through all reactions of an example ends in the solution that the run ends in."""
    text = next(one.text for one in EXAMPLES if one.name == name)
    solution, found = _watched(text, None)
    molecules = {one["id"]: one["text"] for one in found["molecules"]}
    assert len(found["states"]) == len(found["reactions"]) + 1
    if solution.inert and not found["is_cut"]:
        assert _text(found["states"][-1], molecules) == solvent.hocl.show(solution)


@amount(60)
@given(programs())
def test_the_last_moment_of_any_program_is_its_solution(text: str) -> None:
    """Whatever the program, the steps end in what is there at the end, and name only known molecules."""
    solution, found = _watched(text, 1)
    molecules = {one["id"]: one["text"] for one in found["molecules"]}
    written = [_text(state, molecules) for state in found["states"]]
    if solution.inert and not found["is_cut"]:
        assert written[-1] == solvent.hocl.show(solution)


@pytest.mark.parametrize("molecules", ["1, 1, 1^inf", "1^inf, 1, 1", "1, 1^inf"])
@pytest.mark.parametrize("seed", [None, *range(6)])
def test_a_molecule_may_be_taken_from_an_endless_one_beside_equal_ones(molecules: str, seed: int | None) -> None:
    """Where equal molecules are endless and not, the steps know which of them a reaction has taken."""
    solution, found = _watched(f"let pair = replace-one x, x by  in <{molecules}, pair>", seed)
    texts = {one["id"]: one["text"] for one in found["molecules"]}
    assert _text(found["states"][-1], texts) == solvent.hocl.show(solution)


def test_steps_end_where_there_are_enough() -> None:
    """Not more steps are kept than may be, and it is said that the run went on."""
    solution = solvent.hocl.parse("<1, (replace x::int by x + 1 if x < 50)>").solution()
    steps = Steps(solution, max_steps=10)
    solvent.hocl.react(solution, observe=steps)
    assert (len(steps.states), steps.is_cut) == (11, True)


def test_steps_end_where_they_show_too_much() -> None:
    """Large solutions are shown in fewer steps, so that an answer stays small."""
    solution = solvent.hocl.parse("<A^1000, (replace A by B)>").solution()
    steps = Steps(solution, max_members=5000)
    solvent.hocl.react(solution, observe=steps)
    assert (len(steps.states), steps.is_cut) == (5, True)
