"""Functions a condition or a product may call: the built-in ones and those a host program registers.

A registered function gets plain Python values (a list for a list, the value itself for an opaque molecule) and may
return any Python value. `async def` functions may be called in products only: their reaction is in flight until
the call answers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse
from solvent.lang.builtin import BUILTIN
from solvent.lang.molecule import List, Molecule, Opaque, Symbol
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_ASYNC_CODE = 0x80  # CO_COROUTINE; reading it spares the import of `inspect` at every start
_VARIADIC_CODE = 0x04  # CO_VARARGS


class Function:
    """A function by its name in programs."""

    __slots__ = ("call", "is_async", "is_raw", "max_arity", "min_arity", "name")

    def __init__(self, name: str, call: Callable[..., Any], *, is_raw: bool = False) -> None:
        self.name = name
        self.call = call
        self.is_raw = is_raw
        code = _code_of(call)
        self.is_async = code is not None and bool(code.co_flags & _ASYNC_CODE)
        self.min_arity, self.max_arity = _arity(call, code)

    def takes(self, count: int) -> bool:
        """Return whether it can be called with that many arguments."""
        return self.min_arity <= count and (self.max_arity is None or count <= self.max_arity)

    @property
    def arity_text(self) -> str:
        """How many arguments it takes, in words."""
        if self.max_arity is None:
            return f"{self.min_arity} arguments or more"
        if self.min_arity == self.max_arity:
            return f"{self.min_arity} argument{'s' if self.min_arity != 1 else ''}"
        return f"{self.min_arity} to {self.max_arity} arguments"

    def __call__(self, *arguments: Molecule) -> Molecule:
        """Call it with molecules and return a molecule."""
        return molecule_from_python(self.call(*map(python_from_molecule, arguments)))


def _code_of(call: Any) -> Any:
    while hasattr(call, "func") and hasattr(call, "keywords"):
        # What `functools.partial` wraps tells whether it is asynchronous.
        call = call.func
    function = call if hasattr(call, "__code__") else getattr(type(call), "__call__", None)  # noqa: B004 - its code
    return getattr(function, "__code__", None)


def _arity(call: Any, code: Any) -> tuple[int, int | None]:
    if code is None or hasattr(call, "func"):
        return 0, None
    bound = 0 if call is not None and hasattr(call, "__code__") and not hasattr(call, "__self__") else 1
    count = code.co_argcount - bound
    defaults = len(getattr(call, "__defaults__", None) or ())
    return count - defaults, None if code.co_flags & _VARIADIC_CODE else count


class Functions:
    """The Python functions that a program may call, by name. Built-in functions are always there.

    A registered function gets plain Python values and may return any. An `async def` function can be called in products
    only; other reactions happen while it runs.

    >>> from solvent import hocl
    >>> functions = hocl.Functions()
    >>> @functions.register
    ... def price(item: str) -> int:
    ...     return {"tea": 180}[item]
    >>> solution = hocl.parse('<"tea", replace s::string by price(s)>', functions=functions).solution()
    >>> _ = hocl.react(solution)
    >>> 180 in solution
    True
    """

    def __init__(self) -> None:
        self._own: dict[str, Function] = {}

    def register(
        self, call: Callable[..., Any], name: str | None = None, *, is_raw: bool = False
    ) -> Callable[..., Any]:
        """Make a Python function callable from programs, also as a decorator, and return it.

        - `name`: its name in programs, if not its own.
        - `is_raw`: whether it takes and returns molecules instead of plain Python values.

        Raises `Misuse` (H301) for a name that is no identifier or begins with an upper-case letter.
        """
        name = name or str(getattr(call, "__name__", ""))
        if not (name.isidentifier() and not name[0].isupper()):
            message = f"`{name}` cannot name a function"
            raise Misuse("H301", message, hint="a name that starts with a lower-case letter can")
        self._own[name] = Function(name, call, is_raw=is_raw)
        return call

    def find(self, name: str) -> Function | None:
        """Return the function of a name; a registered one hides a built-in one."""
        return self._own.get(name) or _builtin(name)

    def names(self) -> Iterable[str]:
        """Return every name that can be called, in order."""
        return sorted({*self._own, *BUILTIN})


_made: dict[str, Function] = {}


def _builtin(name: str) -> Function | None:
    call = BUILTIN.get(name)
    if call is None:
        return None
    if name not in _made:
        _made[name] = Function(name, call, is_raw=True)
    return _made[name]


def molecule_from_python(value: Any) -> Molecule:
    """Return the molecule for a Python value.

    A list becomes a `List`, a tuple of one item as well, and what HOCL has no form for becomes `Opaque`. Raises
    nothing.

    >>> from solvent import hocl
    >>> hocl.molecule_from_python([1, (2, "b"), {"key": 3}])
    List([1, (2, 'b'), Opaque({'key': 3})])
    """
    kind = type(value)
    if kind in (int, str, float, bool, Symbol, Solution, Rule, Opaque, List):
        return value
    if kind is list:
        return List(map(molecule_from_python, value))
    if kind is tuple:
        parts = map(molecule_from_python, value)
        return tuple(parts) if len(value) > 1 else List(parts)
    for plain in (int, float, str):
        if isinstance(value, plain):
            return plain(value)
    return Opaque(value)


def python_from_molecule(molecule: Molecule) -> Any:
    """Return the plain Python value for a molecule: a `list` for a `List`, the value itself for an `Opaque`.

    Symbols, rules and solutions stay as they are. Raises nothing.

    >>> from solvent import hocl
    >>> hocl.python_from_molecule(hocl.List([1, hocl.Opaque({"key": 3})]))
    [1, {'key': 3}]
    """
    kind = type(molecule)
    if kind is List:
        return [python_from_molecule(item) for item in molecule]
    if kind is tuple:
        return tuple(python_from_molecule(item) for item in molecule)
    return molecule.value if kind is Opaque else molecule
