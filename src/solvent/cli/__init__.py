"""The command `solvent`.

Reading order: `main` (which command, and how it ends), `arguments` (parsers), `render` (output), `interrupt`,
`secrecy`. What commands share: `workflows` and `records` (what they read and record), `live`, `progress`,
`task_states`, `spans` and `log` (a run as it happens), `breakpoints`, `report`, `picture`, `agent_runs`. Then one
module per command. Workflows: `run` (with `run_workflow`, `run_agents`, `run_nodes`), `check`, `show`, `explore`,
`convert`, `init`. Runs: `status`, `logs`, `timeline`, `replay`, `resume` (with `debug`), `update`, `signal`, `cancel`,
`prune`. Agents: `submit`, `agent`, `agents`, `store`, `web`, `top`. Language: `repl`, `trace`, `why`, `fmt`, `lsp`. And
`doctor`, `completion`.
"""

from solvent.cli.main import main

__all__ = ["main"]
