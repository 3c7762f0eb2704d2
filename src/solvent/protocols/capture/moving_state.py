"""What nodes say, save and know when molecules are captured by moving them; `moving` tells how it works."""

from __future__ import annotations

from typing import Any, TypeAlias

from immutables import Map

from solvent.protocols.capture.vocabulary import AttemptId, MoleculeId, RuleId
from solvent.protocols.machine import Message, NodeId, Step, Value

LIFE_SHIFT = 28
"""Molecules, attempts and gifts are counted within a life; the number of the life stands above these bits."""
NODE_SHIFT = 40
"""And in the number of a molecule, that of the node where it came about above these, so that none is given twice."""

Molecules: TypeAlias = tuple[tuple[MoleculeId, Any], ...]


# ---------------------------------------------------------------------------------------------------- messages


class Take(Message, frozen=True, gc=False):
    """A requester wants these molecules, or equal ones, all or none."""

    attempt: AttemptId
    molecules: tuple[MoleculeId, ...]
    #: Their values where known, in the same order.
    values: tuple[Any, ...]
    #: How many reactions the requester has done: its place in the total order, with its id.
    reactions: int


class Given(Message, frozen=True, gc=False):
    """The molecules are the requester's from now on."""

    attempt: AttemptId
    gift: int
    molecules: Molecules


class Refused(Message, frozen=True, gc=False):
    """Not all of the molecules are here, or this node wants them first."""

    attempt: AttemptId


class Confirmed(Message, frozen=True, gc=False):
    """The gift has been saved by its receiver; the giver may forget it."""

    gift: int


MovingMessage: TypeAlias = Take | Given | Refused | Confirmed


# ----------------------------------------------------------------------------------------------------- records


class Kept(Value, frozen=True, gc=False, tag=True):
    """Molecules of this node changed by a reaction."""

    removed: tuple[MoleculeId, ...]
    added: Molecules
    reactions: int


class Gave(Value, frozen=True, gc=False, tag=True):
    """A gift left this node."""

    gift: int
    to: NodeId
    molecules: Molecules


class Got(Value, frozen=True, gc=False, tag=True):
    """A gift arrived at this node."""

    giver: NodeId
    gift: int
    molecules: Molecules


class Closed(Value, frozen=True, gc=False, tag=True):
    """A gift of this node is confirmed."""

    gift: int


MovingRecord: TypeAlias = Kept | Gave | Got | Closed


# ------------------------------------------------------------------------------------------------------- state


class Attempt(Value, frozen=True, gc=False):
    """An attempt that is out: molecules from these holders are on their way, or are refused."""

    number: AttemptId
    rule: RuleId
    #: The part of the combination that this node has itself.
    own: tuple[MoleculeId, ...]
    #: Holders that have not answered yet.
    asked: tuple[NodeId, ...]
    #: What has come for it so far.
    come: tuple[MoleculeId, ...] = ()
    is_refused: bool = False


class Reacting(Value, frozen=True, gc=False):
    """A complete combination whose products are being computed."""

    number: AttemptId
    rule: RuleId
    molecules: Molecules


class Searching(Value, frozen=True, gc=False):
    """A combination has been asked for."""


class Idle(Value, frozen=True, gc=False):
    """Nothing could react when this node last looked."""


Phase: TypeAlias = Attempt | Reacting | Searching | Idle

SEARCHING, IDLE = Searching(), Idle()


class MovingState(Value, frozen=True, gc=False):
    """What a node knows."""

    molecules: Map[MoleculeId, Any]
    phase: Phase = IDLE
    #: Set when something changed while an attempt was out, so that the node looks again before it rests.
    is_woken: bool = False
    reactions: int = 0
    attempts: int = 0
    made: int = 0
    gifts: Map[int, tuple[NodeId, Molecules]] = Map()
    got: Map[tuple[NodeId, int], None] = Map()
    given: int = 0


class MovingConfig(Value, frozen=True, gc=False):
    """How a node goes about it."""

    node: NodeId
    #: The molecules it begins with.
    molecules: Molecules = ()
    #: React on its own molecules at once; else it asks itself for them, which costs what asking others costs. The
    #: paper's model charges two steps for every reaction, and only then can the two be compared.
    is_local: bool = True
    #: Save and confirm gifts, so that crashes lose nothing.
    confirm: bool = False
    #: Tell the program of every molecule that comes or goes.
    tell: bool = True
    #: Rest when nothing can react, until woken; else look again after this many ticks.
    look_again: int = 0
    rule: RuleId = RuleId(0)


MovingStep: TypeAlias = Step[MovingState]
