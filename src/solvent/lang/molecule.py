"""Molecules: the values a solution holds.

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

from solvent.errors import TooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Molecule: TypeAlias = Any
"""Any value that a solution can hold: a number, text, boolean, tuple, `List`, `Symbol`, `Solution`, `Rule`, `Opaque`.

It is `Any`: Python cannot say `tuple of molecules or ...` without slowing every use of it.

>>> from solvent.hocl import Molecule, Symbol, show
>>> def label(name: str, value: Molecule) -> Molecule:
...     return Symbol(name), value
>>> show(label("N", 3))
'N:3'
"""


class Symbol:
    """A constant that stands for itself, such as `SRC`. There is one object for each name, so `is` compares symbols.

    >>> from solvent.hocl import Symbol
    >>> Symbol("SRC") is Symbol("SRC"), Symbol("SRC").name
    (True, 'SRC')
    """

    __slots__ = ("name",)
    _known: ClassVar[dict[str, Any]] = {}
    name: str

    def __new__(cls, name: str) -> Self:
        """Return the one symbol of this name."""
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
    """An ordered list of molecules; a `tuple` underneath, so it cannot be changed and can be a key.

    >>> from solvent.hocl import List, show
    >>> show(List([1, 2]))
    '(1, 2)'
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"List({list(self)!r})"


class Opaque:
    """A Python value that HOCL has no form for. Rules can match and move it; `value` is the value itself.

    >>> from solvent.hocl import Opaque
    >>> Opaque({"key": 3}).value
    {'key': 3}
    """

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
    """`m^inf`: a molecule of which there are always more. It stands directly in a solution only.

    >>> from solvent.hocl import Endless, Solution, show
    >>> show(Solution([Endless(1)]))
    '<1^inf>'
    """

    __slots__ = ("molecule",)

    def __init__(self, molecule: Molecule) -> None:
        self.molecule = molecule

    def __repr__(self) -> str:
        return f"Endless({self.molecule!r})"


ATOMS = frozenset({int, float, str, bool, Symbol})
"""Types whose values never hold a solution and, within one type, compare as Python compares them."""


def equal(one: Molecule, other: Molecule) -> bool:
    """Return whether two molecules are the same kind and equal inside."""
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


MAX_INTEGER_BITS = 1 << 20
MAX_TEXT_CHARACTERS = 1 << 24
MAX_ITEMS = 1 << 20
MAX_PARTS = 1 << 19
"""How large a product may be: the bits of an integer that `*` or `pow` gives, the characters of a text, the items of a
list with all that is inside, and the parts of a molecule, or of a rest, that a product holds twice. The items of its
lists are not among these parts.

A rule that squares, doubles or nests what it takes reaches any size within a few dozen reactions, and then computes for
minutes between two of them: no limit on the reactions or on the time would end it. These do. The largest value of each
kind is computed and printed within a few seconds.
"""
MAX_PRINTED = 1 << 21
"""How many parts the large molecules of a solution may have together when it is printed. Parts may be shared, so the
text can be far larger than the solution in memory."""
SOLUTION_PARTS = 8
"""The parts a solution itself counts for: it takes more memory and time than a tuple."""
_SMALL = 16
_CHARACTERS_A_PART = 16
_BITS_SMALL = 1 << 11
_SMALL_INTEGER = 1 << _BITS_SMALL


def too_large(what: str, most: int) -> TooLarge:
    """Return the error to raise for a value that is too large."""
    hint = "does a rule double what it takes? Let a condition end that, or divide the data into more molecules"
    return TooLarge("H323", f"{what} is too large: at most {most:,} are allowed", hint=hint)


def copied(molecule: Molecule, room: list[int] | None = None) -> Molecule:
    """Return an equal molecule that shares no solution with this one; without a solution inside, itself.

    With `room`, count down how many parts it may have; raise `TooLarge` where it has more.
    """
    kind = type(molecule)
    if kind in ATOMS or kind is Opaque:
        return molecule
    if kind is tuple or kind is List:
        # A list is shared, however long, and who makes one of others measures it: services return long ones.
        if room is not None and kind is tuple:
            take_room(room, len(molecule))
        if ATOMS.issuperset(map(type, molecule)):
            return molecule
        parts = [part if type(part) in ATOMS else copied(part, room) for part in molecule]
        if all(map(_is, parts, molecule)):
            return molecule
        return tuple(parts) if kind is tuple else List(parts)
    if kind is Endless:
        return Endless(copied(molecule.molecule, room))
    copy: Callable[[list[int] | None], Molecule] = molecule.copied
    return copy(room)


def take_room(room: list[int], parts: int) -> None:
    """Take parts off the room for a copy; raise `TooLarge` if it is used up."""
    room[0] -= parts
    if room[0] < 0:
        raise too_large("a molecule of so many parts", MAX_PARTS)


def measured(items: List) -> List:
    """Return the list; raise `TooLarge` if it is too large."""
    if len(items) > MAX_ITEMS:
        raise too_large(f"a list of {len(items):,} items", MAX_ITEMS)
    if not ATOMS.issuperset(map(type, items)):
        _measure(items, MAX_ITEMS)
    return items


def _measure(molecule: Molecule, room: int) -> int:
    """Return the room left after a tuple or list; the contents of a solution are counted when it is copied."""
    room -= len(molecule)
    if room < 0:
        raise too_large("a list of so many parts", MAX_ITEMS)
    for part in molecule:
        if type(part) is tuple or type(part) is List:
            room = _measure(part, room)
    return room


def check_printable(molecules: Iterable[Molecule]) -> None:
    """Raise `TooLarge` if the text of these molecules would be too long; small ones do not count."""
    room = MAX_PRINTED
    for molecule in molecules:
        kind = type(molecule)
        if kind is int:
            if -_SMALL_INTEGER < molecule < _SMALL_INTEGER:
                continue
        elif kind in ATOMS and (kind is not str or len(molecule) < _SMALL):
            continue
        left = _weigh(molecule, room)
        if room - left > _SMALL:
            room = left


def _weigh(molecule: Molecule, room: int) -> int:
    """Return the room left after the text of a molecule; a long text counts as several parts."""
    room -= 1
    kind = type(molecule)
    if kind is int:
        # The time to write an integer grows with the square of its length.
        bits = molecule.bit_length()
        room -= bits * bits >> 22 if bits > _BITS_SMALL else 0
    elif kind is str:
        room -= len(molecule) // _CHARACTERS_A_PART
    if room < 0:
        message = f"the solution is too large to print: at most {MAX_PRINTED:,} parts are printed"
        raise TooLarge("H323", message, hint="let a rule take what you want to see out of it")
    if kind in ATOMS:
        return room
    inside: Iterable[Molecule] = ()
    if kind is Endless:
        inside = (molecule.molecule,)
    elif kind is tuple or kind is List or getattr(molecule, "is_solution", False):
        inside = molecule
        room -= SOLUTION_PARTS if kind is not tuple and kind is not List else 0
    elif kind is not Opaque:
        inside = molecule.captured
    for part in inside:
        room = _weigh(part, room)
    return room


def _is(one: object, other: object) -> bool:
    return one is other


_RANK = {bool: 0, int: 1, float: 1, str: 2, Symbol: 3, tuple: 4, List: 5, Opaque: 8}


def order_key(molecule: Molecule) -> tuple[Any, ...]:
    """Return a key that orders all molecules: equal molecules, and only they, have equal keys."""
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
        try:
            return (8, repr(molecule.value))
        except Exception:  # noqa: BLE001 - a foreign __repr__ may raise anything
            return (8, object.__repr__(molecule.value))
    return (rank, molecule)


def has_solution(molecule: Molecule) -> bool:
    """Return whether a molecule is or contains a solution."""
    kind = type(molecule)
    if kind in ATOMS:
        return False
    if kind is tuple or kind is List:
        return any(map(has_solution, molecule))
    return bool(getattr(molecule, "is_solution", False))


_NOTHING: list[Any] = []
"""Never written to."""


def sub_solutions(molecule: Molecule) -> Sequence[Any]:
    """Return the outermost solutions of a molecule: itself, or those in its parts."""
    kind = type(molecule)
    if kind is tuple or kind is List:
        # The engine asks this of every molecule, and mostly there is none: so no list is made for nothing.
        found: list[Any] = _NOTHING
        for part in molecule:
            if type(part) not in ATOMS:
                inner = sub_solutions(part)
                if inner:
                    if found is _NOTHING:
                        found = []
                    found += inner
        return found
    if kind is Endless:
        return sub_solutions(molecule.molecule)
    return (molecule,) if getattr(molecule, "is_solution", False) else ()
