"""The operators of conditions and products: what they compute, and one table that says everything else about them.

A row of `OPERATORS` or `PREFIXES` is all there is to say of an operator: how it is written, how tightly it binds, what
it computes, what the compiler writes for it, and its line in the reference. Lexer, parser, printer, `evaluate`, the
compiler, the colours of editors and the documentation are made of these rows.

Integers divide and take remainders as the 2009 compiler's target, Java, does: toward zero, with the sign of the
dividend. `==` is the equality of molecules, so `1 == 1.0` is false; `<` and its kin compare numbers with numbers
and strings with strings. Whatever cannot be computed raises `Incomputable`: in a condition that makes the
condition false, in a product it fails the reaction. What would be too large raises `TooLarge`, anywhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from solvent.lang.molecule import (
    ATOMS,
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


def greater(left: Molecule, right: Molecule) -> bool:
    """`left > right`."""
    return less(right, left)


def greater_equal(left: Molecule, right: Molecule) -> bool:
    """`left >= right`."""
    return less_equal(right, left)


def unequal(left: Molecule, right: Molecule) -> bool:
    """`left != right`."""
    return not equal(left, right)


def both(left: Molecule, right: Molecule) -> bool:
    """`left && right`."""
    return truth(left) and truth(right)


def either(left: Molecule, right: Molecule) -> bool:
    """`left || right`."""
    return truth(left) or truth(right)


def invert(value: Molecule) -> bool:
    """`!value`."""
    return not truth(value)


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


# --- The table.


class Typed(NamedTuple):
    """What the compiler writes for an operator whose operands have certain types, `None` for a type not known."""

    fits: Callable[[type | None, type | None], bool]
    text: str
    kind: type | None = None
    may_raise: bool = False
    #: Only where the right operand is written as an integer above zero.
    by_number: bool = False


class Operator(NamedTuple):
    """One operator."""

    symbol: str
    #: From 1, the loosest. An operand that binds less tightly stands in parentheses.
    power: int
    compute: Callable[..., Molecule]
    #: The first that fits is written; the last fits always.
    typed: tuple[Typed, ...]
    #: What editors and the reference say of it.
    form: str
    doc: str
    #: What the lexer reads as the symbol.
    spellings: tuple[str, ...] = ()
    #: What the parser reads as the symbol; elsewhere it means something else.
    spellings_between: tuple[str, ...] = ()
    #: The types that its operands must have: with others it computes nothing, and a condition with it is false.
    needs: frozenset[type] | None = None
    #: The left operand that decides the result, so that the right one is not computed.
    decided_by: bool | None = None
    #: How to find the left, and the right, operand of an integer `result`.
    solved: tuple[str, str] | None = None
    #: Printed in parentheses, wherever it stands: without them its symbol could mean something else.
    is_enclosed: bool = False
    #: The operator that the tree has instead; the two differ only in how tightly they bind.
    same_as: str = ""


BOOLEANS: frozenset[type] = frozenset({bool})
NUMBERS: frozenset[type] = frozenset({int, float})
ORDERED: frozenset[type] = frozenset({int, float, str})
COMPARISON = 4
"""How tightly comparisons bind."""
SUM = 5
"""How tightly `+` and `-` bind. Looser operators stand in parentheses in a solution, a tuple and a count."""
PREFIX = 7
"""How tightly `-` and `!` bind before an operand."""


def _of(*kinds: type) -> Callable[[type | None, type | None], bool]:
    return lambda left, right: left in kinds and right in kinds


def _any(left: type | None, right: type | None) -> bool:  # noqa: ARG001 - whatever they are
    return True


def _is_text(left: type | None, right: type | None) -> bool:
    return left is str or right is str


def _differ(left: type | None, right: type | None) -> bool:
    return left is not None and right is not None and left is not right


def _same_atoms(left: type | None, right: type | None) -> bool:
    return left is right and left in ATOMS


def _is_name(left: type | None, right: type | None) -> bool:
    # Nothing else in Python equals a symbol or a string, so the other side's type needs no look.
    return (left or right) in (Symbol, str)


_INTEGERS, _FLOATS, _TEXTS = _of(int), _of(float), _of(str)
_NUMBERS = _of(int, float)


def _arithmetic(symbol: str, call: str, integers: str) -> tuple[Typed, ...]:
    """Return what is written for `+`, `-` and `*` of numbers."""
    return (
        Typed(_INTEGERS, integers, int),
        Typed(_FLOATS, f"({{0}} {symbol} {{1}})", float),
        # An integer may be too large to become a float beside one.
        Typed(_NUMBERS, f"({{0}} {symbol} {{1}})", float, may_raise=True),
        Typed(_any, f"{call}({{0}}, {{1}})", may_raise=True),
    )


def _division(symbol: str, call: str) -> tuple[Typed, ...]:
    # Toward zero and downwards agree where nothing is negative.
    positive = f"(_q {symbol} {{1}} if (_q := {{0}}) >= 0 else {call}(_q, {{1}}))"
    return (
        Typed(_INTEGERS, positive, int, by_number=True),
        Typed(_INTEGERS, f"{call}({{0}}, {{1}})", int, may_raise=True),
        Typed(_NUMBERS, f"{call}({{0}}, {{1}})", float, may_raise=True),
        Typed(_any, f"{call}({{0}}, {{1}})", may_raise=True),
    )


def _order(symbol: str, call: str) -> tuple[Typed, ...]:
    python = f"({{0}} {symbol} {{1}})"
    return Typed(_NUMBERS, python, bool), Typed(_TEXTS, python, bool), Typed(_any, call, bool, may_raise=True)


def _equality(negation: str, symbol: str, same: str) -> tuple[Typed, ...]:
    return (
        Typed(_differ, f"({negation}({{0}}, {{1}}, False)[2])", bool),
        Typed(_of(Symbol), f"({{0}} {same} {{1}})", bool),
        Typed(_same_atoms, f"({{0}} {symbol} {{1}})", bool),
        Typed(_is_name, f"({{0}} {symbol} {{1}})", bool),
        Typed(_any, f"({negation}_equal({{0}}, {{1}}))", bool),
    )


_WHOLE = "(_p if -_BIG < (_p := {0} * {1}) < _BIG else _whole(_p))"
_ADDITION = _arithmetic("+", "_add", "({0} + {1})")
_ROWS = (
    Operator(
        "||", 1, either, (Typed(_any, "({0} or {1})", bool),), "a || b", "Whether one of them holds.", ("or", "∨"),
        needs=BOOLEANS, decided_by=True,
    ),
    Operator(
        "&&", 2, both, (Typed(_any, "({0} and {1})", bool),), "a && b", "Whether both hold.", ("and", "∧"),
        needs=BOOLEANS, decided_by=False,
    ),
    Operator(
        "==", COMPARISON, equal, _equality("", "==", "is"), "x == y", "Whether they are of one kind and equal.",
        spellings_between=("=",),
    ),
    Operator(
        "!=", COMPARISON, unequal, _equality("not ", "!=", "is not"), "x != y", "The contrary of `x == y`.", ("≠",)
    ),
    Operator(
        "<", COMPARISON, less, _order("<", "_less({0}, {1})"), "x < y",
        "Whether a number or a string comes before another.", needs=ORDERED,
    ),
    Operator(
        ">", COMPARISON, greater, _order(">", "_less({1}, {0})"), "x > y", "The same as `y < x`.", needs=ORDERED
    ),
    Operator(
        "<=", COMPARISON, less_equal, _order("<=", "_less_equal({0}, {1})"), "x <= y",
        "Whether a number or a string comes before another, or equals it.", ("≤",), needs=ORDERED,
    ),
    Operator(
        ">=", COMPARISON, greater_equal, _order(">=", "_less_equal({1}, {0})"), "x >= y", "The same as `y <= x`.",
        ("≥",), needs=ORDERED,
    ),
    Operator(
        "in", COMPARISON, member, (Typed(_any, "_member({0}, {1})", bool, may_raise=True),), "x in l",
        "Whether the first is in a list, a solution or a string.", spellings_between=("∈",), is_enclosed=True,
    ),
    Operator(
        "+", SUM, add,
        (
            *_ADDITION[:-1],
            Typed(_TEXTS, "_joined({0}, {1})", str),
            Typed(_is_text, "_add({0}, {1})", str, may_raise=True),
            _ADDITION[-1],
        ),
        "x + y", "Adds numbers, joins lists, and a string with any atom.", solved=("result - known", "result - known"),
    ),
    Operator(
        "-", SUM, subtract, _arithmetic("-", "_subtract", "({0} - {1})"), "x - y", "Subtracts numbers.", needs=NUMBERS,
        solved=("result + known", "known - result"),
    ),
    Operator("*", 6, multiply, _arithmetic("*", "_multiply", _WHOLE), "x * y", "Multiplies numbers.", needs=NUMBERS),
    Operator(
        "/", 6, divide, _division("//", "_divide"), "x / y", "Divides numbers; integers toward zero.", needs=NUMBERS
    ),
    Operator(
        "%", 6, remainder, _division("%", "_remainder"), "x % y", "The remainder of a division, with the sign of `x`.",
        needs=NUMBERS,
    ),
)  # fmt: skip
_INVERSION = (Typed(_any, "(not {0})", bool),)
_PREFIX_ROWS = (
    # `!x == y` is `(!x) == y` as in the 2009 compiler; `not x == y` is `not (x == y)` as in Python.
    Operator("not", 3, invert, _INVERSION, "not a", "Whether it does not hold.", needs=BOOLEANS, same_as="!"),
    Operator("!", PREFIX, invert, _INVERSION, "!a", "Whether it does not hold.", ("¬",), needs=BOOLEANS),
    Operator(
        "-", PREFIX, negate,
        (Typed(_INTEGERS, "(-{0})", int), Typed(_FLOATS, "(-{0})", float), Typed(_any, "_negate({0})", may_raise=True)),
        "-x", "The number with the other sign.",
    ),
)  # fmt: skip
OPERATORS = {one.symbol: one for one in _ROWS}
"""The operators between two operands, by their symbols, the loosest first."""
PREFIXES = {one.symbol: one for one in _PREFIX_ROWS}
"""The operators before an operand, by their symbols."""
NOT_IN = "∉"
"""`x ∉ l`, also written `x not in l`, is no operator of its own: it is read as `!(x in l)`."""
SPELLINGS = {text: one for one in (*_ROWS, *_PREFIX_ROWS) for text in (one.symbol, *one.spellings)}
"""The operator for each symbol and for what the lexer reads as one."""
BETWEEN = OPERATORS | {text: one for one in _ROWS for text in one.spellings_between}
"""The operator for each symbol and for what the parser reads as one between two operands."""
WORDS = {text: one for text, one in SPELLINGS.items() if text.isalpha()}
"""The operators that are written as words."""
COMPUTE = {
    "_joined": joined,
    "_whole": whole,
    "_truth": truth,
    **{f"_{one.compute.__name__}": one.compute for one in (*_ROWS, *_PREFIX_ROWS)},
}
"""The functions that the texts of the table call, by the names they have there."""
