"""The whole of a running simulation, as invariants see it.

The names are those of the checker's world, so an invariant that looks at `nodes`, `states`, `messages()` and `ghost`
holds for both. Here the world is no value but a window on the run: it is never copied, and nobody may change it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent_lab.simulator.clock_events import Arrival

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from solvent.protocols.machine import NodeId
    from solvent_lab.simulator.clock import Clock
    from solvent_lab.simulator.environment import Environment


class Node:
    """One node as it stands."""

    __slots__ = ("is_up", "life", "number", "saved", "state", "timers")

    def __init__(self, number: NodeId) -> None:
        self.number = number
        #: The machine's state; nothing while the node is down.
        self.state: Any = None
        #: The records saved, in order; they survive a crash.
        self.saved: list[Any] = []
        #: Zero, and one more after each restart.
        self.life = 0
        self.is_up = True
        #: The running timers, each with its ticket at the clock.
        self.timers: dict[str, int] = {}


class World:
    """All nodes, what is under way between them, and what the environment knows."""

    def __init__(self, nodes: Sequence[Node], clock: Clock, environment: Environment) -> None:
        self.nodes = nodes
        self._clock = clock
        #: What is known from reports: the environment itself.
        self.ghost = environment

    @property
    def now(self) -> float:
        """The time, in milliseconds."""
        return self._clock.now

    @property
    def states(self) -> tuple[Any, ...]:
        """The machines' states, by node; None where a node is down."""
        return tuple([node.state for node in self.nodes])

    def messages(self) -> Iterator[tuple[NodeId, NodeId, Any]]:
        """Go through all messages under way: sender, recipient, message."""
        for item in self._clock.items():
            if type(item) is Arrival:
                yield item.sender, item.to, item.message


Invariant: TypeAlias = Callable[[Any], bool | str | None]
"""A function named as a sentence: None or True if the world is as the name says, else False or what is wrong."""


def broken_among(invariants: Iterable[Invariant], world: Any) -> tuple[str, str] | None:
    """Give the first invariant that does not hold, as a sentence, and what it says is wrong."""
    for invariant in invariants:
        found = invariant(world)
        if found is not None and found is not True:
            return invariant.__name__.replace("_", " "), found or ""
    return None


__all__ = ["Invariant", "Node", "World", "broken_among"]
