"""What a node of the paper's protocol saves, where crashes are survived."""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.protocols.capture.vocabulary import AttemptId, MoleculeId
from solvent.protocols.machine import NodeId, Value


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
    """The program reacted among this node's own molecules."""

    removed: tuple[MoleculeId, ...]
    added: tuple[tuple[MoleculeId, Any], ...]
    reactions: int


CaptureRecord: TypeAlias = Lent | Freed | Removed | Consumed | Rewritten
