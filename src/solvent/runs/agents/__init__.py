"""Agents: processes around a store that run workflows together, none of them special.

Reading order: partition (into which places a workflow is divided), words (what places say), shards (how they
stand, as the store has it), place (one part of a run), case (a run, as an agent has it), agent (the loop).
"""

from solvent.runs.agents.agent import Agent
from solvent.runs.agents.shards import submit

__all__ = ["Agent", "submit"]
