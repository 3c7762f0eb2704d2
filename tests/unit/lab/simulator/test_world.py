"""A running simulation as invariants see it, and what is said when one does not hold."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.protocols.machine import NodeId
from solvent_lab.simulator.environment import Environment
from solvent_lab.simulator.timed import TimedRun
from solvent_lab.simulator.world import InvariantBroken
from tests.simulation.machines import Player


def nobody_catches_often(world: Any) -> str | None:
    """Hold until somebody has caught five balls."""
    often = [node.number for node in world.nodes if node.state >= 5]
    return f"node {often[0]} did" if often else None


def broken(**options: Any) -> InvariantBroken:
    """Run until the invariant breaks."""
    run = TimedRun([Player(1, 50), Player()], Environment(), seed=17, invariants=[nobody_catches_often], **options)
    with pytest.raises(InvariantBroken) as caught:
        run.run()
    return caught.value


def test_the_error_says_what_when_and_how_to_see_it_again() -> None:
    """The sentence, the moment, what was found, the last events as a diagram and the command are all shown."""
    error = broken(replay="solvent lab simulate tennis --seed 17", max_history=3)
    assert (error.exit_code, error.seed, error.events, error.at_ms) == (1, 17, 9, 9.0)
    shown = error.show().splitlines()
    assert shown[0] == ("error[P401]: after 9 events, at 9.000 ms, it is not so that nobody catches often (node 1 did)")
    assert shown[-1] == "  the same run again: solvent lab simulate tennis --seed 17"
    arrows = [line for line in shown if "Ball(" in line]
    assert [line.split()[0] for line in arrows] == ["7", "8", "9"]
    assert ">" in arrows[0]
    assert "<" in arrows[1]


@pytest.mark.parametrize("every, events", [(1, 9), (4, 12), (100, 0)])
def test_checking_may_be_rarer(every: int, events: int) -> None:
    """Invariants that cost much are looked at after every k-th event only."""
    run = TimedRun(
        [Player(1, 50), Player()], Environment(), seed=1, invariants=[nobody_catches_often], check_every=every
    )
    if events:
        with pytest.raises(InvariantBroken) as caught:
            run.run()
        assert caught.value.events == events
    else:
        run.run()


def false_is_enough(world: Any) -> bool:
    """Break at once."""
    return world.now < 0


def true_is_well(_world: Any) -> bool:
    """Hold."""
    return True


def test_invariants_may_give_a_truth_value() -> None:
    """True and None mean that all is well; False, without a word, that it is not, from the very start."""
    run = TimedRun([Player()], Environment(), seed=1, invariants=[true_is_well, false_is_enough])
    with pytest.raises(InvariantBroken, match=r"not so that false is enough\n"):
        run.run()
    assert run.nodes[NodeId(0)].state == 0
