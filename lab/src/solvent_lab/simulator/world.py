"""The whole of a run on a clock: its nodes, what is still to happen, and the invariants that look at both.

The names of `World` are those of the checker's world, so an invariant that looks at `nodes`, `states`, `messages()` and
`ghost` holds for both. Here the world is no value but a window on the run: it is never copied or changed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.errors import SolventError
from solvent.protocols.machine import Event, NodeId, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from solvent_lab.simulator.clock import Clock
    from solvent_lab.simulator.environment import Environment


# ----------------------------------------------------------------------------------------- what is still to happen


class Arrival(Value, frozen=True, gc=False):
    """A message is under way."""

    sender: NodeId
    to: NodeId
    message: Any
    #: The sender's life when it was sent.
    life: int
    #: The number of the event on which it was sent.
    sent_in: int


class Timer(Value, frozen=True, gc=False):
    """A timer runs."""

    node: NodeId
    name: str


class Reply(Value, frozen=True, gc=False):
    """An answer that takes time."""

    node: NodeId
    event: Event


class Request(Value, frozen=True, gc=False):
    """Somebody is going to want something of a node."""

    node: NodeId
    request: Any
    #: Whether it is a program in the node that wants it, and dies with it.
    is_from_within: bool = False


class Notice(Value, frozen=True, gc=False):
    """The news that a node has restarted, on its way to another."""

    peer: NodeId
    to: NodeId
    #: The life that the peer began.
    life: int


class Restart(Value, frozen=True, gc=False):
    """A node that is down will come back."""

    node: NodeId


class CrashDue(Value, frozen=True, gc=False):
    """A node, not drawn yet, is going to crash."""


class Doom(Value, frozen=True, gc=False):
    """A node is going to crash while it carries out effects; if it has none to carry out before, then now."""

    node: NodeId


class PartitionDue(Value, frozen=True, gc=False):
    """The network is going to part."""


class Healing(Value, frozen=True, gc=False):
    """The partition will be over."""


# ------------------------------------------------------------------------------------------------------ the world


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
    """Return the first invariant that does not hold, as a sentence, and what it says is wrong."""
    for invariant in invariants:
        found = invariant(world)
        if found is not None and found is not True:
            return invariant.__name__.replace("_", " "), found or ""
    return None


class InvariantBroken(SolventError):
    """An invariant does not hold in a simulated run; shows the last events, and how to play the run again."""

    exit_code = 1

    def __init__(
        self, invariant: str, found: str, *, at_ms: float, events: int, seed: int, replay: str = "", drawn: str = ""
    ) -> None:
        said = f" ({found})" if found else ""
        super().__init__("P401", f"after {events:,} events, at {at_ms:.3f} ms, it is not so that {invariant}{said}")
        self.invariant = invariant
        self.found = found
        self.at_ms = at_ms
        self.events = events
        self.seed = seed
        self.replay = replay
        self.drawn = drawn

    def details(self) -> Sequence[str]:
        """Show the last events, and the line that plays the run again."""
        lines = ["the last events:", *self.drawn.splitlines()] if self.drawn else []
        return *lines, f"the same run again: {self.replay or f'seed={self.seed}'}"
