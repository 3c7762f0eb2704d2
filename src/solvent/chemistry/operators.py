"""What the operators of conditions and products compute.

Integers divide and take remainders as the 2009 compiler's target, Java, does: toward zero, with the sign of the
dividend. `==` is the equality of molecules, so `1 == 1.0` is false; `<` and its kin compare numbers with numbers
and strings with strings. Whatever cannot be computed raises `Incomputable`: in a condition that makes the
condition false, in a product it fails the reaction.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from solvent.chemistry.molecule import List, Molecule, Opaque, Symbol, equal

if TYPE_CHECKING:
    from collections.abc import Callable


class Incomputable(Exception):
    """An operator or a built-in function does not apply to these values."""


_LONG = 10**4000
"""Python writes longer integers not at once."""


def kind_name(value: Molecule) -> str:
    """Name a molecule's kind in a message."""
    names = {int: "int", float: "float", str: "string", bool: "bool", Symbol: "symbol", tuple: "tuple", List: "list"}
    kind = type(value)
    if kind is Opaque:
        return f"Python's {type(value.value).__name__}"
    return names.get(kind) or ("a solution" if getattr(value, "is_solution", False) else "a rule")


def _number(value: Molecule) -> bool:
    return type(value) is int or type(value) is float


def _refuse(verb: str, left: Molecule, right: Molecule) -> Incomputable:
    return Incomputable(f"cannot {verb} {kind_name(left)} and {kind_name(right)}")


def _finite(compute: Callable[[], Molecule]) -> Molecule:
    """Compute with numbers of which one may be an integer too large to become a float."""
    try:
        return compute()
    except OverflowError:
        raise Incomputable("an integer is too large to become a float") from None


def shown(value: Molecule) -> str:
    """Give the text a value has when it is joined to a string."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is Symbol:
        return value.name
    if type(value) is int and abs(value) >= _LONG:
        from solvent.chemistry.printer import print_integer

        return print_integer(value)
    return str(value) if _number(value) else repr(value)


def add(left: Molecule, right: Molecule) -> Molecule:
    """`left + right`: numbers add; a string joins with any atom; lists join."""
    if type(left) is int and type(right) is int:
        return left + right
    if _number(left) and _number(right):
        return _finite(lambda: left + right)
    if type(left) is str or type(right) is str:
        return shown(left) + shown(right)
    if type(left) is List and type(right) is List:
        return List((*left, *right))
    raise _refuse("add", left, right)


def subtract(left: Molecule, right: Molecule) -> Molecule:
    """`left - right`."""
    if type(left) is int and type(right) is int:
        return left - right
    if _number(left) and _number(right):
        return _finite(lambda: left - right)
    raise _refuse("subtract", left, right)


def multiply(left: Molecule, right: Molecule) -> Molecule:
    """`left * right`."""
    if type(left) is int and type(right) is int:
        return left * right
    if _number(left) and _number(right):
        return _finite(lambda: left * right)
    raise _refuse("multiply", left, right)


def divide(left: Molecule, right: Molecule) -> Molecule:
    """`left / right`: toward zero for two integers."""
    if not (_number(left) and _number(right)):
        raise _refuse("divide", left, right)
    if right == 0:
        raise Incomputable("division by zero")
    if type(left) is int and type(right) is int:
        quotient = abs(left) // abs(right)
        return quotient if (left < 0) == (right < 0) else -quotient
    return _finite(lambda: left / right)


def remainder(left: Molecule, right: Molecule) -> Molecule:
    """`left % right`: with the sign of `left`."""
    if not (_number(left) and _number(right)):
        raise _refuse("divide", left, right)
    if right == 0:
        raise Incomputable("division by zero")
    if type(left) is int and type(right) is int:
        rest = abs(left) % abs(right)
        return -rest if left < 0 else rest
    try:
        return _finite(lambda: math.fmod(left, right))
    except ValueError:
        return math.nan


def negate(value: Molecule) -> Molecule:
    """`-value`."""
    if _number(value):
        return -value
    raise Incomputable(f"cannot negate {kind_name(value)}")


def less(left: Molecule, right: Molecule) -> bool:
    """`left < right`."""
    if (_number(left) and _number(right)) or (type(left) is str and type(right) is str):
        return bool(left < right)
    raise _refuse("compare", left, right)


def less_equal(left: Molecule, right: Molecule) -> bool:
    """`left <= right`."""
    if (_number(left) and _number(right)) or (type(left) is str and type(right) is str):
        return bool(left <= right)
    raise _refuse("compare", left, right)


def truth(value: Molecule) -> bool:
    """Give a boolean, refusing everything else."""
    if type(value) is bool:
        return value
    raise Incomputable(f"expected a bool, found {kind_name(value)}")


def member(value: Molecule, whole: Molecule) -> bool:
    """`value in whole`: of a list or a solution; of a string, a part of it."""
    if type(whole) is str and type(value) is str:
        return value in whole
    if type(whole) is List or getattr(whole, "is_solution", False):
        return any(equal(value, one) for one in whole)
    raise Incomputable(f"cannot look into {kind_name(whole)}")
