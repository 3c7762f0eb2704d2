"""Atomic capture: taking several molecules that lie on many nodes, all or none.

Reading order. The words: vocabulary. The paper's protocol: messages, state, success (how crowded it is), holder,
requester, changing (rules, sleep), records, recovery, adaptive (the machine). Our own: moving_state, moving (the
machine), moving_recovery. What must hold: invariants; what must not be: broken.
"""

from solvent.protocols.capture.adaptive import Adaptive
from solvent.protocols.capture.moving import Moving
from solvent.protocols.capture.moving_state import MovingConfig
from solvent.protocols.capture.state import CaptureConfig

__all__ = ["Adaptive", "CaptureConfig", "Moving", "MovingConfig"]
