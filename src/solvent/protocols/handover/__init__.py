"""Spaces: processes that come, go and die, and share resources by name, each under a lock of its own (ELMP).

Reading order: `vocabulary` (what users want, are told and are asked), `messages`, `state`; `machine` (which function
takes what), `members` (coming, going, resources), `repair` (deaths); `plan` (what a repair makes of a resource),
`quorum` (who may make one); `invariants`.
"""

from solvent.protocols.handover.machine import SpaceMachine
from solvent.protocols.handover.messages import HandoverMessage
from solvent.protocols.handover.state import SpaceConfig, SpaceState

__all__ = ["HandoverMessage", "SpaceConfig", "SpaceMachine", "SpaceState"]
