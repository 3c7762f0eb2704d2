"""The built-in functions, by the names programs call them by.

They work on molecules directly. A wrong argument raises `Incomputable`, like an operator.

The first part is the Java that the programs of 2009 use: `Math.abs(x)`, `new Integer(x)`, `Integer.MAX_VALUE`, big
integers. The 2009 compiler translated HOCL to Java, so its programs call Java where they compute. Here every integer is
exact and unbounded, and every float is a double. A method such as `x.subtract(y)` is the function `subtract(x, y)`.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from solvent.lang.molecule import (
    MAX_INTEGER_BITS,
    MAX_ITEMS,
    MAX_TEXT_CHARACTERS,
    List,
    Molecule,
    Symbol,
    equal,
    measured,
    too_large,
)
from solvent.lang.operators import (
    Incomputable,
    add,
    bounded,
    brief,
    divide,
    joined,
    kind_name,
    less,
    multiply,
    negate,
    remainder,
    shown,
    subtract,
    whole,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _real(value: Molecule) -> float:
    if type(value) is not int and type(value) is not float:
        raise Incomputable(f"expected a number, found {kind_name(value)}")
    try:
        return float(value)
    except OverflowError:
        raise Incomputable("an integer is too large to become a float") from None


def _of_reals(compute: Callable[[float], float]) -> Callable[[Molecule], float]:
    """Return a function of one number that computes as Java does: with doubles, and not-a-number outside its domain."""

    def call(value: Molecule) -> float:
        try:
            return compute(_real(value))
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    return call


def _whole(rounded: Callable[[float], int]) -> Callable[[float], float]:
    return lambda value: float(rounded(value)) if math.isfinite(value) else value


def _logarithm(value: float) -> float:
    return -math.inf if value == 0 else math.log(value)


def _absolute(value: Molecule) -> Molecule:
    return abs(value) if type(value) is int else abs(_real(value))


def _power(base: Molecule, exponent: Molecule) -> float:
    try:
        return math.pow(_real(base), _real(exponent))
    except ValueError:
        return math.nan
    except OverflowError:
        return math.inf


def _round(value: Molecule) -> int:
    """`Math.round(x)`: the nearest integer, halves upwards."""
    if type(value) is int:
        return int(value)
    number = _real(value)
    if not math.isfinite(number):
        raise Incomputable(f"cannot round {number}")
    below = math.floor(number)
    return below + 1 if number - below >= 0.5 else below


def _chosen(one: Molecule, other: Molecule, *, is_first: bool) -> Molecule:
    found = one if is_first else other
    return found if type(one) is type(other) else _real(found)


def _least(one: Molecule, other: Molecule) -> Molecule:
    _real(one), _real(other)
    return _chosen(one, other, is_first=not less(other, one))


def _greatest(one: Molecule, other: Molecule) -> Molecule:
    _real(one), _real(other)
    return _chosen(one, other, is_first=not less(one, other))


def _modulus(value: Molecule, modulus: Molecule) -> int:
    """`x.mod(m)`: never negative."""
    if type(value) is not int or type(modulus) is not int or modulus <= 0:
        raise Incomputable("`mod` takes an int and a positive int")
    return value % modulus


_JAVA: dict[str, Callable[..., Any]] = {
    "Math.abs": _absolute, "Math.ceil": _of_reals(_whole(math.ceil)), "Math.floor": _of_reals(_whole(math.floor)),
    "Math.round": _round, "Math.sqrt": _of_reals(math.sqrt), "Math.pow": _power, "Math.min": _least,
    "Math.max": _greatest, "Math.exp": _of_reals(math.exp), "Math.log": _of_reals(_logarithm),
    "Math.sin": _of_reals(math.sin), "Math.cos": _of_reals(math.cos), "Math.tan": _of_reals(math.tan),
    "add": add, "subtract": subtract, "multiply": multiply, "divide": divide, "remainder": remainder,
    "mod": _modulus, "negate": negate,
}  # fmt: skip
"""Name in programs to function; `BUILTIN` adds `new Integer` and its kin, which convert."""

JAVA_CONSTANTS: dict[str, Any] = {
    "Integer.MAX_VALUE": 2**31 - 1, "Integer.MIN_VALUE": -(2**31),
    "Long.MAX_VALUE": 2**63 - 1, "Long.MIN_VALUE": -(2**63), "Double.MAX_VALUE": 1.7976931348623157e308,
    "BigInteger.ZERO": 0, "BigInteger.ONE": 1, "BigInteger.TEN": 10, "Math.PI": math.pi, "Math.E": math.e,
}  # fmt: skip
"""Name in programs to value."""


_DIGITS_AT_ONCE = 4000
_MAX_DIGITS = int(MAX_INTEGER_BITS * math.log10(2)) + 1


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
    return measured(List(items))


def cons(item: Molecule, items: Molecule) -> List:
    """`cons(e, l)`: `l` with `e` put at its end."""
    return measured(List((*_list(items), item)))


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
        raise Incomputable(f"a list of {len(items)} has no element {brief(rank)}")
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
    try:
        return sum(map(_number, _list(items)))
    except OverflowError:
        raise Incomputable("an integer is too large to become a float") from None


def range_of(start: Molecule, end: Molecule) -> List:
    """`range(a, b)`: the list of the integers from `a` to `b`, both included."""
    size = _integer(end) + 1 - _integer(start)
    # Long integers count for their length.
    digits = 1 + max(start.bit_length(), end.bit_length()) // 64
    if size * digits > MAX_ITEMS:
        raise too_large(f"a list of {_amount(size)} items", MAX_ITEMS // digits)
    return List(range(start, end + 1))


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
        raise Incomputable(f"a string of {size} has no part from {brief(start)} to {brief(stop)}")
    return str(text[start:stop])


def char_at(text: Molecule, at: Molecule) -> str:
    """`s.charAt(i)`."""
    return substring(text, at, _integer(at) + 1)


def concat(one: Molecule, other: Molecule) -> str:
    """`s.concat(t)`."""
    return joined(_text(one), _text(other))


def index_of(text: Molecule, part: Molecule) -> int:
    """`s.indexOf(t)`: from 0, or -1."""
    return _text(text).find(_text(part))


def split(text: Molecule, separator: Molecule) -> List:
    """`split(s, separator)`: a list of strings; by white space for an empty separator."""
    return measured(List(_text(text).split(_text(separator) or None, MAX_ITEMS)))


def join(items: Molecule, separator: Molecule) -> str:
    """`join(l, separator)`."""
    between, texts, size = _text(separator), [], 0
    for item in _list(items):
        texts.append(shown(item))
        size += len(texts[-1]) + len(between)
        if size > MAX_TEXT_CHARACTERS + len(between):
            raise too_large(f"a text of more than {MAX_TEXT_CHARACTERS:,} characters", MAX_TEXT_CHARACTERS)
    return between.join(texts)


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
    if type(value) is str and len(value) > _DIGITS_AT_ONCE:
        digits = value.strip()
        sign = -1 if digits[:1] == "-" else 1
        digits = digits[1:] if digits[:1] in ("-", "+") else digits
        if digits.isdecimal():
            return sign * _long_integer(digits)
    try:
        return int(_need(value, (int, float, str), "a number or a string"))
    except (ValueError, OverflowError):
        raise Incomputable(f"{brief(value)!r} is no integer") from None


def _long_integer(digits: str) -> int:
    """Read more digits than Python reads at once."""
    if len(digits) > _MAX_DIGITS:
        raise too_large(f"an integer of {len(digits):,} digits", _MAX_DIGITS)
    found = 0
    for at in range(0, len(digits), _DIGITS_AT_ONCE):
        piece = digits[at : at + _DIGITS_AT_ONCE]
        found = found * 10 ** len(piece) + int(piece)
    return whole(found)


def _amount(number: int) -> str:
    return f"{number:,}" if number.bit_length() <= 64 else f"about 2^{number.bit_length():,}"


def to_float(value: Molecule) -> float:
    """`float(x)`: of a number or of a string."""
    try:
        return float(_need(value, (int, float, str), "a number or a string"))
    except (ValueError, OverflowError):
        raise Incomputable(f"{brief(value)!r} is no float") from None


def to_symbol(value: Molecule) -> Symbol:
    """`symbol(s)`: the symbol of that name."""
    name = _text(value)
    if not (name.isidentifier() and name[0].isupper()):
        raise Incomputable(f"{brief(name)!r} cannot name a symbol")
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
        # This many bits it has at least, and at most twice as many.
        bits = (base.bit_length() - 1) * exponent + 1
        if bits > MAX_INTEGER_BITS:
            raise too_large(f"an integer of {_amount(bits)} bits or more", MAX_INTEGER_BITS)
        return whole(base**exponent)
    try:
        return math.pow(_number(base), _number(exponent))
    except (ArithmeticError, ValueError):
        raise Incomputable(f"cannot raise {brief(base)} to {brief(exponent)}") from None


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
    "toUpperCase": lambda text: bounded(_text(text).upper()),
    "toLowerCase": lambda text: bounded(_text(text).lower()),
    "trim": lambda text: _text(text).strip(), "isEmpty": lambda text: not length(text),
    "int": to_integer, "float": to_float, "string": shown, "symbol": to_symbol,
    "intValue": to_integer, "doubleValue": to_float, "toString": shown,
    "new Integer": to_integer, "new Long": to_integer, "new BigInteger": to_integer,
    "new Float": to_float, "new Double": to_float, "new String": shown, **_JAVA,
}  # fmt: skip
"""Name in programs to function."""
