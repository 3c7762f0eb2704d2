"""What a process knows that survives the death of others."""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.protocols.elmp.repair.messages import Ballot, Survivor
from solvent.protocols.elmp.state import ElmpState
from solvent.protocols.machine import NodeId, Step, Value

FIRST: Ballot = (0, NodeId(-1))
"""The epoch in which everybody begins."""


class Mustering(Value, frozen=True, gc=False):
    """A repair that this process makes."""

    ballot: Ballot
    waiting: frozenset[NodeId]
    survivors: tuple[Survivor, ...]


class SurvivingState(Value, frozen=True, gc=False):
    """One process."""

    inner: ElmpState
    epoch: Ballot = FIRST
    #: The last ballot that was answered; while it is not the epoch, the process has stopped.
    promised: Ballot = FIRST
    dead: frozenset[NodeId] = frozenset()
    mustering: Mustering | None = None
    #: Messages of the epoch to come, with their senders; and what users wanted and timers did while it had stopped.
    early: tuple[tuple[NodeId, Any], ...] = ()
    wishes: tuple[Any, ...] = ()

    @property
    def is_stopped(self) -> bool:
        """Whether a repair is under way."""
        return self.promised != self.epoch


SurvivingStep: TypeAlias = Step[SurvivingState]

__all__ = ["FIRST", "Mustering", "SurvivingState", "SurvivingStep"]
