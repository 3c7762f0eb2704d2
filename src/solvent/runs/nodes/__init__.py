"""Runs a program over many processes that talk to each other.

Reading order. What goes where: `standing` (which rules stay as they are), `dealing` (shares). What travels: `writing`
(molecules as text), `shapes` (what nodes listen to). What one node thinks: `table`, `homes`, `items`, `settling`,
`chemist`; `alone` (before it needs others). What one node is: `building` (its machine), `keeping` (in a folder, or in
`store_journal`), `nats_transport`, `work`, `tally`, `control` (what visitors say), `listening`, `node`. What a run is:
`folder`, `collecting`, `processes`, `launcher`, `running`, `looking`. The same, kept in a store: `shared`, `member`,
`members`, `sharing`.
"""

from solvent.runs.nodes.running import NodesRun, deal_out, take_up

__all__ = ["NodesRun", "deal_out", "take_up"]
