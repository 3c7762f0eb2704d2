"""`check`: every order of events of a small ring, with a crash at any moment."""

from __future__ import annotations

from typing import Any

from machine import State, Turns, TurnsStep

from solvent.protocols.machine import Event, NodeId, Save
from solvent_lab.checker import Asking, Crashes, Model, World, check


class Hasty(Turns):
    """As it must not be: passes the token on before it has saved that the turn is over."""

    def step(self, state: State, event: Event) -> TurnsStep:
        """Do the same, but save last."""
        after, effects = super().step(state, event)
        return after, tuple(sorted(effects, key=lambda effect: isinstance(effect, Save)))


def at_most_one_node_works(world: Any) -> str | None:
    """Say who works beside whom; the world is the checker's, or the simulator's with links around the machines."""
    inner = [getattr(state, "inner", state) for state in world.states]
    working = [number for number, state in enumerate(inner) if state is not None and state.is_working]
    return f"nodes {working} are at work" if len(working) > 1 else None


def is_over(world: World) -> bool:
    """Say whether the last turn is over and nothing is left to do."""
    return world.is_quiet and all(node.is_up for node in world.nodes) and max(one.turn for one in world.states) == 4


def ring(machine: type[Turns] = Turns) -> Model:
    """Three nodes, four turns, one crash."""
    return Model(
        machines=tuple(machine(NodeId(number), nodes_count=3, turns_count=4) for number in range(3)),
        answers=lambda _world, _node, _question: (None,),
        asking=Asking.MEANWHILE,
        crashes=Crashes(count=1, within_step=True, lose_messages=False),
        invariants=(at_most_one_node_works,),
        goal=is_over,
    )


def main(*, is_broken: bool, **_: int) -> int:
    """Check the ring, or the broken one."""
    result = check(ring(Hasty if is_broken else Turns))
    print(f"{result.states} states, {result.transitions} moves: {result.verdict}")
    for violation in result.violations:
        print(violation.trace.drawn(width=80))
        print(f"violated: {violation.property} ({violation.message})")
    return 1 if result.violations else 0
