"""Puts a program on a host: this process.

Reading order: program, embedded, recording, saving, formatting. The last three are imported when they are used.
"""

from solvent.running.embedded import Outcome, Run, run, run_async, step
from solvent.running.program import Program, load, molecules, parse, rule

__all__ = ["Outcome", "Program", "Run", "load", "molecules", "parse", "rule", "run", "run_async", "step"]
