"""The machine of a node, put together: capture by moving, the directory, detection of inertia, in a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.protocols.capture.moving import IDLE, Kept, MovingConfig, MovingMessage, MovingRecord, moving_node
from solvent.protocols.directory import Ring, directory_node
from solvent.protocols.inertia import detector_node
from solvent.protocols.link import Linked, record_type, wire_type
from solvent.protocols.nodes import Parts, message_type, whole_node

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId

ROUND_PAUSE = 3
"""Milliseconds between two rounds of the probe that finds out whether all is inert: the last thing a run waits for."""
ACK_AFTER = 1
"""Milliseconds until a message is acknowledged that nobody answers; inertia waits for that too."""
MESSAGES: Any = wire_type(message_type(MovingMessage))
RECORDS: Any = record_type(MovingRecord)


def machine_of(node: NodeId, nodes: tuple[NodeId, ...]) -> Linked[Any]:
    """Make the machine of a node."""
    parts = Parts(
        moving_node(MovingConfig(node, confirm=True)),
        directory_node(node, Ring(nodes)),
        detector_node(node, nodes, pause=ROUND_PAUSE),
        is_busy=is_busy,
    )
    return Linked(whole_node(parts), me=node, peers=nodes, ack_after=ACK_AFTER, tells_all_taken=True)


def is_busy(capture: Any) -> bool:
    """Decide whether capture is after something."""
    return bool(capture.phase != IDLE)


def has_begun(saved: tuple[Any, ...]) -> bool:
    """Decide whether a node has saved the molecules it began with."""
    return any(isinstance(record, Kept) for record in saved)


__all__ = ["MESSAGES", "RECORDS", "has_begun", "is_busy", "machine_of"]
