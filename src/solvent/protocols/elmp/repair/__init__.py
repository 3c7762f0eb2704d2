"""ELMP that survives the unexpected death of processes: a machine around the other one.

Reading order: messages, state, plan (what is made of what survives), surviving (the machine), invariants, broken.
"""

from solvent.protocols.elmp.repair.messages import Died, Expelled, Repaired, RepairMessage
from solvent.protocols.elmp.repair.state import SurvivingState
from solvent.protocols.elmp.repair.surviving import Surviving

__all__ = ["Died", "Expelled", "RepairMessage", "Repaired", "Surviving", "SurvivingState"]
