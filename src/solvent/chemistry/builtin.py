"""The built-in functions, by the names programs call them by.

They work on molecules directly. A wrong argument raises `Incomputable`, like an operator.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import List, Molecule, Symbol, equal
from solvent.chemistry.operators import Incomputable, kind_name, less, shown

if TYPE_CHECKING:
    from collections.abc import Callable


_DIGITS_AT_ONCE = 4000


def _need(value: Molecule, kinds: type | tuple[type, ...], what: str) -> Any:
    if isinstance(value, kinds) and (type(value) is not bool or kinds is bool) and type(value) is not tuple:
        return value
    raise Incomputable(f"expected {what}, found {kind_name(value)}")


def _list(value: Molecule) -> List:
    found: List = _need(value, List, "a list")
    return found


def _text(value: Molecule) -> str:
    found: str = _need(value, str, "a string")
    return found


def _integer(value: Molecule) -> int:
    found: int = _need(value, int, "an int")
    return found


def _number(value: Molecule) -> float:
    found: float = _need(value, (int, float), "a number")
    return found


def list_of(*items: Molecule) -> List:
    """`list(a, b)`."""
    return List(items)


def cons(item: Molecule, items: Molecule) -> List:
    """`cons(e, l)`: `l` with `e` put at its end."""
    return List((*_list(items), item))


def first(items: Molecule) -> Molecule:
    """`first(l)`."""
    if not _list(items):
        raise Incomputable("an empty list has no first element")
    return items[0]


def last(items: Molecule) -> Molecule:
    """`last(l)`."""
    if not _list(items):
        raise Incomputable("an empty list has no last element")
    return items[-1]


def rest(items: Molecule) -> List:
    """`rest(l)`: all but the first."""
    if not _list(items):
        raise Incomputable("an empty list has no rest")
    return List(items[1:])


def nth(rank: Molecule, items: Molecule) -> Molecule:
    """`nth(n, l)`: the n-th element, counted from 1."""
    if type(rank) is List:
        rank, items = items, rank
    if not 1 <= _integer(rank) <= len(_list(items)):
        raise Incomputable(f"a list of {len(items)} has no element {rank}")
    return items[rank - 1]


def length(value: Molecule) -> int:
    """`len(x)`: of a list, a string, a tuple or a solution."""
    if type(value) in (List, str, tuple) or getattr(value, "is_solution", False):
        return len(value)
    raise Incomputable(f"{kind_name(value)} has no length")


def reverse(value: Molecule) -> Molecule:
    """`reverse(l)`: of a list or a string."""
    return value[::-1] if type(value) is str else List(_list(value)[::-1])


def sort(items: Molecule) -> List:
    """`sort(l)`: of numbers or of strings."""
    found = list(_list(items))
    for one, other in pairwise(found):
        less(one, other)
    return List(sorted(found))


def sum_of(items: Molecule) -> Molecule:
    """`sum(l)`."""
    return sum(map(_number, _list(items)))


def range_of(start: Molecule, end: Molecule) -> List:
    """`range(a, b)`: the list of the integers from `a` to `b`, both included."""
    return List(range(_integer(start), _integer(end) + 1))


def least(one: Molecule, other: Molecule) -> Molecule:
    """`min(x, y)`."""
    return other if less(other, one) else one


def greatest(one: Molecule, other: Molecule) -> Molecule:
    """`max(x, y)`."""
    return other if less(one, other) else one


def equals(one: Molecule, other: Molecule) -> bool:
    """`x.equals(y)`."""
    return equal(one, other)


def compare_to(one: Molecule, other: Molecule) -> int:
    """`x.compareTo(y)`: negative, 0 or positive."""
    return -1 if less(one, other) else int(less(other, one))


def substring(text: Molecule, start: Molecule, end: Molecule = None) -> str:
    """`s.substring(from)` or `s.substring(from, to)`: from 0, `to` not included."""
    size = len(_text(text))
    stop = size if end is None else _integer(end)
    if not 0 <= _integer(start) <= stop <= size:
        raise Incomputable(f"a string of {size} has no part from {start} to {stop}")
    return str(text[start:stop])


def char_at(text: Molecule, at: Molecule) -> str:
    """`s.charAt(i)`."""
    return substring(text, at, _integer(at) + 1)


def concat(one: Molecule, other: Molecule) -> str:
    """`s.concat(t)`."""
    return _text(one) + _text(other)


def index_of(text: Molecule, part: Molecule) -> int:
    """`s.indexOf(t)`: from 0, or -1."""
    return _text(text).find(_text(part))


def split(text: Molecule, separator: Molecule) -> List:
    """`split(s, separator)`: a list of strings; by white space for an empty separator."""
    return List(_text(text).split(_text(separator) or None))


def join(items: Molecule, separator: Molecule) -> str:
    """`join(l, separator)`."""
    return _text(separator).join(map(shown, _list(items)))


def starts_with(whole: Molecule, part: Molecule) -> bool:
    """`s.startsWith(t)`: of strings, or of lists."""
    if type(whole) is List:
        return equal(List(whole[: len(_list(part))]), part)
    return _text(whole).startswith(_text(part))


def ends_with(whole: Molecule, part: Molecule) -> bool:
    """`s.endsWith(t)`: of strings, or of lists."""
    if type(whole) is List:
        return len(_list(part)) <= len(whole) and equal(List(whole[len(whole) - len(part) :]), part)
    return _text(whole).endswith(_text(part))


def to_integer(value: Molecule) -> int:
    """`int(x)`: of a number (toward zero) or of a string."""
    if type(value) is str and len(value) > _DIGITS_AT_ONCE and value.isdecimal():
        # Python refuses to read so many digits at once.
        front, back = str(value[:-_DIGITS_AT_ONCE]), str(value[-_DIGITS_AT_ONCE:])
        whole: int = to_integer(front) * 10**_DIGITS_AT_ONCE + int(back)
        return whole
    try:
        return int(_need(value, (int, float, str), "a number or a string"))
    except (ValueError, OverflowError):
        raise Incomputable(f"{shown(value)!r} is no integer") from None


def to_float(value: Molecule) -> float:
    """`float(x)`: of a number or of a string."""
    try:
        return float(_need(value, (int, float, str), "a number or a string"))
    except (ValueError, OverflowError):
        raise Incomputable(f"{shown(value)!r} is no float") from None


def to_symbol(value: Molecule) -> Symbol:
    """`symbol(s)`: the symbol of that name."""
    name = _text(value)
    if not (name.isidentifier() and name[0].isupper()):
        raise Incomputable(f"{name!r} cannot name a symbol")
    return Symbol(name)


def square_root(value: Molecule) -> float:
    """`sqrt(x)`."""
    if _number(value) < 0:
        raise Incomputable("a negative number has no square root")
    try:
        return math.sqrt(value)
    except OverflowError:
        raise Incomputable("an integer too large for a square root") from None


def absolute(value: Molecule) -> Molecule:
    """`abs(x)`."""
    return abs(_number(value))


def power(base: Molecule, exponent: Molecule) -> Molecule:
    """`pow(x, y)`."""
    if type(exponent) is int and type(base) is int and exponent >= 0:
        return base**exponent
    try:
        return math.pow(_number(base), _number(exponent))
    except (ArithmeticError, ValueError):
        raise Incomputable(f"cannot raise {base} to {exponent}") from None


def rounded(value: Molecule) -> int:
    """`round(x)`: halves away from zero."""
    number = _number(value)
    if not math.isfinite(number):
        raise Incomputable(f"cannot round {number}")
    return int(math.copysign(math.floor(abs(number) + 0.5), number)) if type(number) is float else int(number)


BUILTIN: dict[str, Callable[..., Any]] = {
    "list": list_of, "cons": cons, "first": first, "last": last, "rest": rest, "nth": nth, "len": length,
    "length": length, "size": length, "reverse": reverse, "sort": sort, "sum": sum_of, "range": range_of,
    "min": least, "max": greatest, "abs": absolute, "pow": power, "sqrt": square_root, "round": rounded,
    "equals": equals, "compareTo": compare_to,
    "substring": substring, "charAt": char_at, "concat": concat, "indexOf": index_of, "split": split, "join": join,
    "contains": lambda whole, part: _text(part) in _text(whole),
    "startsWith": starts_with, "endsWith": ends_with,
    "toUpperCase": lambda text: _text(text).upper(), "toLowerCase": lambda text: _text(text).lower(),
    "trim": lambda text: _text(text).strip(), "isEmpty": lambda text: not length(text),
    "int": to_integer, "float": to_float, "string": shown, "symbol": to_symbol,
    "intValue": to_integer, "doubleValue": to_float, "toString": shown,
}  # fmt: skip
"""Name in programs to function."""
