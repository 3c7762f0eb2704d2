"""What one process of a space knows, and how it is set up.

What changes with every message of a lock, `resources`, lies apart from what changes when processes come, go and die.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeAlias

from immutables import Map

from solvent.protocols.elmp.state import ElmpConfig, ElmpState
from solvent.protocols.handover.messages import Agreement, Attendance, Renew
from solvent.protocols.handover.vocabulary import Ballot
from solvent.protocols.machine import NodeId, Step, Value


class Role(IntEnum):
    """How far a process has come in its life."""

    OUTSIDE = 0
    #: Has said whom it turns to, and is not let in yet.
    ENTERING = 1
    INSIDE = 2
    #: Has left, or was expelled: names are never used again.
    OVER = 3


class Mustering(Value, frozen=True, gc=False):
    """A repair that this process makes."""

    ballot: Ballot
    #: Who was mustered.
    asked: frozenset[NodeId]
    attendances: Map[NodeId, Attendance] = Map()
    #: Whose agreement is still to come, once the renewal has been said; none: it has not.
    agreeing: frozenset[NodeId] | None = None


NOBODY: Ballot = (-1, NodeId(-1))
"""The epoch of who takes no part."""


class Standing(Value, frozen=True, gc=False):
    """What a process knows of the others."""

    role: Role
    epoch: Ballot = NOBODY
    #: The last ballot that was answered; while it is not the epoch, the process has stopped.
    promised: Ballot = NOBODY
    #: Who takes part, and where; who is dead for certain, of these; who seems to be.
    members: Map[NodeId, str] = Map()
    dead: frozenset[NodeId] = frozenset()
    suspects: frozenset[NodeId] = frozenset()
    #: A newcomer's: whom it turned to.
    contact: NodeId | None = None
    #: New processes that turned to this one and are not known to be in, and where they are.
    knocks: Map[NodeId, str] = Map()
    #: The founder's: who has not noted yet that one comes or goes.
    noting: Map[NodeId, frozenset[NodeId]] = Map()
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


class SpaceState(Value, frozen=True, gc=False):
    """One process."""

    standing: Standing
    #: What it knows of each resource that it takes part in, or did.
    resources: Map[str, ElmpState] = Map()


SpaceStep: TypeAlias = Step[SpaceState]


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


__all__ = ["NOBODY", "Mustering", "Role", "SpaceConfig", "SpaceState", "SpaceStep", "Standing"]
