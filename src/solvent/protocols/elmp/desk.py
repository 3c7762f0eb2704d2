"""One step of a process while it is being made: the state taken apart, and the effects so far.

What a process does is divided over classes that build on each other, one file each: the queue (`queue`), the token and
the claims that it lets in (`holding`), the exchange of seats (`exchange`), requests (`request`), departures
(`departure`), insertions (`insertion`), the shape of the tree (`balance`); `process` puts them together. Each of them
works on a desk: parts of the state lie here, are changed, and become a state again at the end of the step. Nobody
outside sees a desk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.elmp.messages import Own, Seat, Waiting
from solvent.protocols.elmp.state import Departure, ElmpState, Idle
from solvent.protocols.machine import Effect, Effects, NodeId, Report, Send

if TYPE_CHECKING:
    from solvent.protocols.elmp.process import Elmp

IDLE = Idle()


class Desk:
    """The parts of a process's state during one step."""

    __slots__ = (
        "_children",
        "_seat",
        "asks",
        "config",
        "departure",
        "early",
        "effects",
        "gathering",
        "is_listed",
        "is_reshaped",
        "keeps",
        "latest",
        "me",
        "parent",
        "phase",
        "places",
        "queue",
        "rank",
        "ranks",
        "stored",
        "swap",
        "tail",
        "timed",
        "told",
        "turns",
        "untold",
        "used",
        "uses",
    )

    def __init__(self, machine: Elmp, state: ElmpState) -> None:
        self.me = machine.node
        self.config = machine.config
        self.effects: list[Effect] = []
        self.phase = state.phase
        self.rank = state.rank
        self.asks = state.asks
        self.places = state.places
        self.latest = state.latest
        self.uses = state.uses
        self.used = state.used
        self.is_listed = state.is_listed
        self.swap = state.swap
        self.gathering = state.gathering
        self.departure = state.departure
        self.keeps = state.keeps
        self.stored = state.stored
        self.timed = state.timed
        self.early = state.early
        self.sit(state.seat)
        #: Whether the size of the tree below, or whether to tell it, may have changed in this step.
        self.is_reshaped = False

    def sit(self, seat: Seat) -> None:
        """Take a seat, with all that waits there."""
        self.is_reshaped = True
        self._seat = seat
        self._children: dict[NodeId, tuple[int, int]] | None = None
        self.parent = seat.parent
        self.told = seat.told
        self.queue = list(seat.queue)
        self.ranks, self.turns, self.tail, self.untold = seat.ranks, seat.turns, seat.tail, seat.untold

    def seat(self, *, queue: list[Waiting]) -> Seat:
        """Give the seat as it is, but for what waits."""
        children = self._seat.children
        if self._children is not None:
            children = tuple(sorted([(node, *size) for node, size in self._children.items()]))
        return Seat(self.parent, children, self.told, tuple(queue), self.ranks, self.turns, self.tail, self.untold)

    def state(self) -> ElmpState:
        """Put the parts together again."""
        return ElmpState(
            self.phase,
            self.seat(queue=self.queue),
            self.rank,
            self.asks,
            self.places,
            self.uses,
            self.used,
            self.is_listed,
            self.swap,
            self.gathering,
            self.departure,
            self.keeps,
            self.stored,
            self.timed,
            self.early,
            self.latest,
        )

    def finish(self) -> tuple[ElmpState, Effects]:
        """Give the step that was made."""
        return self.state(), tuple(self.effects)

    # -------------------------------------------------------------------------------------------------- children

    @property
    def children(self) -> dict[NodeId, tuple[int, int]]:
        """Give the children with the sizes of the trees below them; most steps do without."""
        if self._children is None:
            self._children = {node: (height, weight) for node, height, weight in self._seat.children}
        return self._children

    @children.setter
    def children(self, children: dict[NodeId, tuple[int, int]]) -> None:
        self._children = children

    @property
    def is_leaf(self) -> bool:
        """Whether there are no children."""
        return not (self._seat.children if self._children is None else self._children)

    def has_child(self, node: NodeId) -> bool:
        """Say whether a process is a child."""
        if self._children is not None:
            return node in self._children
        for one in self._seat.children:  # noqa: SIM110 - half as long as `any`
            if one[0] == node:
                return True
        return False

    # ------------------------------------------------------------------------------------------------- questions

    @property
    def is_root(self) -> bool:
        """Whether this is the root, and is not about to be it no longer."""
        return self.ranks > 0

    @property
    def is_idle(self) -> bool:
        """Whether the next in the queue may be taken."""
        return type(self.phase) is Idle

    def size(self) -> tuple[int, int]:
        """Give the height and the weight of the tree below, this process among it."""
        if not self.children:
            return 0, 1
        return 1 + max(size[0] for size in self.children.values()), 1 + sum(size[1] for size in self.children.values())

    # ------------------------------------------------------------------------------------------------ small steps

    def send(self, to: NodeId, message: Any) -> None:
        """Say something to a process."""
        self.effects.append(Send(to, message))

    def report(self, outcome: Any) -> None:
        """Tell the user something."""
        self.effects.append(Report(outcome))

    def enqueue(self, what: str, handle: int = 0) -> None:
        """Queue up for something of one's own."""
        self.queue.append((self.me, Own(what, handle)))

    def wants(self, what: str) -> bool:
        """Whether something of one's own is in the queue."""
        return any(type(message) is Own and message.what == what for _, message in self.queue)

    def forget(self, sender: NodeId, kind: type) -> None:
        """Take what somebody said out of the queue."""
        self.queue = [one for one in self.queue if one[0] != sender or type(one[1]) is not kind]

    def of_seat(self) -> list[Waiting]:
        """Give what waits for whoever has this seat."""
        return [one for one in self.queue if type(one[1]) is not Own]

    def of_own(self) -> list[Waiting]:
        """Give what this process itself waits for, whatever its seat."""
        return [one for one in self.queue if type(one[1]) is Own and one[1].what != "rebuild"]

    def reset_departure(self) -> None:
        """Have no heir any more, and look for one again."""
        if self.departure is not None:
            self.departure = Departure(is_entrusted=self.departure.is_entrusted)

    def rename_child(self, old: NodeId, new: NodeId) -> None:
        """Let another process have a child's seat."""
        self.children[new] = self.children.pop(old)
        self.is_reshaped = True


__all__ = ["IDLE", "Desk"]
