"""What requesters and holders say to each other, by the paper's names, and what they save.

Every message concerns one molecule and one attempt of its requester; the attempt's number keeps a late answer from
being taken for an answer to the next attempt. Every message also carries its sender's success rate for the rule it
is executing, which is how nodes learn how crowded the solution is.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.protocols.capture.vocabulary import AttemptId, MoleculeId, RuleId
from solvent.protocols.machine import Message, NodeId, Value


class CaptureMessage(Message, frozen=True, gc=False):
    """What all have in common."""

    molecule: MoleculeId
    attempt: AttemptId
    rule: RuleId
    rate: int


class Query(CaptureMessage, frozen=True, gc=False):
    """A pessimist is interested. `reactions`, with its id, is its place in the total order for this attempt."""

    reactions: int


class Commitment(CaptureMessage, frozen=True, gc=False):
    """A pessimist asks for a promise."""


class Fetch(CaptureMessage, frozen=True, gc=False):
    """The molecule, please: an optimist's first word, a pessimist's last."""

    is_optimistic: bool


class GiveUp(CaptureMessage, frozen=True, gc=False):
    """The attempt is over; whatever was promised or lent to it is free."""


class Reaction(CaptureMessage, frozen=True, gc=False):
    """The molecule has been consumed."""


class RespOk(CaptureMessage, frozen=True, gc=False):
    """It is available; in answer to a commitment: it is promised."""


class RespTaken(CaptureMessage, frozen=True, gc=False):
    """It is promised or lent to another."""


class RespRemoved(CaptureMessage, frozen=True, gc=False):
    """It no longer exists."""


class RespMolecule(CaptureMessage, frozen=True, gc=False):
    """Here it is."""

    value: Any


class Doubt(CaptureMessage, frozen=True, gc=False):
    """A holder asks what became of an attempt it lent to, after one of the two has crashed."""


Request: TypeAlias = Query | Commitment | Fetch | GiveUp | Reaction
Reply: TypeAlias = RespOk | RespTaken | RespRemoved | RespMolecule


# ------------------------------------------------------------------------------- records, where crashes are survived


class Lent(Value, frozen=True, gc=False, tag=True):
    """A molecule was sent to an attempt, and is kept until its fate is known."""

    molecule: MoleculeId
    requester: NodeId
    attempt: AttemptId


class Freed(Value, frozen=True, gc=False, tag=True):
    """A lent molecule was given up."""

    molecule: MoleculeId


class Removed(Value, frozen=True, gc=False, tag=True):
    """A lent molecule was consumed."""

    molecule: MoleculeId


class Consumed(Value, frozen=True, gc=False, tag=True):
    """A reaction of this node: the attempt is decided, and what it produced is here."""

    attempt: AttemptId
    consumed: tuple[MoleculeId, ...]
    added: tuple[tuple[MoleculeId, Any], ...]
    reactions: int


class Rewritten(Value, frozen=True, gc=False, tag=True):
    """Other molecules than in the beginning, in the fewest records."""

    removed: tuple[MoleculeId, ...]
    added: tuple[tuple[MoleculeId, Any], ...]
    reactions: int


CaptureRecord: TypeAlias = Lent | Freed | Removed | Consumed | Rewritten
