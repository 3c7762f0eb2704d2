"""Runs of workflows: in this process (workflow, controlled), by agents, recorded, explored; and of programs over nodes.

Reading order: report, invoking, judging, choosing, workflow, controlled, making, api; records; agents; replay_index;
resources; observing; exploring, causality; nodes.
"""

__all__: list[str] = []
