"""The command `solvent`.

Reading order: main (which command, and how it ends), arguments (parsers), render (output), workflows and records (what
commands read and record), then one file per command: run (with run_workflow, run_agents, run_nodes), check, status, ...
"""

from solvent.cli.main import main

__all__ = ["main"]
