"""Small worlds of the little machines, as the tests of the checker share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent_lab.checker import Crashes, Model
from tests.unit.lab.checker.machines import Client, Guesser, Holder, Polite, RingNode, Server, Wanter

if TYPE_CHECKING:
    from solvent_lab.checker import World


def _count_inside(ghost: int, _node: int, outcome: str) -> int:
    return ghost + (1 if outcome == "in" else -1)


def at_most_one_node_is_inside(world: World) -> str | None:
    """Give what is wrong."""
    return None if world.ghost <= 1 else f"{world.ghost} nodes are inside"


def ring(count: int, *, is_hasty: bool = False, **options: Any) -> Model:
    """Nodes that share a token; each wants to go inside once."""
    return Model(
        machines=tuple(RingNode(node, count, is_hasty=is_hasty) for node in range(count)),
        title=f"{count} nodes that pass a token",
        ghost=0,
        observe=_count_inside,
        invariants=(at_most_one_node_is_inside,),
        requests=tuple((node, "in") for node in range(count)),
        goal=lambda world: not world.requests and world.ghost == 0 and not any(one.wants for one in world.states),
        **options,
    )


def query(*, retries: bool = False, **options: Any) -> Model:
    """A client and a server."""
    return Model(
        machines=(Client(retries=retries), Server()),
        goal=lambda world: world.states[0] == "done",
        names=("client", "server"),
        **options,
    )


def door(*, chooses: bool = False, **options: Any) -> Model:
    """Two polite ones at a door."""
    return Model(
        machines=(Polite(0, chooses=chooses), Polite(1, chooses=chooses)),
        goal=lambda world: "through" in world.states,
        names=("Ann", "Bob"),
        **options,
    )


def at_most_one_has_the_thing(world: World) -> bool:
    """Say whether nobody else has it."""
    return bool(world.ghost <= 1)


def promise(*, wanters: int = 2, within_step: bool = False, crashes: int = 1, **holder: bool) -> Model:
    """A thing that several want, at a holder that may crash."""
    return Model(
        machines=(Holder(**holder), *[Wanter() for _ in range(wanters)]),
        ghost=0,
        observe=lambda ghost, _node, _outcome: ghost + 1,
        invariants=(at_most_one_has_the_thing,),
        crashes=Crashes(count=crashes, nodes=(0,), within_step=within_step),
        goal=lambda world: all(state != "wanting" for state in world.states),
    )


def guess(*numbers: int, **options: Any) -> Model:
    """A guesser and what it may be told."""
    return Model(machines=(Guesser(),), answers=lambda _world, _node, _question: numbers, **options)
