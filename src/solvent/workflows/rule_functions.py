"""What the rules of a workflow compute with: arguments in order, and results in order.

They work on molecules as they are: a value that only Python knows stays closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from solvent.errors import WorkflowProblem
from solvent.lang.molecule import List, Molecule, Opaque, Symbol
from solvent.lang.operators import Incomputable
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable

FROM, VALUE, FILTER = Symbol("FROM"), Symbol("VALUE"), Symbol("FILTER")
ARRIVED, SIGNALLED, SIGNAL = Symbol("ARRIVED"), Symbol("SIGNALLED"), Symbol("SIGNAL")
NOTHING = Opaque(None)
"""What stands for the result of a task that has not arrived, where not all must."""


def arguments(template: Molecule, *received: Molecule) -> List:
    """`arguments(a, w)`: fill a template with what was received.

    The template's parts are `FROM : T1`, `FILTER : T1 : 3` or `VALUE : v`; received are `T1 : run : value` and
    `FILTER : T1 : 3 : value`. Where tasks join by patterns, also `ARRIVED : (sources)`, the first of all that was
    received, `ARRIVED : (sources) : ALL`, the list of all, and `SIGNALLED`, what came as `SIGNAL : 0 : value`; what was
    not received is nothing.
    """
    if len(template) == 1 and len(received) == 1 and template[0][0] is FROM and template[0][1] == received[0][0]:
        return List((received[0][2],))
    values: dict[Any, Molecule] = {}
    for one in received:
        if one[0] is FILTER:
            values[one[1], one[2]] = one[3]
        else:
            values[one[0]] = one[2]
    found = []
    for part in template:
        if part[0] is VALUE:
            found.append(part[1])
        elif part[0] is FROM:
            found.append(values.get(part[1], NOTHING))
        elif part[0] is FILTER:
            key = part[1], part[2]
            found.append(values[key] if key in values else _item_of(values.get(part[1]), part[2]))
        elif part[0] is ARRIVED:
            found.append(_arrived(part, received))
        else:
            found.append(values.get(SIGNAL, NOTHING))
    return List(found)


MAX_SHOWN = 16
"""Up to how many arguments a task's template is written anew at each arrival, for people to see; and results that are
lists of at most so many items. The engine looks through what is shown at each arrival."""


class Arrived:
    """The arguments of a task, if they are many or long: a template, or what had arrived before, and one result more.

    It is never changed, so whatever comes of the reaction that makes it, the molecules before it are as they were.
    """

    __slots__ = ("before", "count", "source", "value")

    def __init__(self, before: Molecule, source: Molecule, value: Molecule) -> None:
        self.before = before
        self.source = source
        self.value = value
        self.count: int = 1 if type(before) is List else before.value.count + 1

    def __repr__(self) -> str:
        return f"{self.count} results"


def put(template: Molecule, source: Molecule, value: Molecule) -> Molecule:
    """`put(a, s, r)`: the arguments `a` with the result of `s`; for much in the same time as for little."""
    if type(template) is not List or len(template) > MAX_SHOWN or (type(value) is List and len(value) > MAX_SHOWN):
        return Opaque(Arrived(template, source, value))
    return List([part if _is_there(part, source) else (VALUE, _taken(part, value)) for part in template])


def complete(template: Molecule, source: Molecule, value: Molecule) -> List:
    """`complete(a, s, r)`: the values of the arguments `a`, of which only the result of `s` was missing."""
    if type(template) is List:
        return List([part[1] if part[0] is VALUE else _taken(part, value) for part in template])
    received = [(source, 0, value)]
    while type(template) is not List:
        last = template.value
        received.append((last.source, 0, last.value))
        template = last.before
    return arguments(template, *received)


def _is_there(part: Molecule, source: Molecule) -> bool:
    return part[0] is VALUE or part[1] != source


def _taken(part: Molecule, result: Molecule) -> Molecule:
    """Return what an argument takes of a result: all of it, or an item."""
    return result if part[0] is FROM else item(part[2], result)


def _item_of(result: Molecule, number: int) -> Molecule:
    return NOTHING if result is None else item(number, result)


def _arrived(part: Molecule, received: tuple[Molecule, ...]) -> Molecule:
    """Return what was received, in the order of the sources, and of one source in the order in which it was sent."""
    place = {source: at for at, source in enumerate(part[1])}
    tokens = sorted((one for one in received if one[0] in place), key=lambda one: (place[one[0]], one[1]))
    if len(part) > 2:
        return List(one[2] for one in tokens)
    return min(tokens, key=lambda one: one[1])[2] if tokens else NOTHING


def parts(over: Molecule, template: Molecule, *received: Molecule) -> Opaque:
    """`parts(s, b, i)`: the arguments of each of several instances, closed.

    `s` is the position of the list that they go over, or -1: then the last of `b` says how many they are.
    """
    values = arguments(template, *received)
    if over >= 0:
        return Opaque(List(List((*values[:over], one, *values[over + 1 :])) for one in items(values[over])))
    *same, number = values
    if type(number) is not int or not 0 <= number <= MAX_INSTANCES:
        text = f"it is started {number if type(number) is int and number < 0 else _kind(number)} times{_advice(number)}"
        if type(number) is int and number > 0:
            text = f"it is started more than {MAX_INSTANCES:,} times"
        if type(number) is Opaque and type(number.value) is Unusable:
            text = number.value
        return Opaque(List((List((*same, Opaque(Unusable(text)))),)))
    return Opaque(List([List(same)] * number))


def whole(over: Molecule, template: Molecule, *received: Molecule) -> Opaque:
    """`whole(s, b, i)`: the arguments that the instances have in common, for instances that come later."""
    values = arguments(template, *received)
    return Opaque((over, List(values if over >= 0 else values[:-1])))


def still(wanted: Molecule, *left: Molecule) -> Solution:
    """`still(o, x)`: those of a list that are among what is left."""
    return Solution(one for one in left if one in wanted)


def another(_task: Molecule, common: Molecule, result: Molecule) -> List:
    """`another(t, p, r)`: the arguments of one more instance: a result in place of the item."""
    over, values = common.value
    return List((*values[:over], result, *values[over + 1 :])) if over >= 0 else values


def renamed(template: Molecule, old: Molecule, new: Molecule) -> List:
    """`renamed(a, ti, tj)`: the template with another task as the origin."""
    return List(
        (part[0], new, *part[2:]) if part[0] is not VALUE and part[1] == old and type(part[1]) is type(old) else part
        for part in template
    )


class LeftOut:
    """Stands for the result of an item that is left out of the list."""


LEFT_OUT = LeftOut()


def ordered(*numbered: Molecule) -> List:
    """`ordered(w)`: the values of `number : value`, by number, without items that are left out."""
    return List(one[1] for one in sorted(numbered, key=_number) if not _is_left_out(one[1]))


def _is_left_out(molecule: Molecule) -> bool:
    return type(molecule) is Opaque and molecule.value is LEFT_OUT


def joined(one: Molecule, other: Molecule) -> List:
    """`joined(l, m)`: one list behind the other."""
    if type(one) is not List or type(other) is not List:
        raise Incomputable("joined needs two lists")
    return List((*one, *other))


def filled(slots: Molecule, items: Molecule) -> List:
    """`filled(p, l)`: the arguments, with items given as `slot : value` in place of the lists they come from."""
    found = list(slots.value)
    for slot, value in items:
        found[slot] = value
    return List(found)


def closed(items: Molecule) -> Opaque:
    """`closed(l)`: the list as one thing, which nobody looks into."""
    return Opaque(items)


def opened(place: Molecule, items: Molecule) -> Molecule:
    """`opened(k, l)`: an item of a closed list, counted from 0."""
    return items.value[place]


def count(items: Molecule) -> int:
    """`count(l)`: how many items a closed list has."""
    return len(items.value)


def concerns(alternative: Molecule, kind: Molecule, kinds: Molecule) -> bool:
    """`concerns(n, k, l)`: whether a fault is one of the kinds; a rejected result concerns those that rejected it."""
    if type(kind) is tuple:
        return kind[0] in kinds and alternative in kind[1]
    return kind in kinds


MAX_NESTED = 100
MAX_INSTANCES = 1_000_000
"""The most instances of one task that are started at once."""


class Unpassable(WorkflowProblem):
    """An argument or a result that cannot be passed on to other tasks."""

    def __init__(self) -> None:
        super().__init__("W208", f"a list in a list, {MAX_NESTED} deep or in itself, cannot be passed on", hint=_FLAT)


_FLAT = "keep long data flat"


class Unusable(str):
    """Stands for an item that is not there; a call with it as an argument fails, and this text says why."""

    __slots__ = ()


def item(number: Molecule, results: Molecule) -> Molecule:
    """`item(j, l)`: the j-th item of a list, or of what only Python knows as one."""
    sequence = _sequence(results)
    if sequence is None:
        return Opaque(Unusable(f"item {number} is taken of {_no_list(results)}"))
    if not 1 <= number <= len(sequence):
        return Opaque(Unusable(f"item {number} is taken of a list of {len(sequence)}"))
    found = sequence[number - 1]
    return found if type(results) is List else molecule_of(found)


def items(results: Molecule) -> List:
    """`items(l)`: the list that a result is, also where only Python knows it as one."""
    if type(results) is List:
        return results
    sequence = _sequence(results)
    if sequence is not None:
        return List(map(molecule_of, sequence))
    if type(results) is Opaque and type(results.value) is Unusable:
        return List((results,))
    return List((Opaque(Unusable(f"it is called for each item of {_no_list(results)}")),))


def _sequence(molecule: Molecule) -> Any:
    """Return what has a length and items by position: lists, tuples, arrays; no texts and no mappings."""
    if type(molecule) is List:
        return molecule
    value = molecule.value if type(molecule) is Opaque else molecule
    if isinstance(value, str | bytes | Mapping) or not (hasattr(value, "__len__") and hasattr(value, "__getitem__")):
        return None
    return value


def _no_list(molecule: Molecule) -> str:
    return f"{_kind(molecule)}, which is not a list{_advice(molecule)}"


def _advice(molecule: Molecule) -> str:
    """Return what the user probably did, and what to do."""
    value = molecule.value if type(molecule) is Opaque else molecule
    if value is None:
        return "; is a `return` missing in the service?"
    return "; let the service return `list(...)` of it" if isinstance(value, Iterator) else ""


def _kind(molecule: Molecule) -> str:
    value = molecule.value if type(molecule) is Opaque else molecule
    if value is None:
        return "`None`"
    names = {int: "an integer", float: "a number", str: "a text", bool: "true or false"}
    return names.get(type(value), f"Python's {type(value).__name__}")


def _number(pair: Molecule) -> int:
    number: int = pair[0]
    return number


def endless(max_rounds: Molecule) -> Molecule:
    """`endless(m)`: what is said of a loop that is not left after its last round."""
    return f"it is to be repeated after {max_rounds} rounds, and `max_rounds` allows no more"


FUNCTIONS: dict[str, Callable[..., Molecule]] = {
    "arguments": arguments,
    "put": put,
    "complete": complete,
    "renamed": renamed,
    "ordered": ordered,
    "joined": joined,
    "filled": filled,
    "closed": closed,
    "opened": opened,
    "count": count,
    "concerns": concerns,
    "item": item,
    "items": items,
    "parts": parts,
    "whole": whole,
    "still": still,
    "another": another,
    "endless": endless,
}
"""Name in the rules to function."""


def molecule_of(value: Any, depth: int = 0) -> Molecule:
    """Return the molecule for an argument or a result: atoms and lists as they are, all else closed."""
    kind = type(value)
    if kind in (int, float, str, bool, Opaque, Symbol):
        return value
    if kind is list:
        if depth >= MAX_NESTED:
            raise Unpassable
        return List([molecule_of(item, depth + 1) for item in value])
    if kind.__module__ == "numpy" and isinstance(value, Real):
        # So that conditions can compare it.
        return value.item()  # type: ignore[attr-defined]
    return Opaque(value)


def value_of(molecule: Molecule) -> Any:
    """Return the Python value that `molecule_of` was given."""
    kind = type(molecule)
    if kind is List:
        return [value_of(item) for item in molecule]
    return molecule.value if kind is Opaque else molecule
