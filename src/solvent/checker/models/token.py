"""Small worlds of the token: two to four nodes, each of which wants it once, in every order.

The goal is that everybody has been served. From every state it must be reachable, and no fair run may go round
without serving somebody. Searches are cheap: in some worlds they may be lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.checker.model import Model, Network
from solvent.protocols.machine import NodeId
from solvent.protocols.token import broken
from solvent.protocols.token.invariants import SAFETY
from solvent.protocols.token.messages import Gimme, NotHere, Token
from solvent.protocols.token.node import Ring
from solvent.protocols.token.state import TokenConfig
from solvent.protocols.token.vocabulary import Acquire, Granted

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.checker.world import World


def _standard(world: World) -> World:
    """Give stamps their ranks: only which came first matters, and the token counts its visits for ever."""
    seen: set[int] = set()

    def note(stamp: int) -> int:
        seen.add(stamp)
        return stamp

    _stamped(world, note)
    ranks = {stamp: rank for rank, stamp in enumerate(sorted(stamp for stamp in seen if stamp >= 0))}
    if all(stamp == rank for stamp, rank in ranks.items()):
        return world
    return _stamped(world, lambda stamp: ranks.get(stamp, stamp))


def _stamped(world: World, name: Callable[[int], int]) -> World:
    nodes = []
    for local in world.nodes:
        state = replace(local.state, stamp=name(local.state.stamp))
        if state.token is not None:
            state = replace(state, token=replace(state.token, visits=name(state.token.visits)))
        delayed = tuple((sender, replace(one, stamp=name(one.stamp))) for sender, one in state.delayed)
        nodes.append(replace(local, state=replace(state, delayed=delayed)))
    channels = tuple(tuple(_message(item, name) for item in items) for items in world.channels)
    return replace(world, nodes=tuple(nodes), channels=channels)


def _message(item: Any, name: Callable[[int], int]) -> Any:
    if isinstance(item, Token):
        return replace(item, visits=name(item.visits))
    if isinstance(item, Gimme | NotHere):
        return replace(item, stamp=name(item.stamp))
    return item


def _observe(ghost: tuple[int, ...], node: NodeId, outcome: Any) -> tuple[int, ...]:
    """Count who was served how often."""
    if isinstance(outcome, Granted):
        return tuple(times + (number == node) for number, times in enumerate(ghost))
    return ghost


def _invariant(check: Callable[..., str | None]) -> Callable[[World], str | None]:
    def holds(world: World) -> str | None:
        return check(world.states, [message for _, _, message in world.messages()])

    holds.__name__ = check.__name__
    return holds


def token(
    size: int, *, title: str = "", machine: type[Ring] = Ring, doubles: int = 0, wanting: int | None = None, **how: Any
) -> Model:
    """Build a model of a ring of so many nodes, of which the last `wanting` want the token once."""
    wanting = size if wanting is None else wanting
    configs = [TokenConfig(NodeId(node), size, used_bits=0, **how) for node in range(size)]
    served = tuple(int(node < size - wanting) for node in range(size))
    return Model(
        machines=tuple(machine(config) for config in configs),
        title=title,
        requests=tuple((node, Acquire()) for node in range(size - wanting, size)),
        network=Network(duplicates=doubles),
        ghost=served,
        observe=_observe,
        invariants=tuple(_invariant(check) for check in SAFETY),
        goal=lambda world: all(world.ghost),
        canonical=_standard,
    )


MODELS: dict[str, Callable[[], Model]] = {
    "ring-2": lambda: token(2, protocol="ring", title="a plain ring of two"),
    "ring-3": lambda: token(3, protocol="ring", title="a plain ring of three"),
    "binary-2": lambda: token(2, title="search by halving, two nodes"),
    "binary-3": lambda: token(3, title="search by halving, three nodes"),
    "binary-4": lambda: token(4, wanting=2, title="search by halving, four nodes, two want it"),
    "inverse-4": lambda: token(4, wanting=2, clean_up="inverse", title="back along the path of the search"),
    "no-clean-up-4": lambda: token(4, wanting=2, clean_up="none", title="obsolete traps send the token in vain"),
    "directed-4": lambda: token(4, wanting=2, is_directed=True, title="the requester asks node after node itself"),
    "one-search-4": lambda: token(4, wanting=2, has_one_search=True, title="one search passed on at a time"),
}

BROKEN: dict[str, Callable[[], Model]] = {
    "trap-is-token": lambda: token(2, machine=broken.TrapIsToken, title="T3: a search is taken for the token"),
    "keeps-it": lambda: token(4, machine=broken.KeepsIt, title="who lends it has it still"),
    "never-returns": lambda: token(4, machine=broken.NeverReturns, title="who borrowed it loses it"),
}
