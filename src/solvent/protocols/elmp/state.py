"""What one process knows, and how it is set up.

The phase says what a process does in the tree, in the paper's words; what it does in the queue is said by its places
there, and the two are independent of each other: a process that waits for the token is `Idle` as soon as its request is
in the queue.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from solvent.protocols.elmp.messages import Child, Entry, Given, Ref, Unlink, Upper, Waiting
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Data
from solvent.protocols.machine import Effect, Effects, NodeId, NodeState, Report, Send, Value

ENTRUSTED = -1
"""The handle of who fetches the data for another that wants to leave; users have handles from zero."""

# ------------------------------------------------------------------------------------------------------- phases


class Out(Value, frozen=True, gc=False):
    """Takes no part: has not joined, or has left."""


class Joining(Value, frozen=True, gc=False):
    """Has said hello to a process that it knows."""

    known: NodeId


class Idle(Value, frozen=True, gc=False):
    """Not involved in anything; takes what comes next in its queue."""


IDLE = Idle()


class Requesting(Value, frozen=True, gc=False):
    """Its own request is on its way to the root, or the root has told nobody yet."""

    number: int
    #: Whether it need not hear of its place before somebody comes after it.
    can_wait: bool = False
    #: The turn, if somebody else than the root has named it.
    turn: int = 0


class Busy(Value, frozen=True, gc=False):
    """Held for requests that came by."""

    #: Requesters, and the numbers of their requests. Who builds the tree anew is held for itself, with number zero.
    requests: tuple[tuple[NodeId, int], ...]
    #: The root's, when it changes seats: the path of the requester.
    path: tuple[NodeId, ...] = ()


class Exiting(Value, frozen=True, gc=False):
    """Leaves, or is about to change seats with its heir."""


class Blocked(Value, frozen=True, gc=False):
    """Held by a neighbour that leaves, or by its parent for a part of the tree that is built anew."""

    by: NodeId


Phase: TypeAlias = Out | Joining | Idle | Requesting | Busy | Exiting | Blocked


# ---------------------------------------------------------------------------------------------------------- parts


class Place(Value, frozen=True, gc=False):
    """A place in the queue of those who wait for the token."""

    #: What the root has given; zero: the request is under way.
    turn: int
    #: Whose claim it is; none: nobody's (any more).
    handle: int | None
    claim: Claim = WHOLE
    #: Whether the token is here: for the claim, or it rests, if there is none.
    has_token: bool = False
    #: Of a place that has the token: what the token says.
    data: Data | None = None
    active: tuple[Entry, ...] = ()
    predecessor: Ref | None = None
    next: Ref | None = None
    #: Who comes behind `next`, with the turns after that one, as far as it is known here and not there; None: who has
    #: `next` has been told, or will be.
    trail: tuple[NodeId, ...] | None = None
    #: Whether who comes next has yet to say that it knows this place for its predecessor.
    is_linking: bool = False
    #: Whether the predecessor has been told to pass this place over.
    is_unlinking: bool = False
    #: Of a place that is nobody's: whether it waits for the token all the same, to hand the data on with it.
    is_kept: bool = False
    #: Whether the root has been asked for another last place.
    is_surrendered: bool = False
    #: A wish to be passed over of who comes next, which came before word of that.
    early: Unlink | None = None

    @property
    def is_last(self) -> bool:
        """Whether nobody is known to come next."""
        return self.turn > 0 and self.next is None


class Use(Value, frozen=True, gc=False):
    """A claim that was let in, since the token has come: it holds, or waits for earlier ones to be over."""

    #: Counted over all claims of the process.
    number: int
    handle: int
    claim: Claim
    turn: int
    #: What the token said when it came.
    data: Data | None = None
    is_held: bool = False
    #: Claims that it still waits for.
    awaits: tuple[Ref, ...] = ()
    #: Who waits for it.
    askers: tuple[Ref, ...] = ()


class Swap(Value, frozen=True, gc=False):
    """An exchange of seats that is under way."""

    other: NodeId
    is_upper: bool
    #: Children that have not yet said that they follow the other one.
    waiting: frozenset[NodeId]
    #: Of who had the upper seat: whether it has been handed over.
    is_standing: bool = False
    #: Of who had the lower seat: the upper one, if it came before all children followed.
    upper: Upper | None = None


class Gathering(Value, frozen=True, gc=False):
    """A part of the tree is built anew."""

    #: Children that have not yet said who is below them.
    waiting: frozenset[NodeId]
    members: tuple[NodeId, ...]
    #: Whether it begins here.
    is_top: bool = False


class Departure(Value, frozen=True, gc=False):
    """The wish to leave."""

    #: The child that is to take this seat, and whether it stands by.
    heir: NodeId | None = None
    is_standing: bool = False
    #: Whether somebody has been told to fetch the data from here.
    is_entrusted: bool = False


class ElmpState(NodeState, gc=False):
    """One process. It is written to inside a step only, on a copy; every value in it is immutable."""

    phase: Phase
    #: The seat, as in `Seat`; the root alone has given ranks.
    parent: NodeId | None = None
    children: tuple[Child, ...] = ()
    told: tuple[int, int] = (0, 1)
    queue: tuple[Waiting, ...] = ()
    ranks: int = 0
    turns: int = 0
    tail: Ref | None = None
    untold: tuple[Given, ...] = ()
    #: The paper's ID: of two that leave and need each other, the lower goes first.
    rank: int = 0
    #: How many requests it has made.
    asks: int = 0
    #: In the order of their turns, one under way last.
    places: tuple[Place, ...] = ()
    uses: tuple[Use, ...] = ()
    #: How many claims were let in, and whether the token may still tell of one of them.
    used: int = 0
    is_listed: bool = False
    swap: Swap | None = None
    gathering: Gathering | None = None
    departure: Departure | None = None
    #: The version of the data that is here and nowhere else.
    keeps: int | None = None
    #: The last version that was here, and may still be.
    stored: Data | None = None
    #: Handles of claims that are withdrawn if they are not granted in time.
    timed: tuple[int, ...] = ()
    #: What came too early: senders and messages, for when the exchange or the rebuilding is over.
    early: tuple[tuple[NodeId, Any], ...] = ()
    #: The last turn that was known here.
    latest: int = 0


ElmpStep: TypeAlias = tuple[ElmpState, Effects]


class ElmpConfig(Value, frozen=True, gc=False):
    """How the tree is kept in shape."""

    #: How many children a process has at most.
    order: int = 2
    #: A new process gets a seat near the one that it knows; else the root looks for the best one.
    is_lazy: bool = False
    #: The root changes seats with a requester whenever so many requests were made; 1: each time, as in the paper.
    exchange_every: int = 1
    #: How many places the token tells of at most.
    max_trail: int = 64
    #: A tree below a process is built anew if its height is over so many times the logarithm of its weight.
    slack: float = 1.2


class Step(msgspec.Struct, eq=False, gc=False):
    """One step while it is being made: a copy of the state, which is written to, and the effects so far."""

    me: NodeId
    config: ElmpConfig
    state: ElmpState
    effects: list[Effect]
    #: Whether the size of the tree below, or whether to tell it, may have changed in this step.
    is_reshaped: bool = False
    #: Whether the process has become idle, and what came too early is to be taken.
    has_settled: bool = False

    def send(self, to: NodeId, message: Any) -> None:
        """Send a message to a process."""
        self.effects.append(Send(to, message))

    def report(self, outcome: Any) -> None:
        """Report an outcome to the user."""
        self.effects.append(Report(outcome))


__all__ = [
    "ENTRUSTED",
    "IDLE",
    "Blocked",
    "Busy",
    "Departure",
    "ElmpConfig",
    "ElmpState",
    "ElmpStep",
    "Exiting",
    "Gathering",
    "Idle",
    "Joining",
    "Out",
    "Phase",
    "Place",
    "Requesting",
    "Step",
    "Swap",
    "Use",
]
