"""The words for kinds of molecules in `x::kind`, and the Python types each stands for."""

from __future__ import annotations

from solvent.lang.molecule import List, Opaque, Symbol
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

KINDS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "Integer": (int,),
    "long": (int,),
    "Long": (int,),
    "BigInteger": (int,),
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
    # In 2009 a Java object: data, and no structure that the chemistry itself is made of.
    "Object": (int, float, str, bool, Symbol, List, Opaque),
}
