"""One node of a chemical program over many: capture, directory and detection of inertia as one machine.

Reading order: `messages`, `offers`, `words`, `node`.
"""

from solvent.protocols.nodes.messages import Idle, Told, Working, message_type
from solvent.protocols.nodes.node import Parts, PartsState, whole_node
from solvent.protocols.nodes.offers import Offer, offered, packed, unpacked

__all__ = [
    "Idle",
    "Offer",
    "Parts",
    "PartsState",
    "Told",
    "Working",
    "message_type",
    "offered",
    "packed",
    "unpacked",
    "whole_node",
]
