"""One step of a process while it is being made: the state taken apart, and the effects so far.

What a process does is divided over classes that build on each other, one file each: the queue (`queue`), the token and
the claims that it lets in (`holding`), the exchange of seats (`exchange`), requests (`request`), departures
(`departure`), insertions (`insertion`), the shape of the tree (`balance`); `process` puts them together. Each of them
works on a desk: parts of the state lie here, are changed, and become a state again at the end of the step. Nobody
outside sees a desk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import msgspec
from msgspec.structs import astuple

from solvent.protocols.elmp.messages import Own, Seat, Waiting
from solvent.protocols.elmp.state import Departure, ElmpState, Idle
from solvent.protocols.machine import Effect, Effects, NodeId, Report, Send

if TYPE_CHECKING:
    from solvent.protocols.elmp.messages import Given, Ref
    from solvent.protocols.elmp.process import Elmp
    from solvent.protocols.elmp.state import ElmpConfig, Gathering, Phase, Place, Swap, Use
    from solvent.protocols.elmp.vocabulary import Data

IDLE = Idle()


class Desk(msgspec.Struct, eq=False, gc=False):
    """The parts of a process's state during one step.

    They are taken out of the state and put together again all at once, by their order, since every message comes by
    here.
    """

    me: NodeId
    config: ElmpConfig
    effects: list[Effect]
    #: Whether the size of the tree below, or whether to tell it, may have changed in this step.
    is_reshaped: bool
    #: The children as they are now, if anybody has looked.
    _children: dict[NodeId, tuple[int, int]] | None
    #: As in a seat.
    parent: NodeId | None
    _below: tuple[tuple[NodeId, int, int], ...]
    told: tuple[int, int]
    queue: list[Waiting]
    ranks: int
    turns: int
    tail: Ref | None
    untold: tuple[Given, ...]
    #: As in a state.
    phase: Phase
    _seat: Seat
    rank: int
    asks: int
    places: tuple[Place, ...]
    uses: tuple[Use, ...]
    used: int
    is_listed: bool
    swap: Swap | None
    gathering: Gathering | None
    departure: Departure | None
    keeps: int | None
    stored: Data | None
    timed: tuple[int, ...]
    early: tuple[tuple[NodeId, Any], ...]
    latest: int

    @classmethod
    def of(cls, machine: Elmp, state: ElmpState) -> Self:
        """Begin a step."""
        desk = cls(machine.node, machine.config, [], False, None, *astuple(state.seat), *astuple(state))
        desk.queue = list(desk.queue)
        return desk

    def sit(self, seat: Seat) -> None:
        """Take a seat, with all that waits there."""
        self.is_reshaped = True
        self._children = None
        self.parent, self._below, self.told, queue, self.ranks, self.turns, self.tail, self.untold = astuple(seat)
        self.queue = list(queue)

    def seat(self, *, queue: list[Waiting]) -> Seat:
        """Give the seat as it is, but for what waits."""
        if self._children is not None:
            self._below = tuple(sorted([(node, *size) for node, size in self._children.items()]))
        return Seat(self.parent, self._below, self.told, tuple(queue), self.ranks, self.turns, self.tail, self.untold)

    def finish(self) -> tuple[ElmpState, Effects]:
        """Give the step that was made."""
        seat = self.seat(queue=self.queue)
        return ElmpState(self.phase, seat, *astuple(self)[_AFTER_SEAT:]), tuple(self.effects)

    # -------------------------------------------------------------------------------------------------- children

    @property
    def children(self) -> dict[NodeId, tuple[int, int]]:
        """Give the children with the sizes of the trees below them; most steps do without."""
        if self._children is None:
            self._children = {node: (height, weight) for node, height, weight in self._below}
        return self._children

    @children.setter
    def children(self, children: dict[NodeId, tuple[int, int]]) -> None:
        self._children = children

    @property
    def is_leaf(self) -> bool:
        """Whether there are no children."""
        return not (self._below if self._children is None else self._children)

    def has_child(self, node: NodeId) -> bool:
        """Say whether a process is a child."""
        if self._children is not None:
            return node in self._children
        for one in self._below:  # noqa: SIM110 - half as long as `any`
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
        if self.is_leaf:
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


_AFTER_SEAT = Desk.__struct_fields__.index("_seat") + 1

__all__ = ["IDLE", "Desk"]
