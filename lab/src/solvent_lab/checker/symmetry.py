"""Nodes that change places: worlds that differ only in which node is which.

`permuted` gives such a world, for a `Model.variants`. It is right only where no machine compares nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from solvent.protocols.machine import NodeId, PeerRestarted
from solvent_lab.checker.world import Local, World

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def permuted(world: World, places: Sequence[int], rename: Callable[[Any], Any]) -> World:
    """Give the world in which node n is at place `places[n]`; `rename` does the same to nodes named inside a value."""
    nodes = range(len(world.nodes))
    origin = [places.index(place) for place in nodes]

    def renamed(items: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(
            type(one)(NodeId(places[one.peer])) if isinstance(one, PeerRestarted) else rename(one) for one in items
        )

    def moved(local: Local) -> Local:
        return msgspec.structs.replace(
            local,
            state=rename(local.state),
            questions=renamed(local.questions),
            unfinished=renamed(local.unfinished),
            saved=renamed(local.saved),
        )

    return World(
        nodes=tuple(moved(world.nodes[origin[place]]) for place in nodes),
        channels=tuple(renamed(world.channel(origin[sender], origin[to])) for sender in nodes for to in nodes),
        ghost=rename(world.ghost),
        requests=tuple((NodeId(places[node]), rename(request)) for node, request in world.requests),
        budget=world.budget,
    )


__all__ = ["permuted"]
