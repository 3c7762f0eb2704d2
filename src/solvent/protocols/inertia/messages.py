"""What nodes say to find out that all is inert, what a node is told of itself, and what it reports.

`Probe`, `Announce` and `Confirm` are cheap: they may be lost, doubled or overtaken, and none of them counts as
activity. `Awake` is counted, as every message of the computation is: the link carries it without fail, and its sender
is active until it was taken.
"""

from __future__ import annotations

from typing import TypeAlias

from solvent.protocols.machine import Message, Value

Round: TypeAlias = tuple[int, int, int]
"""A round of the probe: the initiator's life, its epoch in that life, the number in that epoch. Later ones are greater.

An epoch ends when a node says that something from outside made it active, or that it came back from a crash.
"""

NEVER: Round = (0, 0, 0)
"""Before every round."""


# ------------------------------------------------------------------------------------------------------ messages


class Probe(Message, frozen=True, gc=False):
    """Goes round the ring, from one passive node to the next, and comes back white if nobody sent anything."""

    round: Round
    #: A round of the same epoch that was complete before this one began, or `NEVER`.
    after: Round
    is_black: bool


class Announce(Message, frozen=True, gc=False):
    """All was inert when this round ended."""

    round: Round


class Confirm(Message, frozen=True, gc=False):
    """The node has heard the announcement, and knows nothing against it."""

    round: Round


class Awake(Message, frozen=True, gc=False):
    """Something from outside made this node active: a user, or its own restart. Counted."""


InertiaMessage: TypeAlias = Probe | Announce | Confirm | Awake
CheapMessage: TypeAlias = Probe | Announce | Confirm


# ------------------------------------------------------------------------------------------------------ requests


class Active(Value, frozen=True, gc=False):
    """The node works now, or waits for an answer, or has sent what is not acknowledged yet."""


class Passive(Value, frozen=True, gc=False):
    """The node does nothing, waits for nothing, and all that it sent was taken."""


class Sent(Value, frozen=True, gc=False):
    """The node has sent a counted message."""


class Roused(Value, frozen=True, gc=False):
    """Something from outside made the node active: no message, no answer it waited for."""


InertiaRequest: TypeAlias = Active | Passive | Sent | Roused


# ------------------------------------------------------------------------------------------------------- reports


class Inert(Value, frozen=True, gc=False):
    """All nodes were inert when this round ended."""

    round: Round


class Settled(Value, frozen=True, gc=False):
    """Every node has confirmed this round's announcement; reported by the initiator alone."""

    round: Round


class Resumed(Value, frozen=True, gc=False):
    """Something from outside ended the inertia of this round."""

    round: Round


__all__ = [
    "NEVER",
    "Active",
    "Announce",
    "Awake",
    "CheapMessage",
    "Confirm",
    "Inert",
    "InertiaMessage",
    "InertiaRequest",
    "Passive",
    "Probe",
    "Resumed",
    "Round",
    "Roused",
    "Sent",
    "Settled",
]
