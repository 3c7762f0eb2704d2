"""Atomic capture: taking several molecules that lie on many nodes, all or none.

Reading order: `vocabulary` (the words between a machine and its program), `moving` (the machine), `invariants`. The
protocol that the paper publishes is in the lab (`solvent_lab.papers.capture`).
"""

from solvent.protocols.capture.moving import MovingConfig, moving_node

__all__ = ["MovingConfig", "moving_node"]
