"""Workflows that repair themselves.

>>> from solvent import attempt, run, service, workflow
>>> @service
... def fetch(city: str) -> float:
...     raise ConnectionError(f"no answer for {city}")
>>> @service
... def guess(city: str) -> float:
...     return 20.0
>>> @workflow
... def morning(city: str) -> float:
...     return attempt(fetch(city), otherwise=guess(city))
>>> run(morning, {"city": "Graz"}).results
{'fetch': 20.0}

Modules beside it: `solvent.hocl` for programs of molecules and rules, `solvent.ring` for one lock and one order of
messages among processes, `solvent.shared` for data that processes hand over to each other, and `solvent.dho` for the
same by the names of its paper. Names are imported when first used, so `import solvent` alone costs next to nothing.
"""

from __future__ import annotations

# `typing` is not imported here: a command that starts can be interrupted in order only when it has come further.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from solvent import dho, hocl, ring, shared
    from solvent.errors import (
        DataLost,
        DataProblem,
        Interrupted,
        LimitReached,
        LockLost,
        Misuse,
        NameProblem,
        NodeProblem,
        ProgramError,
        ReactionFailed,
        RingProblem,
        SolventError,
        SpaceProblem,
        SyntaxProblem,
        WorkflowProblem,
    )
    from solvent.runs.api import attach, run, run_async, submit
    from solvent.runs.inspection import check, explore, show
    from solvent.runs.report import RunFailed
    from solvent.services.current_call import call
    from solvent.values.codecs import register_codec
    from solvent.workflows.formats.python.control_flow import (
        active_of,
        all_threads,
        any_of,
        cancels,
        choose,
        choose_some,
        completes,
        cross,
        deferred,
        each,
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
    from solvent.workflows.formats.python.declarations import (
        attempt,
        delay,
        http,
        program,
        resource,
        service,
        shell,
        workflow,
    )
    from solvent.workflows.formats.python.files import load_python
    from solvent.workflows.model import Workflow

_HOMES = {
    "solvent.errors": (
        "DataLost DataProblem Interrupted LimitReached LockLost Misuse NameProblem NodeProblem ProgramError "
        "ReactionFailed RingProblem SolventError SpaceProblem SyntaxProblem WorkflowProblem"
    ),
    "solvent.runs.api": "attach run run_async submit",
    "solvent.runs.inspection": "check explore show",
    "solvent.runs.report": "RunFailed",
    "solvent.services.current_call": "call",
    "solvent.values.codecs": "register_codec",
    "solvent.workflows.formats.python.control_flow": (
        "active_of all_threads any_of cancels choose choose_some completes cross deferred each ends first_of joined_by "
        "locked milestone repeat section sends signal_value threads waits_for"
    ),
    "solvent.workflows.model": "Workflow",
    "solvent.workflows.formats.python.declarations": "attempt delay http program resource service shell workflow",
    "solvent.workflows.formats.python.files": "load_python",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_MODULES = ("dho", "hocl", "ring", "shared")
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"solvent.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'solvent' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "DataLost",
    "DataProblem",
    "Interrupted",
    "LimitReached",
    "LockLost",
    "Misuse",
    "NameProblem",
    "NodeProblem",
    "ProgramError",
    "ReactionFailed",
    "RingProblem",
    "RunFailed",
    "SolventError",
    "SpaceProblem",
    "SyntaxProblem",
    "Workflow",
    "WorkflowProblem",
    "active_of",
    "all_threads",
    "any_of",
    "attach",
    "attempt",
    "call",
    "cancels",
    "check",
    "choose",
    "choose_some",
    "completes",
    "cross",
    "deferred",
    "delay",
    "dho",
    "each",
    "ends",
    "explore",
    "first_of",
    "hocl",
    "http",
    "joined_by",
    "load_python",
    "locked",
    "milestone",
    "program",
    "register_codec",
    "repeat",
    "resource",
    "ring",
    "run",
    "run_async",
    "section",
    "sends",
    "service",
    "shared",
    "shell",
    "show",
    "signal_value",
    "submit",
    "threads",
    "waits_for",
    "workflow",
]
