"""Runs of workflows: in this process (embedded), by agents, recorded, replayed, explored; and of programs over nodes.

Reading order: report, events, journal, functions, conditions, calls, messages, outcome, execution; turns,
embedded; registry, holders, recorded_run, store_address, replay; projection; agents; replay_index;
resources; observing; exploration, causality, state_graph; nodes.
"""

__all__: list[str] = []
