"""Worlds as short rows of numbers, so that hundreds of thousands fit into memory and compare fast.

Every part of a world (a node as it stands, the contents of a channel, the ghost, what may still happen from outside)
is kept once and has a number; few different parts make many different worlds. A row is

    node 0 ... node n-1 | channel 0->0, 0->1 ... n-1->n-1 | ghost | allowance

and is stored as bytes. A part that has been seen is found by its identity first, because a machine that changes
nothing returns the same object, and hashing a deep value costs more than everything else here.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from solvent.protocols.machine import NodeId, PeerRestarted
from solvent_lab.checker.model import Order
from solvent_lab.checker.world import Budget, Local, Missed, World

if TYPE_CHECKING:
    from solvent_lab.checker.model import Model

Row: TypeAlias = tuple[int, ...]
"""A world, as the numbers of its parts."""

Allowance: TypeAlias = tuple[tuple[int, ...], Budget]
"""What may still happen from outside: numbers of requests, in order, and faults."""

Part = TypeVar("Part")


class Numbered(Generic[Part]):
    """Different values, each kept once, by number."""

    __slots__ = ("_by_identity", "_by_value", "values")

    def __init__(self) -> None:
        self.values: list[Part] = []
        self._by_value: dict[Part, int] = {}
        self._by_identity: dict[int, int] = {}

    def number(self, value: Part) -> int:
        """Return the number of a value; a new one if it has not been seen."""
        known = self._by_identity.get(id(value))
        if known is not None:
            return known
        number = self._by_value.setdefault(value, len(self.values))
        if number == len(self.values):
            # Only what is kept for good may be known by identity: that of anything else could be given again.
            self.values.append(value)
            self._by_identity[id(value)] = number
        return number

    def __getitem__(self, number: int) -> Part:
        return self.values[number]

    def __len__(self) -> int:
        return len(self.values)


class Queues:
    """Contents of channels by number, with what may be done to them; 0 is the empty one."""

    def __init__(self, order: Order) -> None:
        self.items: Numbered[Any] = Numbered()
        #: For each queue: numbers of its items; the items; the numbers of those that may be delivered next.
        self.contents: list[tuple[int, ...]] = [()]
        self.values: list[tuple[Any, ...]] = [()]
        self.fronts: list[tuple[int, ...]] = [()]
        #: For each queue: whether it tells of a restart that its reader should have noticed in this life.
        self.has_notice: list[bool] = [False]
        self._is_fifo = order is Order.FIFO
        self._known: dict[tuple[int, ...], int] = {(): 0}
        self._pushed: dict[tuple[int, int], int] = {}
        self._pulled: dict[tuple[int, int], int] = {}

    def push(self, queue: int, item: int) -> int:
        """Add an item at the end."""
        key = (queue, item)
        after = self._pushed.get(key)
        if after is None:
            after = self._pushed[key] = self._number((*self.contents[queue], item))
        return after

    def pull(self, queue: int, item: int) -> int:
        """Take out an item, the first of its kind."""
        key = (queue, item)
        after = self._pulled.get(key)
        if after is None:
            contents = list(self.contents[queue])
            contents.remove(item)
            after = self._pulled[key] = self._number(tuple(contents))
        return after

    def number(self, items: tuple[Any, ...]) -> int:
        """Return the number of a queue that holds these items."""
        return self._number(tuple(map(self.items.number, items))) if items else 0

    def missed_of(self, queue: int) -> int:
        """Return the queue that only holds the notices of this one, as missed."""
        return self.number(tuple(Missed(one.peer) for one in self.values[queue] if isinstance(one, PeerRestarted)))

    def _number(self, contents: tuple[int, ...]) -> int:
        if not self._is_fifo:
            # Where order does not matter, one order stands for all.
            contents = tuple(sorted(contents))
        known = self._known.get(contents)
        if known is None:
            known = self._known[contents] = len(self.contents)
            values = tuple(self.items[one] for one in contents)
            self.contents.append(contents)
            self.values.append(values)
            self.fronts.append(contents[:1] if self._is_fifo else tuple(dict.fromkeys(contents)))
            self.has_notice.append(any(type(one) is PeerRestarted for one in values))
        return known


class Packing:
    """Turns worlds into rows and rows into worlds."""

    def __init__(self, model: Model) -> None:
        self.nodes_count = len(model.machines)
        self.requests: Numbered[tuple[NodeId, Any]] = Numbered()
        self.locals: Numbered[Local] = Numbered()
        self.queues = Queues(model.network.order)
        self.ghosts: Numbered[Any] = Numbered()
        self.allowances: Numbered[Allowance] = Numbered()
        self.ghost_at = self.nodes_count * (self.nodes_count + 1)
        self.allowance_at = self.ghost_at + 1
        self._bytes = Struct(f"{self.ghost_at + 2}I")
        self.bytes_from_row = self._bytes.pack
        self.row_from_bytes = self._bytes.unpack

    def world(self, row: Row) -> World:
        """Return the world that a row stands for."""
        nodes = self.nodes_count
        locals_, queues = self.locals.values, self.queues.values
        remaining, budget = self.allowances[row[self.allowance_at]]
        return World(
            nodes=tuple([locals_[one] for one in row[:nodes]]),
            channels=tuple([queues[one] for one in row[nodes : self.ghost_at]]),
            ghost=self.ghosts[row[self.ghost_at]],
            requests=tuple([self.requests[one] for one in remaining]),
            budget=budget,
        )

    def row(self, world: World) -> Row:
        """Return the row of a world."""
        # Requests may come in any order, so one order stands for all.
        requests = tuple(sorted(map(self.requests.number, world.requests)))
        return (
            *map(self.locals.number, world.nodes),
            *map(self.queues.number, world.channels),
            self.ghosts.number(world.ghost),
            self.allowances.number((requests, world.budget)),
        )


__all__ = ["Allowance", "Numbered", "Packing", "Queues", "Row"]
