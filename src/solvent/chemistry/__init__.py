"""Values: molecules, solutions, rules, and the tree of a program.

Reading order: molecule, solution, syntax, rule, operators, builtin, functions, kinds.
"""

from solvent.chemistry.functions import Function, Functions, molecule_from_python, python_from_molecule
from solvent.chemistry.molecule import Endless, List, Molecule, Opaque, Symbol, copied, equal, order_key
from solvent.chemistry.rule import Rule
from solvent.chemistry.solution import Solution

__all__ = [
    "Endless",
    "Function",
    "Functions",
    "List",
    "Molecule",
    "Opaque",
    "Rule",
    "Solution",
    "Symbol",
    "copied",
    "equal",
    "molecule_from_python",
    "order_key",
    "python_from_molecule",
]
