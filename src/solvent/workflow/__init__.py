"""Workflows: one model, the ways to write it, and its translation into molecules and rules.

    from solvent.workflow import attempt, service, workflow

What workflows are written with in Python is offered here and not in `solvent` itself, where `workflow` and `hocl`
are packages: one name has one meaning. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.workflow.flow import (
        active_of,
        all_threads,
        any_of,
        cancels,
        choose,
        choose_some,
        completes,
        deferred,
        ends,
        first_of,
        joined_by,
        locked,
        milestone,
        repeat,
        section,
        sends,
        signal_value,
        threads,
        waits_for,
    )
    from solvent.workflow.lists import cross, each
    from solvent.workflow.model import Workflow
    from solvent.workflow.python import attempt, hocl, http, service, shell, workflow
    from solvent.workflow.python_files import load_python
    from solvent.workflow.sharing import resource

_HOMES = {
    "solvent.workflow.flow": (
        "active_of all_threads any_of cancels choose choose_some completes deferred ends first_of joined_by locked "
        "milestone repeat section sends signal_value threads waits_for"
    ),
    "solvent.workflow.lists": "cross each",
    "solvent.workflow.model": "Workflow",
    "solvent.workflow.python": "attempt hocl http service shell workflow",
    "solvent.workflow.python_files": "load_python",
    "solvent.workflow.sharing": "resource",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'solvent.workflow' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


__all__ = [
    "Workflow",
    "active_of",
    "all_threads",
    "any_of",
    "attempt",
    "cancels",
    "choose",
    "choose_some",
    "completes",
    "cross",
    "deferred",
    "each",
    "ends",
    "first_of",
    "hocl",
    "http",
    "joined_by",
    "load_python",
    "locked",
    "milestone",
    "repeat",
    "resource",
    "section",
    "sends",
    "service",
    "shell",
    "signal_value",
    "threads",
    "waits_for",
    "workflow",
]
