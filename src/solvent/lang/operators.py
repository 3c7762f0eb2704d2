"""The operators of conditions and products.

Integers divide and take remainders as the 2009 compiler's target, Java, does: toward zero, with the sign of the
dividend. `==` is the equality of molecules, so `1 == 1.0` is false; `<` and its kin compare numbers with numbers
and strings with strings. Whatever cannot be computed raises `Incomputable`: in a condition that makes the
condition false, in a product it fails the reaction. What would be too large raises `TooLarge`, anywhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from solvent.lang.molecule import (
    MAX_INTEGER_BITS,
    MAX_TEXT_CHARACTERS,
    List,
    Molecule,
    Opaque,
    Symbol,
    check_printable,
    equal,
    measured,
    too_large,
)

if TYPE_CHECKING:
    from collections.abc import Callable


class Incomputable(Exception):
    """An operator or a built-in function does not apply to these values."""


_LONG = 10**4000
"""Python does not convert longer integers to text at once."""
_BRIEF = 80
_DIGITS_AT_ONCE = 4000
_BITS_AT_ONCE = 13_000


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
    """Compute with numbers; raise `Incomputable` if an integer is too large to become a float."""
    try:
        return compute()
    except OverflowError:
        raise Incomputable("an integer is too large to become a float") from None


def print_integer(value: int) -> str:
    """Write an integer of any length; Python itself refuses beyond some thousand digits."""
    if value.bit_length() < _BITS_AT_ONCE:
        return str(value)
    pieces = []
    left = abs(value)
    while left:
        left, piece = divmod(left, 10**_DIGITS_AT_ONCE)
        pieces.append(str(piece).zfill(_DIGITS_AT_ONCE))
    return ("-" if value < 0 else "") + "".join(reversed(pieces)).lstrip("0")


def shown(value: Molecule) -> str:
    """Return the text of a value as joined to a string."""
    if type(value) is str:
        return value
    if type(value) is bool:
        return "true" if value else "false"
    if type(value) is Symbol:
        return value.name
    if type(value) is int and abs(value) >= _LONG:
        return print_integer(value)
    if _number(value):
        return str(value)
    check_printable((value,))
    try:
        return bounded(repr(value))
    except ValueError:
        raise Incomputable(f"{kind_name(value)} with an integer too long to be written inside it") from None


def brief(value: Molecule) -> str:
    """Return the text of a value for a message, cut to a readable length."""
    if type(value) is int and abs(value) >= _LONG:
        return f"an int of {value.bit_length():,} bits"
    text = shown(value[:_BRIEF] if type(value) is str else value)
    return text if len(text) < _BRIEF else f"{text[: _BRIEF - 1]}\u2026"


def add(left: Molecule, right: Molecule) -> Molecule:
    """`left + right`: numbers add; a string joins with any atom; lists join."""
    if type(left) is int and type(right) is int:
        return left + right
    if _number(left) and _number(right):
        return _finite(lambda: left + right)
    if type(left) is str or type(right) is str:
        return joined(shown(left), shown(right))
    if type(left) is List and type(right) is List:
        return measured(List((*left, *right)))
    raise _refuse("add", left, right)


def joined(left: str, right: str) -> str:
    """`left + right` of two texts; raise `TooLarge` if that is too long."""
    if len(left) + len(right) > MAX_TEXT_CHARACTERS:
        raise too_large(f"a text of {len(left) + len(right):,} characters", MAX_TEXT_CHARACTERS)
    return left + right


def bounded(text: str) -> str:
    """Return the text; raise `TooLarge` if it is too long."""
    if len(text) > MAX_TEXT_CHARACTERS:
        raise too_large(f"a text of {len(text):,} characters", MAX_TEXT_CHARACTERS)
    return text


def whole(product: int) -> int:
    """Return the integer; raise `TooLarge` if it is too large."""
    if product.bit_length() > MAX_INTEGER_BITS:
        raise too_large(f"an integer of {product.bit_length():,} bits", MAX_INTEGER_BITS)
    return product


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
        return whole(left * right)
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
    """Return the value if it is a boolean; raise `Incomputable` for anything else."""
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
