"""How sure a mean over runs is."""

from __future__ import annotations

import pytest

from solvent_lab.experiments.token.measurement import Measured, estimate
from solvent_lab.simulator.token import Setup, simulate


def test_one_run_says_nothing_about_certainty() -> None:
    """A single value has no interval."""
    assert estimate([4.0]) == (4.0, 0.0)


def test_an_interval_is_student_s() -> None:
    """The half width of two values 1 apart is 12.706 standard errors of a half; equal values have none."""
    found = estimate([1.0, 2.0])
    assert found.mean == 1.5
    assert found.half == pytest.approx(12.706 * 0.5)
    assert (found.low, found.high) == (found.mean - found.half, found.mean + found.half)
    assert estimate([3.0, 3.0, 3.0]).half == 0


def test_many_runs_are_surer_than_few() -> None:
    """The interval narrows with more runs, and goes on doing so where the table ends."""
    halves = [estimate([0.0, 1.0] * count).half for count in range(1, 20)]
    assert halves == sorted(halves, reverse=True)


def test_a_cell_gives_means_with_intervals_and_maxima() -> None:
    """Means are of runs, each counting once; of maxima the greatest counts."""
    setup = Setup(nodes=8, gap=4, requests=40)
    outcomes = [simulate(setup, seed) for seed in (1, 2, 3)]
    cell = Measured(setup=setup, seed=1, outcomes=outcomes)
    assert cell.runs == 3
    assert cell.requests == sum(outcome.requests for outcome in outcomes)
    assert cell.responsiveness.mean == pytest.approx(sum(outcome.responsiveness for outcome in outcomes) / 3)
    assert cell.wait.half > 0
    assert cell.messages.mean > cell.searches.mean > 0
    assert cell.steps_per_grant.mean == pytest.approx(4, rel=0.5)
    assert cell.max_wait == max(outcome.max_wait for outcome in outcomes)
    assert cell.max_responsiveness <= cell.max_wait
    assert cell.max_one_other <= cell.max_others
