"""Agents: processes around a store that run workflows together, none of them special.

Reading order: `workflows/shards` (how a workflow is divided), shards (how they stand, as the store has it), hosted_run
(a run, as an agent has it; a shard there is an `Execution`), journal_writer, placement, termination, agent (the loop).
"""

from solvent.runs.agents.agent import Agent
from solvent.runs.agents.shards import submit

__all__ = ["Agent", "submit"]
