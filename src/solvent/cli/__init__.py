"""The command `solvent`: what people type and see.

Reading order: main, loading, watching, render, then one file per command: run, trace, why, explore,
check, fmt, repl (with session, the state of a prompt).
"""

from solvent.cli.main import main

__all__ = ["main"]
