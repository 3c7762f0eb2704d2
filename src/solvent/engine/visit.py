"""All that happens to a molecule of one kind, in one function.

Where every rule that could want tuples with a certain first part is ready to react at once, the searches of all of
them are written one after the other into `visit(molecule)`, which makes the first possible reaction happen or settles
the molecule. The text is made once for a set of rules and bound to each store that holds them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.code import Code
from solvent.engine.index import Cell
from solvent.engine.matcher import Matcher
from solvent.lang.molecule import Symbol

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.compile import Entry
    from solvent.engine.index import Store
    from solvent.lang.molecule import Molecule
    from solvent.lang.solution import Solution

MIN_VISITS = 100
"""How many tuples must have been tried in a store before it pays to write a function that visits one."""
_made: dict[Any, list[_Text]] = {}


class _Text:
    """A compiled text, and what it counts on: the rules and the indexes for the keys it asked about."""

    __slots__ = ("counts_on", "make")

    def __init__(self, make: Callable[..., Any], counts_on: dict[Any, Any]) -> None:
        self.make = make
        self.counts_on = counts_on

    def holds(self, store: Store) -> bool:
        """Return whether all of it is so in a store."""
        return all(_state(store, key) == state for key, state in self.counts_on.items())


def note_visit(molecule: Molecule, entries: tuple[Entry, ...], store: Store, solution: Solution) -> None:
    """Remember how to visit molecules like this one, if each entry is ready for that."""
    if not store.rules:
        return
    head = molecule[0]
    key = (len(molecule), head)
    if type(head) is not Symbol or key not in store.heads or store.has_endless:
        return
    # A visit settles the molecule in the indexes that it knows of, so its searches must not make further ones.
    codes = [entry.code for entry in entries if entry.can_attempt()]
    lengths = {0, len(molecule)}
    if len(codes) == len(entries) and not any(one.takes_rules or lengths & one.looks_up for one in codes):
        store.fast[key] = _make_visit(entries, store, solution, key)


def _make_visit(
    entries: tuple[Entry, ...],
    store: Store,
    solution: Solution,
    shape: Any,
) -> Callable[[Molecule], Any]:
    """Return the function that visits a molecule of a shape, for which these are all the entries."""
    row, indexes = store.row(shape), store.tables(shape)
    owns = [entry.cell for entry in entries]
    rules = [entry.rule for entry in entries]
    while True:
        positions = tuple(indexes)
        key = (positions, *((entry.code, entry.element and entry.element.number) for entry in entries))
        texts = _made.setdefault(key, [])
        text = next((one for one in texts if one.holds(store)), None)
        if text is None:
            text = _write(entries, positions, store)
            texts.append(text)
        visit: Callable[[Molecule], Any] = text.make(
            store, solution, Cell, row.append, list(indexes.values()), owns, rules
        )
        # To make it may have asked for an index that the text does not know of.
        if len(indexes) == len(positions) and text.holds(store):
            return visit


def _state(store: Store, key: Any) -> Any:
    """Return the rules that a key enters and how its molecules are indexed."""
    entries = store.entries_of_key(key)
    return [(entry.code, entry.element and entry.element.number) for entry in entries], tuple(store.tables(key))


def _write(entries: tuple[Entry, ...], positions: tuple[tuple[Any, ...], ...], store: Store) -> _Text:
    code = Code("+".join(dict.fromkeys(entry.code.title for entry in entries)))
    code.open("def make(s0, solution, Cell, append, tables, owns, rules):")
    top = code.mark()
    for at in range(len(positions)):
        code.line(f"table{at} = tables[{at}]")
    code.open("def visit(m):")
    indexes: dict[Any, str] = {}
    consulted: set[Any] = set()
    for at, entry in enumerate(entries):
        matcher = Matcher(code, entry.code.plan, entry.code.functions, [])
        matcher.indexes = indexes
        matcher.top_line = top
        matcher.visited = store
        matcher.consulted = consulted
        code.begin_part()
        code.open("while True:")
        code.line(f"own = owns[{at}]; rule = rules[{at}]") if _needs_itself(entry) else None
        matcher.unpack_captures()
        matcher.write_body(entry.element, reacts=True, fail="break")
        code.close(3)
        code.line("break")
        code.close(2)
        entry.code.note_text(code)
    _write_settling(code, positions)
    code.close(1)
    code.line("return visit")
    code.close(0)
    return _Text(code.made()["make"], {key: _state(store, key) for key in consulted})


def _write_settling(code: Code, positions: tuple[tuple[Any, ...], ...]) -> None:
    """Write what `Store.add` does, with the indexes there are.

    A molecule often takes the place of one like it that has just been taken. If a dead cell stands last in the row of
    its first key and has the same keys in all other indexes, it stands in the right rows already and lives again.
    """
    if any(type(place) is tuple for places in positions for place in places):
        code.line("s0.add(m)")
        return
    if positions and all(positions):
        others = sorted({place for places in positions for place in places} - set(positions[0]))
        same = "".join(f" and old[{place}] == m[{place}]" for place in others)
        code.line(f"row = table0.get({_key_text(positions[0])})")
        code.open("if row and not row[-1].alive:")
        code.line("cell = row[-1]")
        code.line("old = cell.molecule")
        code.open(f"if old is not None{same}:")
        code.line("cell.molecule = m")
        code.line("cell.alive = True")
        code.line("s0.deaths -= 1")
        code.line("return")
        code.close()
        code.close()
    code.line("cell = Cell(m)")
    code.line("append(cell)")
    for at, places in enumerate(positions):
        code.line(f"key = {_key_text(places)}")
        code.line(f"row = table{at}.get(key)")
        code.line(f"if not row: table{at}[key] = [cell]")
        code.line("elif row[-1].alive: row.append(cell)")
        code.open("else:")
        code.line("row[-1].molecule = None")
        code.line("row[-1] = cell")
        code.close()
    code.line("s0.births += 1")
    code.line("if s0.deaths > s0.max_deaths: s0.tidy()")


def _key_text(places: tuple[int, ...]) -> str:
    parts = [f"m[{place}]" for place in places]
    return "m" if not parts else parts[0] if len(parts) == 1 else f"({', '.join(parts)})"


def _needs_itself(entry: Entry) -> bool:
    """Return whether a rule's text mentions the rule: to capture, to recur, or not to take itself."""
    return bool(entry.code.node.captures) or entry.code.node.is_recursive or entry.code.meets_rules
