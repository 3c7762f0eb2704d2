"""Workflows: one model, the ways to write it, and its translation into molecules and rules.

What workflows are written with in Python is offered by `solvent` itself: `from solvent import service, workflow`.

Reading order: `model`, `inputs`; `formats` (Python, YAML and JSON, HOCLflow, chemical services, WfFormat) with `places`
and `durations`; `checks` with `*_checks`, `cycles`, `soundness` and `doubts` (warnings); `paths` and `relations` (what
follows from the graph); `forms`, `translate`, `gates`, `rules/*.hocl` (the molecules and rules of each form),
`rule_functions`, `items` (of tasks that are called for each), `libraries` (rules of the user's own); `shards` (how
agents divide a workflow); `diagram`.
"""

__all__: list[str] = []
