"""The paper's atomic capture: molecules stay where they are, and are lent to requesters, optimistically or not.

Reading order: messages, state, success (how crowded it is), holder, requester, node (the machine), recovery,
invariants. The words between a machine and its program are `solvent.protocols.capture.vocabulary`.
"""

from solvent_lab.papers.capture.node import capture_node
from solvent_lab.papers.capture.state import CaptureConfig, CaptureState

__all__ = ["CaptureConfig", "CaptureState", "capture_node"]
