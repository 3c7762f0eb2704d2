"""The machine of a node, put together: a capture protocol, the directory, detection of inertia, in a link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.protocols.directory import Directory, Ring
from solvent.protocols.inertia import Detector
from solvent.protocols.link import Linked, record_type, wire_type
from solvent.protocols.nodes import Node, message_type

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId

PROTOCOLS = ("better", "adaptive", "optimistic", "pessimistic")
ROUND_PAUSE = 3
"""Milliseconds between two rounds of the probe that finds out whether all is inert: the last thing a run waits for."""
ACK_AFTER = 1
"""Milliseconds until a message is acknowledged that nobody answers; inertia waits for that too."""


class Machinery:
    """A machine, and the types of what it says and saves."""

    def __init__(self, protocol: str, node: NodeId, nodes: tuple[NodeId, ...], arities: tuple[int, ...]) -> None:
        capture, self._is_busy, messages, records, self.first_record = _capture(protocol, node, arities)
        inner = Node(
            capture,
            Directory(node, Ring(nodes)),
            Detector(node, nodes, pause=ROUND_PAUSE),
            is_busy=self._is_busy,
        )
        self.machine = Linked(inner, me=node, peers=nodes, ack_after=ACK_AFTER, tells_all_taken=True)
        self.message_type = wire_type(message_type(messages))
        self.record_type = record_type(records)

    def mode(self, capture: Any) -> str:
        """Say how a node goes about capturing: the paper's protocol tells, ours has one way."""
        if not self._is_busy(capture):
            return "idle"
        return str(getattr(capture, "mode", "moving"))

    def has_begun(self, saved: tuple[Any, ...]) -> bool:
        """Say whether a node has saved the molecules it began with."""
        return any(isinstance(record, self.first_record) for record in saved)


def _capture(protocol: str, node: NodeId, arities: tuple[int, ...]) -> tuple[Any, Any, Any, Any, type]:
    """Give a capture machine, when it is after something, its messages and records, and what records a rewriting."""
    if protocol == "better":
        from solvent.protocols.capture.moving import IDLE, Kept, MovingConfig, MovingMessage, MovingRecord, moving_node

        moving = moving_node(MovingConfig(node, confirm=True))
        return moving, lambda state: state.phase != IDLE, MovingMessage, MovingRecord, Kept
    if protocol not in PROTOCOLS:
        raise Misuse("H342", f"there is no protocol `{protocol}`", hint=f"there is: {', '.join(PROTOCOLS)}")
    from solvent.protocols.capture.adaptive import Adaptive
    from solvent.protocols.capture.messages import Doubt, Reply, Request
    from solvent.protocols.capture.records import CaptureRecord, Rewritten
    from solvent.protocols.capture.state import RESTING, CaptureConfig

    # The chemist finds whatever can react, by any rule, so a node need not change its own.
    config = CaptureConfig(
        node, arities, protocol=protocol, waiting=True, is_keeper=True, look_again=0, confirm=True, tell=True
    )
    return Adaptive(config), lambda state: state.phase != RESTING, Request | Reply | Doubt, CaptureRecord, Rewritten


__all__ = ["PROTOCOLS", "Machinery"]
