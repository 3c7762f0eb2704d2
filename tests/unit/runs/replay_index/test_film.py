"""A film shows, after every reaction, what was there then."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import example, given
from hypothesis import strategies as st

from solvent.engine.choice import Stepper
from solvent.errors import SolventError
from solvent.hocl import parse
from solvent.hocl.process_settings import deep_stack
from solvent.runs.replay_index.film import Film
from solvent.runs.replay_index.sheet import Sheet
from solvent.runs.replay_index.viewer import Viewer
from tests.property.amounts import examples
from tests.property.strategies import programs
from tests.unit.runs.replay_index.seen import filmed, written

if TYPE_CHECKING:
    from solvent.lang.solution import Solution

MAX_STEPS = 30


def film(solution: Solution, path: Path, seed: int) -> list[str]:
    """Film a solution step by step; give how it was before each step and at the end."""
    with Sheet(path) as file, deep_stack():
        made = Film(file)
        seen = [written(solution)]
        made.begin(solution, {})
        stepper = Stepper(solution, chance=random.Random(seed), observe=made)
        try:
            while len(seen) <= MAX_STEPS and stepper.step():
                seen.append(written(solution))
        except SolventError:
            # The product cannot be computed: the film ends before it.
            pass
        made.finish()
    return seen


@given(programs(), st.integers(0, 10**6))
@example("let rone = replace x by ((x : x) : x) in\nlet rtwo = replace y::int by  in\n<rone, rtwo>", 77)
@example("let rone = replace x by  in\n<rone, 1, 1^inf>", 18)
@example("let rone = replace-one x, x, y by  in\n<1, rone, rone, 1>", 0)
@example("let rone = replace x, x, (?w0) by w0 in\n<list(<>), rone, 1, 1>", 0)
@example("let rone = replace x, x, x by  in\nlet rtwo = replace-one x, ?w0 by  in\n<rone, rtwo, 1^inf>", 0)
@examples(120, deadline=None)
def test_every_moment_is_as_it_was(text: str, seed: int) -> None:
    """After each reaction a film has exactly the molecules that the solution had, nested ones among them."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film"
        try:
            solution = parse(text).solution()
        except SolventError:
            return
        seen = film(solution, path, seed)
        assert [filmed(path, number) for number in range(len(seen))] == seen


def _viewed(tmp_path: Path, text: str) -> Viewer:
    film(parse(text).solution(), tmp_path / "film", 0)
    return Viewer(tmp_path / "film")


def test_a_molecule_keeps_its_number_while_it_changes_inside(tmp_path: Path) -> None:
    """What stands before a solution makes it the same to people, whatever happens in it."""
    viewer = _viewed(tmp_path, "<A : <1, 2, 3>, replace A : <x::int, ?w> by A : <w>>")
    (first,) = viewer.inside(0, 1)["members"]
    (last,) = viewer.inside(3, 1)["members"]
    assert (first["id"], last["subs"][0]["count"]) == (last["id"], 0)


def test_a_solution_that_is_given_to_another_molecule_is_another(tmp_path: Path) -> None:
    """A molecule that takes over the solution of another is not taken for it."""
    viewer = _viewed(tmp_path, "<A : <1>, replace-one A : <?w> by B : <w>>")
    assert [one["text"] for one in viewer.inside(1, 1)["members"] if one["role"] == "made"] == ["B:<…>"]


def test_equal_molecules_are_each_taken_once(tmp_path: Path) -> None:
    """A reaction that takes two equal molecules takes two."""
    viewer = _viewed(tmp_path, "<1, 1, 1, replace-one x::int, y::int by x + y>")
    assert len({one["id"] for one in viewer.reaction(1)["taken"] if one["kind"] == "flat"}) == 2
