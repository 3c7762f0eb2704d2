"""What a small system is at one moment: its nodes, what is under way between them, and what may still happen to it.

A world is a frozen, hashable value. Models look at it in their invariants, goals and answers, and give another one
where they rename things (`Model.canonical`). The checker itself works on numbers that stand for its parts (see
`packed_worlds`) and builds a world only where a model wants to see one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from solvent.protocols.machine import Effects, NodeId, PeerRestarted, Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_Seen = TypeVar("_Seen")


class Missed(PeerRestarted, frozen=True, gc=False):
    """The notice that a peer started anew while this node was down: it is read in this node's next life."""


class Local(Value, frozen=True, gc=False):
    """One node as it stands."""

    #: The machine's state; nothing while the node is down.
    state: Any
    #: Names of the timers that are running, in order.
    timers: tuple[str, ...] = ()
    #: `Ask` and `Choose` effects that have no answer yet, the oldest first.
    questions: tuple[Any, ...] = ()
    #: Effects of the last step that are still to be carried out; a crash before that forgets them.
    unfinished: Effects = ()
    #: The records saved, in order; they survive a crash.
    saved: tuple[Any, ...] = ()
    #: Zero, and one more after each restart.
    life: int = 0
    is_up: bool = True


class Budget(Value, frozen=True, gc=False):
    """How many faults may still happen."""

    losses: int = 0
    duplicates: int = 0
    crashes: int = 0


class World(Value, frozen=True, gc=False):
    """A whole system at one moment."""

    nodes: tuple[Local, ...]
    #: What is under way, the oldest first: from node a to node b at `a * len(nodes) + b`. A `PeerRestarted` travels
    #: as itself among the messages.
    channels: tuple[tuple[Any, ...], ...]
    #: What the model has folded out of all reports.
    ghost: Any
    #: External requests that have not happened yet.
    requests: tuple[tuple[NodeId, Any], ...]
    budget: Budget

    @property
    def states(self) -> tuple[Any, ...]:
        """The machines' states, by node; None where a node is down."""
        return tuple([one.state for one in self.nodes])

    def channel(self, sender: int, to: int) -> tuple[Any, ...]:
        """Return what is under way from one node to another, the oldest first, notices of restarts among it."""
        return self.channels[sender * len(self.nodes) + to]

    def messages(self) -> Iterator[tuple[NodeId, NodeId, Any]]:
        """Go through all messages under way: sender, recipient, message."""
        count = len(self.nodes)
        for slot, items in enumerate(self.channels):
            if items:
                sender, to = NodeId(slot // count), NodeId(slot % count)
                for item in items:
                    if not isinstance(item, PeerRestarted):
                        yield sender, to, item

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is under way and no node waits for an answer."""
        return not any(self.channels) and not any(one.questions or one.unfinished for one in self.nodes)


def seen_once(look: Callable[[World], _Seen]) -> Callable[[World], _Seen]:
    """Return `look`, computed once for a world that several functions of a model look at one after the other."""
    last: tuple[World, _Seen] | None = None

    def shared(world: World) -> _Seen:
        nonlocal last
        if last is None or last[0] is not world:
            last = world, look(world)
        return last[1]

    return shared


def invariants_over(
    look: Callable[[World], tuple[Any, ...]], checks: Iterable[Callable[..., str | None]]
) -> tuple[Callable[[World], str | None], ...]:
    """Return invariants of worlds, of the same names, from checks of what `look` finds in a world."""
    seen = seen_once(look)

    def over(check: Callable[..., str | None]) -> Callable[[World], str | None]:
        def holds(world: World) -> str | None:
            return check(*seen(world))

        holds.__name__ = check.__name__
        return holds

    return tuple(map(over, checks))


__all__ = ["Budget", "Local", "Missed", "World", "invariants_over", "seen_once"]
