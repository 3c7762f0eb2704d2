"""Agents: processes around a space that run workflows together, none of them special.

Reading order: partition (into which places a workflow is divided), words (what places say), plans (a run, as
the space has it), place (one part of a run), case (a run, as an agent has it), agent (the loop).
"""

from solvent.running.agents.agent import Agent
from solvent.running.agents.plans import submit

__all__ = ["Agent", "submit"]
