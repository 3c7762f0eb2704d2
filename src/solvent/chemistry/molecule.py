"""Molecules: what a solution holds.

Most molecules are plain Python values, so that a million of them cost a million Python values and a compiled
rule computes on them directly:

    integer, float, string, boolean    int, float, str, bool
    tuple                              tuple, of two or more molecules
    list                               List (a tuple of its own type)
    symbol                             Symbol, one object for each name
    sub-solution                       Solution (solution.py)
    rule                               Rule (rule.py)
    anything else from Python          Opaque

Python holds `1 == 1.0 == True`; molecules do not. `equal` is the equality of the language, `copied` gives a
molecule that shares no solution with the original, and `order_key` puts any molecules into one order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Molecule: TypeAlias = Any
"""Any of the values above. Python cannot say `tuple of molecules or ...` without slowing every use of it."""


class Symbol:
    """A constant that stands for itself, such as `SRC`. One object for each name, so `is` compares them."""

    __slots__ = ("name",)
    _known: ClassVar[dict[str, Any]] = {}
    name: str

    def __new__(cls, name: str) -> Self:
        """Give the one symbol of this name."""
        symbol: Self | None = cls._known.get(name)
        if symbol is None:
            symbol = object.__new__(cls)
            symbol.name = name
            cls._known[name] = symbol
        return symbol

    def __repr__(self) -> str:
        return f"Symbol({self.name!r})"

    def __reduce__(self) -> tuple[type[Symbol], tuple[str]]:
        return Symbol, (self.name,)


class List(tuple[Any, ...]):
    """An ordered list of molecules. A `tuple` underneath, so it is a value and can be a key."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"List({list(self)!r})"


class Opaque:
    """A Python value that HOCL has no form for: it can be matched, moved and given back to Python."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Opaque):
            return NotImplemented
        if self.value is other.value:
            return True
        try:
            return type(self.value) is type(other.value) and bool(self.value == other.value)
        except Exception:  # noqa: BLE001 - a foreign __eq__ may raise anything (an array does); then they differ
            return False

    def __hash__(self) -> int:
        # Foreign values need not be hashable; equal ones must still meet, so only the type counts.
        return hash(type(self.value))

    def __repr__(self) -> str:
        return f"Opaque({self.value!r})"


class Endless:
    """`m^inf`: a molecule of which there are always more. Only ever directly in a solution."""

    __slots__ = ("molecule",)

    def __init__(self, molecule: Molecule) -> None:
        self.molecule = molecule

    def __repr__(self) -> str:
        return f"Endless({self.molecule!r})"


ATOMS = frozenset({int, float, str, bool, Symbol})
"""Types whose values never hold a solution and, within one type, compare as Python compares them."""


def equal(one: Molecule, other: Molecule) -> bool:
    """Say whether two molecules are the same kind and equal inside."""
    if one is other:
        return True
    kind = type(one)
    if kind is not type(other):
        return False
    if kind in ATOMS:
        return bool(one == other)
    if kind is tuple or kind is List:
        return len(one) == len(other) and all(map(equal, one, other))
    if kind is Endless:
        return equal(one.molecule, other.molecule)
    return bool(one == other)


def copied(molecule: Molecule) -> Molecule:
    """Give an equal molecule that shares no solution with this one; without a solution inside, itself."""
    kind = type(molecule)
    if kind in ATOMS or kind is Opaque:
        return molecule
    if kind is tuple or kind is List:
        parts = [copied(part) for part in molecule]
        if all(map(_is, parts, molecule)):
            return molecule
        return tuple(parts) if kind is tuple else List(parts)
    if kind is Endless:
        return Endless(copied(molecule.molecule))
    copy: Callable[[], Molecule] = molecule.copied
    return copy()


def _is(one: object, other: object) -> bool:
    return one is other


_RANK = {bool: 0, int: 1, float: 1, str: 2, Symbol: 3, tuple: 4, List: 5, Opaque: 8}


def order_key(molecule: Molecule) -> tuple[Any, ...]:
    """Give a key that orders all molecules: equal molecules, and only they, have equal keys."""
    kind = type(molecule)
    rank = _RANK.get(kind)
    if rank is None:
        key: tuple[Any, ...] = molecule.order_key() if kind is not Endless else (*order_key(molecule.molecule), "inf")
        return key
    if rank == 1:
        # A NaN equals nothing, not even in order; its text keeps the order total.
        return (1, molecule, kind.__name__) if molecule == molecule else (1, float("-inf"), "nan")  # noqa: PLR0124
    if kind is Symbol:
        return (3, molecule.name)
    if rank in (4, 5):
        return (rank, tuple(map(order_key, molecule)))
    if kind is Opaque:
        return (8, repr(molecule.value))
    return (rank, molecule)


def has_solution(molecule: Molecule) -> bool:
    """Say whether a solution stands anywhere inside a molecule, or is it."""
    kind = type(molecule)
    if kind in ATOMS:
        return False
    if kind is tuple or kind is List:
        return any(map(has_solution, molecule))
    return bool(getattr(molecule, "is_solution", False))


def sub_solutions(molecule: Molecule) -> Iterable[Any]:
    """Give the solutions directly inside a molecule: itself, or those in its parts."""
    kind = type(molecule)
    if kind is tuple or kind is List:
        return [found for part in molecule if type(part) not in ATOMS for found in sub_solutions(part)]
    if kind is Endless:
        return sub_solutions(molecule.molecule)
    return (molecule,) if getattr(molecule, "is_solution", False) else ()
