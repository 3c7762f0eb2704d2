"""The state of a link, and the names of its timers."""

from __future__ import annotations

from typing import Any

from solvent.protocols.link.line import Line
from solvent.protocols.machine import NodeId, Value
from solvent.protocols.maps import Map

ACK = "link:ack"
"""Acknowledge what was taken since the timer was set."""
RESEND = "link:resend"
"""Send again what was not taken in time."""
MORE = "link:more"
"""Go on with what waits behind a question."""


class Restart(Value, frozen=True, gc=False):
    """To do: tell the machine inside that a peer is in a new life."""

    peer: NodeId
    life: int


class Deliver(Value, frozen=True, gc=False):
    """To do: give the machine inside the next message of a peer, which came too early and waits."""

    peer: NodeId


class TellAllTaken(Value, frozen=True, gc=False):
    """To do: tell the machine inside that all it sent was taken, if that is still so."""


class LinkState(Value, frozen=True, gc=False):
    """What a link knows, and the machine inside."""

    inner: Any
    life: int = 0
    lines: Map[NodeId, Line] = Map()
    #: Messages of the machine inside that have not been taken: to peers, and to itself.
    unacknowledged: int = 0
    #: Events, and what came of them, that wait until a question is answered.
    todo: tuple[Any, ...] = ()
    #: Peers that the timer for acknowledgements is to look at; it runs while there are any.
    owing: tuple[NodeId, ...] = ()
    #: Whether the timer for sending again runs.
    is_resending: bool = False


__all__ = ["ACK", "MORE", "RESEND", "Deliver", "LinkState", "Restart", "TellAllTaken"]
