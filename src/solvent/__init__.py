"""Solvent: programs and workflows without a conductor.

    import solvent

    program = solvent.parse("let max = replace x, y by x if x >= y in <2, 3, 5, 8, 9, max>")
    solution = program.solution()
    solvent.run(solution)
    print(solvent.show(solution))        # <9, max>

Workflows are written with the names of `solvent.workflow` (`from solvent.workflow import service, workflow`) and run
with `solvent.run_workflow`. Processes share a lock and an order of messages with `solvent.ring`, and hand data over to
each other with `solvent.space`.
Names are imported when first used, so `import solvent` alone costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.chemistry import (
        Endless,
        Functions,
        List,
        Opaque,
        Rule,
        Solution,
        Symbol,
        molecule_from_python,
        python_from_molecule,
    )
    from solvent.engine import Reaction
    from solvent.engine.explain import why_not
    from solvent.engine.explore import explore
    from solvent.engine.properties import Never, Refines
    from solvent.engine.trace import Recorder
    from solvent.errors import (
        DataGone,
        DataProblem,
        LimitReached,
        LockLost,
        Misuse,
        NameProblem,
        ProgramError,
        ReactionFailed,
        RingProblem,
        SolventError,
        SpaceProblem,
        SyntaxProblem,
    )
    from solvent.running import Outcome, Program, Run, load, molecules, parse, rule, run, run_async, step
    from solvent.running.api import run_workflow
    from solvent.running.embedded import show
    from solvent.running.recording import record
    from solvent.running.rings import ring
    from solvent.running.saving import load_solution, program_text, save
    from solvent.running.spaces import space
    from solvent.services.signs import call

_HOMES = {
    "solvent.chemistry": (
        "Endless Functions List Opaque Rule Solution Symbol molecule_from_python python_from_molecule"
    ),
    "solvent.engine": "Reaction",
    "solvent.engine.explain": "why_not",
    "solvent.engine.explore": "explore",
    "solvent.engine.properties": "Never Refines",
    "solvent.engine.trace": "Recorder",
    "solvent.errors": (
        "DataGone DataProblem LimitReached LockLost Misuse NameProblem ProgramError ReactionFailed RingProblem "
        "SolventError SpaceProblem SyntaxProblem"
    ),
    "solvent.running": "Outcome Program Run load molecules parse rule run run_async step",
    "solvent.running.api": "run_workflow",
    "solvent.running.recording": "record",
    "solvent.running.rings": "ring",
    "solvent.running.saving": "load_solution program_text save",
    "solvent.running.spaces": "space",
    "solvent.services.signs": "call",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}
_RENAMED = {"show": ("solvent.running.embedded", "show")}
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    module, inside = _RENAMED.get(name) or (_HOME.get(name), name)
    if module is None:
        raise AttributeError(f"module 'solvent' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(module), inside)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [
    "DataGone",
    "DataProblem",
    "Endless",
    "Functions",
    "LimitReached",
    "List",
    "LockLost",
    "Misuse",
    "NameProblem",
    "Never",
    "Opaque",
    "Outcome",
    "Program",
    "ProgramError",
    "Reaction",
    "ReactionFailed",
    "Recorder",
    "Refines",
    "RingProblem",
    "Rule",
    "Run",
    "Solution",
    "SolventError",
    "SpaceProblem",
    "Symbol",
    "SyntaxProblem",
    "call",
    "explore",
    "load",
    "load_solution",
    "molecule_from_python",
    "molecules",
    "parse",
    "program_text",
    "python_from_molecule",
    "record",
    "ring",
    "rule",
    "run",
    "run_async",
    "run_workflow",
    "save",
    "show",
    "space",
    "step",
    "why_not",
]
