"""The programs of the 2009 compiler give the solutions its own tests expected.

The programs are data beside the project, not part of it; without them these tests are skipped. Final
solutions are compared as multisets, rules by name. Where several finals are legal (`sat`, `sortPivot`) the
expected one is the default engine's: it takes what stands first.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import solvent

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT.parent / "shared" / "data" / "hocl-2009"
NOT_A_PROGRAM = "ho_rule03_test01"
RUN = 13
"""How many programs of the folder run and have an expected solution."""
NAMES = sorted(
    file.stem for file in FOLDER.glob("*.hocl") if not file.stem.endswith(".expected") and file.stem != NOT_A_PROGRAM
)

pytestmark = pytest.mark.skipif(not NAMES, reason=f"the programs of 2009 are not in {FOLDER}")


def final(name: str) -> str:
    """Run a program of the folder and give its final solution."""
    solution = solvent.hocl.load(FOLDER / f"{name}.hocl").solution()
    assert solvent.hocl.react(solution, max_reactions=1_000_000).inert
    return solvent.hocl.show(solution)


@pytest.mark.parametrize("name", NAMES)
def test_program_gives_its_expected_solution(name: str) -> None:
    """A program of 2009, unchanged, ends in the solution that came with it."""
    expected = solvent.hocl.load(FOLDER / f"{name}.expected.hocl").solution()
    assert final(name) == solvent.hocl.show(expected)


def test_no_program_is_left_out() -> None:
    """All programs of the folder are run, so that none can stop running unseen."""
    assert len(NAMES) >= RUN


def test_program_that_cannot_reach_its_expected_solution_is_inert() -> None:
    """`ho_rule03_test01` is inert as it starts.

    Its expected file is no program (rules without lets, a comma missing) and shows a state that cannot be
    reached: `reset` needs an "INVOKE", which only `proof` makes, from a "COMPLETED" beside it; but `proof`
    stands inside "RESET" and "COMPLETED" outside, and nothing takes "RESET" apart before `reset` has reacted.
    """
    before = solvent.hocl.load(FOLDER / f"{NOT_A_PROGRAM}.hocl").solution()
    assert final(NOT_A_PROGRAM) == solvent.hocl.show(before)
