"""Programs of molecules and rules: parse, run, record, explain and explore them.

>>> from solvent import hocl
>>> program = hocl.parse("let max = replace x, y by x if x >= y in <2, 3, 5, 8, 9, max>")
>>> solution = program.solution()
>>> hocl.react(solution).reactions
4
>>> hocl.show(solution)
'<9, max>'

Reading order: `process_settings`, `program`, `embedded`, `program_file`; `diagnostics`, `explanation`, `json_fields`.
Public names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.engine.explain import why_not
    from solvent.engine.explore import explore
    from solvent.engine.properties import Never, Refines
    from solvent.engine.reaction import Reaction
    from solvent.engine.trace import Recorder
    from solvent.hocl.embedded import Outcome, Run, react, react_async, record, show, step
    from solvent.hocl.program import Program, load, molecules, parse, rule
    from solvent.hocl.program_file import load_solution, program_text, save
    from solvent.lang.functions import Functions, molecule_from_python, python_from_molecule
    from solvent.lang.molecule import Endless, List, Molecule, Opaque, Symbol
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution

_HOMES = {
    "solvent.engine.explain": "why_not",
    "solvent.engine.explore": "explore",
    "solvent.engine.properties": "Never Refines",
    "solvent.engine.reaction": "Reaction",
    "solvent.engine.trace": "Recorder",
    "solvent.hocl.embedded": "Outcome Run react react_async record show step",
    "solvent.hocl.program": "Program load molecules parse rule",
    "solvent.hocl.program_file": "load_solution program_text save",
    "solvent.lang.functions": "Functions molecule_from_python python_from_molecule",
    "solvent.lang.molecule": "Endless List Molecule Opaque Symbol",
    "solvent.lang.rule": "Rule",
    "solvent.lang.solution": "Solution",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name not in _HOME:
        raise AttributeError(f"module 'solvent.hocl' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


__all__ = [
    "Endless", "Functions", "List", "Molecule", "Never", "Opaque", "Outcome", "Program", "Reaction", "Recorder",
    "Refines", "Rule", "Run", "Solution", "Symbol", "explore", "load", "load_solution", "molecule_from_python",
    "molecules", "parse", "program_text", "python_from_molecule", "react", "react_async", "record", "rule", "save",
    "show", "step", "why_not",
]  # fmt: skip
