"""Detection of inertia over many nodes: nobody is active, and nothing that could make anybody active is under way.

Reading order: `messages`, `detector`, `invariants`.
"""

from solvent.protocols.inertia.detector import Detector, DetectorState, detector_node
from solvent.protocols.inertia.messages import (
    Active,
    CheapMessage,
    Inert,
    InertiaMessage,
    Passive,
    Resumed,
    Roused,
    Sent,
    Settled,
)

__all__ = [
    "Active",
    "CheapMessage",
    "Detector",
    "DetectorState",
    "Inert",
    "InertiaMessage",
    "Passive",
    "Resumed",
    "Roused",
    "Sent",
    "Settled",
    "detector_node",
]
