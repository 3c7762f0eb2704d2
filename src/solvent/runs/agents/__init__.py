"""Agents: processes around a store that run workflows together, none of them special.

Reading order: `submission` and `workflows/shards` (how a workflow comes here, and is divided); `agent` (the loop),
`hosted_run` (a run at one agent; each of its shards there is an `Execution`), `journal_writer` (journals first, then
messages), `remote_calls` (calls at other agents); `shards` (what the store has of them), `placement` (who takes which),
`membership`, `offers` and `refusals` (which agents can do what); `termination`; `store_outage` (the store does not
answer). Around an agent: `launch`, `hosts`, `log`, `status`.
"""

from solvent.runs.agents.agent import Agent
from solvent.runs.agents.shards import submit

__all__ = ["Agent", "submit"]
