"""Simulations of ELMP: what may be simulated, what is counted, and how counts are fitted."""

from __future__ import annotations

from math import log2
from typing import Any

import pytest

from solvent.errors import Misuse
from solvent_lab.simulator.elmp import Setup, fitted, simulate


@pytest.mark.parametrize(
    "wrong",
    [
        {"operation": "dance"},
        {"processes": 0},
        {"together": 0},
        {"count": 0},
        {"order": 1},
        {"exchange_every": 0},
        {"slack": 0.5},
        {"operation": "leave", "processes": 5, "count": 5},
    ],
)
def test_impossible_setups_are_refused(wrong: dict[str, Any]) -> None:
    """What cannot be simulated is said to be so."""
    with pytest.raises(Misuse) as caught:
        Setup(**wrong)
    assert caught.value.code == "P315"


def test_one_request_of_a_neighbour_is_counted() -> None:
    """Two processes: request, token, news, two seats; whoever has the token asks nobody."""
    outcome = simulate(Setup(processes=2, count=40), seed=1)
    kinds = outcome.kinds
    assert kinds["Climb"] == kinds["Token"] == kinds["Rise"] == kinds["Upper"] == kinds["Lower"]
    assert outcome.messages == 5 * kinds["Climb"]
    assert outcome.operations == 40


def test_fits_tell_lines_from_logarithms() -> None:
    """What grows as the logarithm fits it exactly, and what grows as a line fits that."""
    sizes = (8, 64, 512)
    grows = fitted(sizes, [3 * log2(size) + 1 for size in sizes])
    assert (round(grows.over_log.left, 9), round(grows.over_log.slope, 9)) == (0, 3)
    assert grows.over_n.left > 1
    assert round(fitted(sizes, [2.0 * size for size in sizes]).over_n.left, 9) == 0


def test_processes_that_join_first_do_not_count() -> None:
    """A tree may have grown before anything is counted; its insertions are no operations."""
    grown = simulate(Setup(processes=40, count=10, grown=20, is_lazy=True), seed=1)
    assert (grown.operations, grown.processes) == (10, 40)
    assert "Hello" not in grown.kinds
    joined = simulate(Setup(processes=40, count=5, grown=20, operation="join"), seed=1)
    assert (joined.operations, joined.processes, joined.kinds["Hello"]) == (5, 45, 5)
    with pytest.raises(Misuse, match="grown"):
        Setup(processes=4, grown=4)
