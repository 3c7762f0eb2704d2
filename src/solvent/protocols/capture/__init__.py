"""Atomic capture: taking several molecules that lie on many nodes, all or none.

Reading order. The words: vocabulary. The paper's protocol: messages, state, success (how crowded it is), holder,
requester, changing (rules, sleep), records, recovery, adaptive (the machine). Our own: moving. What must hold:
invariants.
"""

from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.moving import MovingConfig, moving_node
from solvent.protocols.capture.state import CaptureConfig

__all__ = ["Adaptive", "CaptureConfig", "MovingConfig", "moving_node"]
