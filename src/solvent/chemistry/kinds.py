"""The words for kinds of molecules in `x::kind`, and the Python types each stands for."""

from __future__ import annotations

from solvent.chemistry.molecule import List, Opaque, Symbol
from solvent.chemistry.rule import Rule
from solvent.chemistry.solution import Solution

KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "Integer": (int,),
    "long": (int,),
    "Long": (int,),
    "float": (float,),
    "Float": (float,),
    "double": (float,),
    "Double": (float,),
    "number": (int, float),
    "Number": (int, float),
    "string": (str,),
    "String": (str,),
    "bool": (bool,),
    "boolean": (bool,),
    "Boolean": (bool,),
    "symbol": (Symbol,),
    "tuple": (tuple,),
    "list": (List,),
    "solution": (Solution,),
    "rule": (Rule,),
    "opaque": (Opaque,),
}
