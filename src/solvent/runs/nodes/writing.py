"""Molecules as text: what nodes tell each other, what they save, and what a user finds in the folder of a run.

Rules that the program's outermost lets name are written by name and read back as the very same rules, so that errors
in them point into the program's text. All others are written in full.

Most molecules are numbers, words and short tuples of them. These are read without the parser, and once: a node hears
of the same molecule more often than not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.hocl.process_settings import deep_stack
from solvent.hocl.program import molecules
from solvent.lang.molecule import ATOMS, Endless, List, Molecule, Opaque, Symbol
from solvent.lang.printer import TreePrinter, print_molecule
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    from solvent.hocl.program import Program
    from solvent.lang.functions import Functions

_ATOM = r'-?\d{1,18}|"[^"\\\n]*"|[A-Z][A-Za-z0-9_]*|true|false'
_FLAT = re.compile(rf"(?:{_ATOM})(?::(?:{_ATOM}))*")
_ATOMS = re.compile(_ATOM)
_MAX_READ = 65_536
_CONSTANTS = {"true": True, "false": False}


class Writing:
    """How the molecules of one program are written and read."""

    def __init__(self, program: Program) -> None:
        self._functions: Functions = program.functions
        self._rules = program.rules()
        self._printer = TreePrinter(known={name: rule.node for name, rule in self._rules.items()})

    def write(self, molecule: Molecule) -> str:
        """Give the text of a molecule; one that holds a Python value without a form in HOCL cannot travel."""
        if type(molecule) not in ATOMS:
            opaque = opaque_in(molecule)
            if opaque is not None:
                message = (
                    f"{print_molecule(opaque)} cannot go from node to node: HOCL has no form for this Python value"
                )
                raise Misuse("H340", message, hint="let the function give numbers, strings, lists or tuples")
            with deep_stack():
                return print_molecule(molecule, self._printer.rule_molecule)
        return print_molecule(molecule)

    def read(self, text: str) -> Molecule:
        """Give the molecule that a text stands for; solutions in it have not been run yet."""
        if _FLAT.fullmatch(text):
            return _flat(text)
        return self.read_in_full(text)

    @staticmethod
    def is_flat(text: str) -> bool:
        """Say whether a text stands for an atom, or for a tuple of atoms, without anything that needs the parser."""
        return _FLAT.fullmatch(text) is not None

    def read_in_full(self, text: str) -> Molecule:
        """Give the molecule that a text stands for, by the parser."""
        (molecule,) = molecules(text, functions=self._functions, rules=self._rules)
        return molecule


@lru_cache(maxsize=_MAX_READ)
def _flat(text: str) -> Molecule:
    parts = tuple(map(_atom, _ATOMS.findall(text)))
    return parts if len(parts) > 1 else parts[0]


def _atom(text: str) -> Any:
    first = text[0]
    if first == '"':
        return text[1:-1]
    if first.isupper():
        return Symbol(text)
    return _CONSTANTS[text] if text in _CONSTANTS else int(text)


def opaque_in(molecule: Molecule) -> Opaque | None:
    """Give a Python value without a form in HOCL that a molecule holds, if there is one."""
    kind = type(molecule)
    if kind in ATOMS:
        return None
    if kind is Opaque:
        opaque: Opaque = molecule
        return opaque
    inside: Any = molecule
    if kind is Endless:
        inside = (molecule.molecule,)
    elif kind is Rule:
        values = zip(molecule.captured, molecule.node.captures.values(), strict=True)
        inside = [one for value, meaning in values for one in (value if meaning == "rest" else (value,))]
    elif kind is not tuple and kind is not List and not getattr(molecule, "is_solution", False):
        return None
    return next((found for one in inside if (found := opaque_in(one)) is not None), None)


__all__ = ["Writing", "opaque_in"]
