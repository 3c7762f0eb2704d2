"""Workflows: one model, the ways to write it, and its translation into molecules and rules.

What workflows are written with in Python is offered by `solvent` itself: `from solvent import service, workflow`.

Reading order: model, then `formats` (Python, YAML and JSON, HOCLflow, chemical services, WfFormat), checks (with what
they ask: cycles, paths, soundness, and the modules in `_checks`), translate (with gates and the rules), diagram.
"""

__all__: list[str] = []
