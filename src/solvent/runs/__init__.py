"""Runs of workflows, in this process (embedded) or by agents; and of programs over nodes.

The way of a task, which `docs/explanation/architecture.md` follows module by module:

1. `Turns` (`turns`), owned by an `EmbeddedRun` or an `Agent`, drive an `Execution`.
2. The molecules of the execution react until a rule calls a service (`functions`); `Calls` plans that call.
3. `CallQueue` admits the call when there is room; `CallStarted` is noted in the journal, and the journal is stored.
4. Then `solvent.services` makes the call, in a worker thread, and puts its answer into the inbox of the turns.
5. The execution notes the answer and reacts: tasks that waited for it become ready.

Nothing is done outside before what it rests on is stored.

Reading order: `report` and `events`; `functions`, `conditions`, `calls`, `call_queue`, `nested`, `signals`, `messages`,
`outcome`, `stuck` and `execution` (what they are parts of); `turns`, `adrift`, `embedded`; `registry`, `kept`,
`journal`, `cache`, `holders`, `recorded_run`, `closed_shards`, `store_address`, `kinds`, `resources`. What is read
from events: `projection`, `replay`, `replay_index`, `observing`. Other ways to continue or remove a run: `versions`,
`continuation`, `prune`. Many processes: `agents`; `nodes` (programs). Before a run: `inspection`, `exploration`,
`causality`, `state_graph`. For Python: `api`, `run_handle`, `report_display`.
"""

__all__: list[str] = []
