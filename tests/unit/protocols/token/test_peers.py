"""Raymond's tree and Naimi and Tréhel's: case by case, and in every order of events of small worlds."""

from __future__ import annotations

from typing import Any

import pytest

from solvent.protocols.machine import (
    Event,
    Machine,
    NodeId,
    Report,
    Requested,
    SetTimer,
    Step,
    TimerFired,
)
from solvent.protocols.token.messages import Acquire, Granted, Release
from solvent_lab.checker import Model, Verdict, World, check
from solvent_lab.token_peers import NaimiTrehel, Raymond

ACQUIRE, RELEASE = Requested(Acquire()), Requested(Release())
DONE = "done"


# ------------------------------------------------------------------------------------------------ in every order


class Busy:
    """A node whose user keeps the token for a while, and wants it again so often."""

    def __init__(self, machine: Machine[Any], again: int) -> None:
        self.machine = machine
        self.again = again

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[Any]:
        """Start the node."""
        state, effects = self.machine.start(saved, life)
        return (state, self.again), effects

    def step(self, state: Any, event: Event) -> Step[Any]:
        """Release the token some time after it was granted, and ask for it again."""
        inner, again = state
        if not isinstance(event, TimerFired):
            inner, effects = self.machine.step(inner, event)
        else:
            inner, effects = self.machine.step(inner, RELEASE)
            effects = (Report(DONE), *effects)
            if again:
                again -= 1
                inner, more = self.machine.step(inner, ACQUIRE)
                effects = (*effects, *more)
        if any(isinstance(effect, Report) and isinstance(effect.outcome, Granted) for effect in effects):
            effects = (*effects, SetTimer("use", 1))
        return (inner, again), effects


def observe(ghost: tuple[int, int], _node: NodeId, outcome: Any) -> tuple[int, int]:
    """Count who has the token, and how often somebody got it."""
    using, served = ghost
    return (using - 1, served) if outcome == DONE else (using + 1, served + 1)


def at_most_one_has_the_token(world: World) -> bool:
    """Look whether two users have it."""
    return 0 <= world.ghost[0] <= 1


@pytest.mark.parametrize("peer,nodes,again,states", [
    (Raymond, 3, 1, 526),
    (Raymond, 5, 0, 6_331),
    (NaimiTrehel, 3, 1, 813),
    (NaimiTrehel, 4, 0, 1_386),
])  # fmt: skip
def test_in_every_order_one_has_the_token_at_a_time_and_all_get_it(
    peer: type[Raymond | NaimiTrehel], nodes: int, again: int, states: int
) -> None:
    """All nodes want the token, once or twice: never do two have it, and everybody gets it in the end."""

    def all_are_served(world: World) -> bool:
        return bool(world.ghost == (0, nodes * (1 + again)))

    model = Model(
        machines=tuple(Busy(peer(NodeId(node), is_instant=False), again) for node in range(nodes)),
        requests=tuple((node, Acquire()) for node in range(nodes)),
        ghost=(0, 0),
        observe=observe,
        invariants=(at_most_one_has_the_token,),
        goal=all_are_served,
    )
    result = check(model)
    assert (result.verdict, result.states) == (Verdict.HOLDS, states)
