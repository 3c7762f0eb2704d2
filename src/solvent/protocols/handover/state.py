"""What one process of a space knows, and how it is set up."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from msgspec.structs import astuple

from solvent.protocols.elmp.state import ElmpConfig, ElmpState, Out
from solvent.protocols.handover.messages import Agreement, Attendance, Renew
from solvent.protocols.handover.vocabulary import Ballot
from solvent.protocols.machine import Effect, Effects, NodeId, NodeState, Report, Send, Value

if TYPE_CHECKING:
    from collections.abc import Mapping


class Role(IntEnum):
    """How far a process has come in its life."""

    OUTSIDE = 0
    #: Has said whom it turns to, and is not let in yet.
    ENTERING = 1
    INSIDE = 2
    #: Has left, or was expelled: names are never used again.
    OVER = 3


class Gate(IntEnum):
    """What to do with a message of an epoch."""

    TAKE = 0
    #: It belongs to the epoch that is about to begin.
    KEEP = 1
    DROP = 2


class Mustering(Value, frozen=True, gc=False):
    """A repair that this process makes."""

    ballot: Ballot
    #: Who was mustered.
    asked: frozenset[NodeId]
    #: In the order of the nodes.
    attendances: tuple[Attendance, ...] = ()
    #: Whose agreement is still to come, once the renewal has been said; none: it has not.
    agreeing: frozenset[NodeId] | None = None

    def answers(self) -> dict[NodeId, Attendance]:
        """Return who has answered what."""
        return {one.node: one for one in self.attendances}


NOBODY: Ballot = (-1, NodeId(-1))
"""The epoch of who takes no part."""
ABSENT = ElmpState(Out())
"""What a process knows of a resource that it has nothing to do with."""


class SpaceState(NodeState, gc=False):
    """One process. It is written to inside a step only, on a copy; no mapping is ever changed in place."""

    role: Role
    epoch: Ballot = NOBODY
    #: The last ballot that was answered; while it is not the epoch, the process has stopped.
    promised: Ballot = NOBODY
    #: Who takes part, and where; who is dead for certain, of these; who seems to be.
    members: Mapping[NodeId, str] = {}
    dead: frozenset[NodeId] = frozenset()
    suspects: frozenset[NodeId] = frozenset()
    #: A newcomer's: whom it turned to.
    contact: NodeId | None = None
    #: New processes that turned to this one and are not known to be in, and where they are.
    knocks: Mapping[NodeId, str] = {}
    #: The founder's: who has not noted yet that one comes or goes.
    noting: Mapping[NodeId, frozenset[NodeId]] = {}
    #: Who goes, of these; and who was let go, and has not said that it has gone.
    goers: frozenset[NodeId] = frozenset()
    leavers: frozenset[NodeId] = frozenset()
    #: Whether this process wants to go, and whether it has told that it has left all resources, or that it is the
    #: founder and another one is to be.
    is_going: bool = False
    has_resigned: bool = False
    #: Who has said that it cannot make a repair.
    unfit: frozenset[NodeId] = frozenset()
    mustering: Mustering | None = None
    #: Whose death whoever makes a repair is not certain of.
    doubted: frozenset[NodeId] = frozenset()
    #: Whether the application has been asked what data it has, and has not answered.
    is_asked: bool = False
    #: What this process has agreed to and is not yet to do; and all that it has agreed to since its epoch began.
    agreed: Renew | None = None
    agreements: tuple[Agreement, ...] = ()
    #: Messages of the epoch to come, with their senders; and what users wanted while it had stopped.
    early: tuple[tuple[NodeId, Any], ...] = ()
    wishes: tuple[Any, ...] = ()
    watched: tuple[NodeId, ...] = ()
    #: The resources of which data was released in any epoch: if none of it is left, it was lost.
    released: frozenset[str] = frozenset()
    #: What it knows of each resource that it takes part in, or did.
    resources: Mapping[str, ElmpState] = {}

    def __hash__(self) -> int:
        return hash(tuple([frozenset(one.items()) if type(one) is dict else one for one in astuple(self)]))

    @property
    def is_running(self) -> bool:
        """Whether it takes part, and no repair is under way."""
        return self.promised == self.epoch and self.role == Role.INSIDE

    @property
    def is_waiting(self) -> bool:
        """Whether it waits to go on with what it has agreed to.

        So it does also when it has answered a later muster, of a process that is no part of that: if all others
        have agreed, too, that one cannot make a repair any more.
        """
        agreed = self.agreed
        return agreed is not None and (
            self.promised == agreed.ballot or all(node != self.promised[1] for node, _ in agreed.members)
        )

    @property
    def founder(self) -> NodeId:
        """Who made the epoch."""
        return self.epoch[1]

    @property
    def shortage(self) -> tuple[int, int] | None:
        """How many of how many answer, if that is too few to go on without the others (`quorum`); else nothing."""
        members = frozenset(self.members)
        # Who makes the repair knows best who is silent, and tells the others.
        silent = (self.suspects if self.mustering is not None else self.suspects | self.doubted) & members - self.dead
        answering = len(members - self.dead - silent)
        is_enough = 2 * answering > len(members) or (2 * answering == len(members) and self.founder not in silent)
        return None if self.is_running or not silent or is_enough else (answering, len(members))


SpaceStep: TypeAlias = tuple[SpaceState, Effects]


class SpaceConfig(Value, frozen=True, gc=False):
    """How a space is kept."""

    #: How the locks are kept.
    locks: ElmpConfig = ElmpConfig()
    #: Whether a repair without those that are only silent takes more than half of all. If not, a cut network
    #: becomes two spaces.
    needs_majority: bool = True
    #: Whether applications are asked what data they have.
    asks_inventory: bool = True
    #: How many others each process watches.
    watched: int = 2


class Step(msgspec.Struct, eq=False, gc=False):
    """One step while it is being made: a copy of the state, which is written to, and the effects so far."""

    me: NodeId
    address: str
    config: SpaceConfig
    state: SpaceState
    effects: list[Effect]
    #: What came too early, and what users wanted meanwhile, of epochs that have just begun.
    kept: tuple[tuple[tuple[tuple[NodeId, Any], ...], tuple[Any, ...]], ...] = ()
    #: Whether a lock has taken the event, which changes nothing of who is watched.
    is_for_lock: bool = False

    def send(self, to: NodeId, message: Any) -> None:
        """Send a message to a process."""
        self.effects.append(Send(to, message))

    def report(self, outcome: Any) -> None:
        """Report an outcome to the user."""
        self.effects.append(Report(outcome))

    def become(self, new: SpaceState) -> None:
        """Replace the whole state; whoever looks at it sees the new one."""
        for name in new.__struct_fields__:
            setattr(self.state, name, getattr(new, name))


__all__ = ["ABSENT", "NOBODY", "Gate", "Mustering", "Role", "SpaceConfig", "SpaceState", "SpaceStep", "Step"]
