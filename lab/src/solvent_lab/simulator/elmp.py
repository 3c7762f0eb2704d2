"""Counts the messages of ELMP: what a request, a departure and an insertion cost, by the number of processes.

    outcome = simulate(Setup(processes=1000, operation="request", together=1, count=500), seed=1)
    outcome.messages_per_operation, outcome.kinds, outcome.height

Runs are in discrete steps: what is sent in one step arrives in the next. `together` says how many operations are under
way at a time: each time one is done another process begins one. With 1 nobody meets anybody; with as many as there are
processes everybody always wants something. Who is next is drawn from the seed, and so is through whom a process joins.
Messages of a process to itself cost nothing and are not counted.

`fitted` compares two ways in which counts may grow.
"""

from __future__ import annotations

from collections import Counter
from math import log2, sqrt
from random import Random
from statistics import fmean, linear_regression
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.errors import Misuse, SolventError
from solvent.protocols.elmp.process import Elmp, seats
from solvent.protocols.elmp.state import ElmpConfig, ElmpState
from solvent.protocols.elmp.vocabulary import Astray, Granted, Join, Joined, Leave, Left, Release, Request
from solvent.protocols.machine import NodeId
from solvent_lab.simulator.discrete import DiscreteRun
from solvent_lab.simulator.environment import Ending, Environment

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

OPERATIONS = ("request", "leave", "join", "mixed")
_CODE = "P315"
_PATIENCE = 1_000_000
"""Steps after which a run that has not ended never will."""


class NothingHappens(SolventError):
    """Somebody wants something, and nothing happens any more."""

    exit_code = 1


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """What is simulated."""

    processes: int = 100
    #: `request` (and release at once), `leave`, `join`; `mixed`: half are requests, a quarter each of the others.
    operation: str = "request"
    #: How many operations are under way at a time.
    together: int = 1
    #: How many operations there are in all.
    count: int = 1000
    #: How the tree is kept in shape, and how often root and requester change seats: see `ElmpConfig`.
    order: int = 2
    is_lazy: bool = False
    slack: float = 1.2
    exchange_every: int = 1
    #: How many of the processes join first, one after the other, which does not count: so the tree gets its shape.
    grown: int = 0

    def __post_init__(self) -> None:
        if self.operation not in OPERATIONS:
            raise Misuse(_CODE, f"there is no operation `{self.operation}`", hint=f"there are {', '.join(OPERATIONS)}")
        for name in ("processes", "together", "count", "exchange_every"):
            if getattr(self, name) < 1:
                raise Misuse(_CODE, f"`{name}` is {getattr(self, name)}, and must be 1 at least")
        if not 0 <= self.grown < self.processes:
            raise Misuse(_CODE, f"`grown` is {self.grown}, and of {self.processes} processes one must be there before")
        if self.order < 2:
            raise Misuse(_CODE, f"`order` is {self.order}: a tree has two children at least where it forks")
        if not self.slack >= 1.0:
            raise Misuse(_CODE, f"`slack` is {self.slack}: no tree is lower than the logarithm of its weight")
        if self.operation == "leave" and self.count >= self.processes:
            raise Misuse(_CODE, f"of {self.processes} processes {self.count} cannot leave and leave one behind")


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in one run."""

    operations: int
    steps: int
    messages: int
    #: Messages by their names.
    kinds: dict[str, int]
    #: The tree's height in the end, and how many processes are in it.
    height: int
    processes: int
    #: How often the most and the least served process was served, of those that request.
    most: int
    fewest: int

    @property
    def messages_per_operation(self) -> float:
        """All messages, those that carry the token among them."""
        return self.messages / self.operations


class Users(Environment):
    """Whoever wants something of the processes."""

    def __init__(self, setup: Setup, chance: Random) -> None:
        self.run: DiscreteRun | None = None
        self.done = 0
        self.served: Counter[NodeId] = Counter()
        self._setup = setup
        self._chance = chance
        self._begun = 0
        #: How many are still to join before anything counts, and what is to be done then.
        self._growing = setup.grown
        self.has_grown: Callable[[], None] = lambda: None
        #: Who takes part and wants nothing, and who is outside; in both each may be drawn.
        there = setup.processes - setup.grown
        self._idle = [NodeId(node) for node in range(there)]
        self._outside = [NodeId(node) for node in range(there, setup.processes + _outside(setup))]
        self._members = list(self._idle)
        self._place = {node: place for place, node in enumerate(self._members)}

    def begin(self) -> None:
        """Begin as many operations as there are to be at a time; or let processes join first."""
        if self._growing:
            self._begin_one()
            return
        for _ in range(min(self._setup.together, self._setup.count)):
            self._begin_one()

    def told(self, node: NodeId, outcome: Any, _at: int) -> None:
        """Hear that an operation is done; the next one begins."""
        match outcome:
            case Granted(handle=handle):
                self.served[node] += 1
                self._want(node, Release(handle))
                self._idle.append(node)
            case Left():
                self._outside.append(node)
            case Joined():
                self._idle.append(node)
                self._place[node] = len(self._members)
                self._members.append(node)
            case Astray():
                self._outside.append(node)
                self._begun -= 1
                self._begin_one()
                return
            case _:
                return
        if self._growing:
            self._growing -= 1
            if self._growing:
                self._begin_one()
            else:
                self._begun = 0
                self.has_grown()
                self.begin()
            return
        self.done += 1
        self._begin_one()

    def is_over(self) -> bool:
        """Never end before all is quiet: what follows from the last operation counts."""
        return False

    def _begin_one(self) -> None:
        """Begin one operation, unless there were enough or nobody can."""
        setup = self._setup
        if self._begun >= setup.count and not self._growing:
            return
        kind = "join" if self._growing else setup.operation
        if kind == "mixed":
            kind = self._chance.choice(("request", "request", "leave", "join"))
        # Somebody always stays, and who is outside may be nobody.
        if kind == "leave" and len(self._members) <= max(2, setup.together):
            kind = "join"
        if kind == "join" and not self._outside:
            kind = "request"
        pool = self._outside if kind == "join" else self._idle
        if not pool:
            return
        self._begun += 1
        node = self._drawn(pool)
        if kind == "request":
            self._want(node, Request())
        elif kind == "join":
            self._want(node, Join(self._chance.choice(self._members)))
        else:
            self._forget(node)
            self._want(node, Leave())

    def _drawn(self, pool: list[NodeId]) -> NodeId:
        place = self._chance.randrange(len(pool))
        pool[place], pool[-1] = pool[-1], pool[place]
        return pool.pop()

    def _forget(self, node: NodeId) -> None:
        """Let nobody join through a process that leaves."""
        place, last = self._place.pop(node), self._members.pop()
        if last != node:
            self._members[place] = last
            self._place[last] = place

    def _want(self, node: NodeId, request: Any) -> None:
        assert self.run is not None, "users need a run before they want anything"
        self.run.request(node, request)


def _outside(setup: Setup) -> int:
    """Return how many processes may still join."""
    return setup.count if setup.operation in ("join", "mixed") else 0


def simulate(setup: Setup, seed: int) -> Outcome:
    """Run once, until all operations are done and everything is quiet."""
    chance = Random(seed)
    users = Users(setup, chance)
    kinds: Counter[str] = Counter()

    def count(sender: NodeId, to: NodeId, message: Any, _step: int) -> None:
        if sender != to:
            kinds[type(message).__name__] += 1

    run = users.run = DiscreteRun(machines_of(setup), users, seed=chance.getrandbits(64), observe=count)
    users.has_grown = kinds.clear
    users.begin()
    ending = run.run(_PATIENCE)
    if ending is not Ending.QUIET or users.done < setup.count:
        raise NothingHappens("P404", f"{users.done} of {setup.count} operations are done, and nothing happens any more")
    states: list[ElmpState] = run.states
    root = next(state for state in states if state.ranks)
    served = [users.served[NodeId(node)] for node in range(setup.processes)]
    return Outcome(
        operations=users.done,
        steps=run.step,
        messages=sum(kinds.values()),
        kinds=dict(kinds),
        height=1 + max((child[1] for child in root.children), default=-1),
        processes=1 + sum(child[2] for child in root.children),
        most=max(served),
        fewest=min(served),
    )


def machines_of(setup: Setup) -> list[Elmp]:
    """Make the processes, in the lowest tree, and those outside."""
    config = ElmpConfig(
        order=setup.order, is_lazy=setup.is_lazy, slack=setup.slack, exchange_every=setup.exchange_every
    )
    there, in_all = setup.processes - setup.grown, setup.processes + _outside(setup)
    nodes = tuple(NodeId(node) for node in range(there))
    found = [Elmp(node, config, seat=seat, rank=node + 1) for node, seat in seats(nodes, setup.order).items()]
    return found + [Elmp(NodeId(node), config) for node in range(there, in_all)]


class Line(msgspec.Struct, frozen=True):
    """The line that is nearest to some points, and the root of the mean square of what is left over."""

    at_zero: float
    slope: float
    left: float


class Fit(msgspec.Struct, frozen=True):
    """How well counts fit a line over the logarithm of n, and one over n."""

    #: Over the logarithm; its slope says how many messages more there are when n doubles.
    over_log: Line
    over_n: Line


def fitted(sizes: Sequence[int], counts: Sequence[float]) -> Fit:
    """Fit counts by least squares in both ways."""
    return Fit(_line([log2(size) for size in sizes], counts), _line([float(size) for size in sizes], counts))


def _line(xs: Sequence[float], ys: Sequence[float]) -> Line:
    slope, at_zero = linear_regression(xs, ys)
    return Line(at_zero, slope, sqrt(fmean((y - at_zero - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))))
