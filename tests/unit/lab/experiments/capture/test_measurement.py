"""From what happened in runs to averaged curves."""

from __future__ import annotations

from solvent_lab.experiments.capture.measurement import AROUND, averaged, condensed, gathered
from solvent_lab.experiments.reproduction import Cell
from solvent_lab.simulator.capture import Happened, Outcome, RuleOfTypes, Setup, Turned

SETUP = Setup(nodes=4, molecules=(6,), program=(RuleOfTypes((0, 0), (1,)), RuleOfTypes((1, 1))))
OUTCOME = Outcome(
    steps=5,
    messages=99,
    is_finished=True,
    seconds=0.5,
    happened=[Happened(2, 0, 1, 1), Happened(2, 0, 2, 1), Happened(5, 1, 0, 2)],
    turned=[
        Turned(0, 3, "optimistic", 1),
        Turned(3, 1, "pessimistic", 0),
        Turned(3, 2, "pessimistic", 1),
        Turned(4, 0, "pessimistic", 0),
        Turned(4, 1, "dormant", 0),
        Turned(5, 3, "pessimistic", 1),
        Turned(5, 3, "optimistic", 0),
    ],
    rules=[0, 0, 0, 0],
    useful=[10],
    useless=[89],
)


def cell(setup: Setup, runs: int) -> Cell:
    """Make a cell that is never run."""
    return Cell("x", setup, runs, lambda _seed: None, 1.0)


def test_reactions_and_turns_become_curves() -> None:
    """A curve has a value for each step: reactions in it, nodes after it."""
    curves = condensed(SETUP, OUTCOME)
    assert curves.reactions == [[0, 0, 2, 0, 0, 0], [0, 0, 0, 0, 0, 1]]
    assert curves.modes == [[4, 4, 4, 2, 1, 1], [0, 0, 0, 2, 2, 2], [0, 0, 0, 0, 1, 1]]
    assert curves.rules == [[3, 3, 3, 2, 2, 3], [1, 1, 1, 2, 2, 1]]


def test_a_switch_there_and_back_in_one_step_is_none() -> None:
    """Nodes that stop being optimistic are counted by how they stand after a step."""
    assert condensed(SETUP, OUTCOME).switches == [0, 0, 0, 2, 1, 0]


def test_molecules_follow_from_reactions() -> None:
    """What rules take and make gives the molecules of each type after each step."""
    measured = gathered(cell(SETUP, 1), 1, [condensed(SETUP, OUTCOME)])
    assert measured.molecules == [[6, 6, 2, 2, 2, 2], [0, 0, 2, 2, 2, 0]]


def test_the_switch_of_a_run_is_measured() -> None:
    """From the last step with nearly all optimistic to the first with hardly any, and its middle."""
    turned = [Turned(at, node, "pessimistic", 0) for node, at in enumerate((10, 12, 12, 14))]
    curves = condensed(SETUP, OUTCOME._replace(turned=turned, steps=20))
    measured = gathered(cell(SETUP, 2), 1, [curves, curves])
    assert (measured.switch_steps, measured.switch_at) == ([14 - 9, 14 - 9], [12, 12])
    assert measured.switches[AROUND - 2 : AROUND + 3] == [1, 0, 2, 0, 1]
    assert len(measured.switches) == 2 * AROUND + 1


def test_runs_that_have_ended_go_on_as_they_ended() -> None:
    """An average ends with the slowest run; the others keep their last value, or add nothing."""
    assert averaged([[4, 2], [8, 4, 0]], goes_on=True) == [6, 3, 1]
    assert averaged([[4, 2], [8, 4, 1]]) == [6, 3, 0.5]
    assert averaged([[], [8]]) == [4]
