"""Which rules could want a molecule: the registered rules of a store, found by shape and by first part."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.lang.molecule import ATOMS, Molecule, Symbol

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.engine.compile import Entry
    from solvent.engine.index import Cell
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution

_HEADS = frozenset({Symbol, str, int})
MIN_VISITS = 100
"""How many tuples must have been tried in a store before it pays to write a function that visits one."""
# Never written to.
_NONE: dict[Any, Any] = {}
_NO_KEYS: frozenset[Any] = frozenset()


class Registry:
    """The rules among the molecules of a store."""

    __slots__ = ("_cache", "_constants", "_tables", "fast", "has_endless", "heads", "late", "rules", "visits")

    def __init__(self) -> None:
        # A store without rules shares these, empty: there are many such stores, and they are small.
        # The registered rules: the entries of each, by its cell.
        self.rules: dict[Cell, list[Entry]] = _NONE
        # Rules that take the rest of their own solution: they wait until nothing else is fresh.
        self.late: Sequence[Entry] = ()
        self.has_endless = False
        # For molecules of a key: the function that does all there is to do with one (see `visit`), and how often
        # none was at hand.
        self.fast: dict[Any, Callable[[Molecule], Any]] = _NONE
        self.visits = 0
        # The lengths and first parts, and the constants, that patterns name.
        self.heads: set[Any] | frozenset[Any] = _NO_KEYS
        self._constants: set[Any] | frozenset[Any] = _NO_KEYS
        self._tables: dict[Any, list[Entry]] = _NONE
        self._cache: dict[Any, tuple[Entry, ...]] = _NONE

    def _open(self) -> None:
        """Make the tables that the first rule needs."""
        self.rules, self.fast, self._tables, self._cache = {}, {}, {}, {}
        self.late, self.heads, self._constants = [], set(), set()

    def register(self, cell: Cell, entries: list[Entry]) -> None:
        """Let a settled rule see molecules from now on."""
        if self.rules is _NONE:
            self._open()
        assert isinstance(self.late, list)
        self.rules[cell] = entries
        for entry in entries:
            if entry.code.is_late:
                self.late.append(entry)
                break
            for key in entry.keys:
                self._tables.setdefault(key, []).append(entry)
                if type(key) is tuple:
                    table = self.heads if type(key[0]) is int else self._constants
                    assert isinstance(table, set)
                    table.add(key)
        self._cache.clear()
        self.fast.clear()

    def unregister(self, cell: Cell) -> None:
        """Let a rule see no more molecules."""
        assert isinstance(self.late, list)
        for entry in self.rules.pop(cell):
            if entry in self.late:
                self.late.remove(entry)
                continue
            for key in entry.keys:
                table = self._tables.get(key)
                if table is not None and entry in table:
                    table.remove(entry)
        self._cache.clear()
        self.fast.clear()

    def forget(self) -> None:
        """Forget all rules, and what was made of them."""
        self.rules, self.fast, self._tables, self._cache = _NONE, _NONE, _NONE, _NONE
        self.late = ()

    def entries_for(self, molecule: Molecule) -> tuple[Entry, ...]:
        """Give the entries of all rules that a molecule of this shape could enter."""
        kind = type(molecule)
        key: Any
        if kind is tuple:
            head = molecule[0]
            key = (len(molecule), head)
            # `True` finds what is meant for `1` here, and its search will say no.
            found = self._cache.get(key)
            if found is not None:
                return found
            if type(head) not in _HEADS or key not in self.heads:
                key = len(molecule)
        else:
            key = kind
            if self._constants and kind in ATOMS and (kind, molecule) in self._constants:
                key = (kind, molecule)
        if self.rules is _NONE:
            return ()
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._collect(key, kind)
        return found

    def entries_of_key(self, key: tuple[int, Any]) -> tuple[Entry, ...]:
        """Give the entries of all rules that a tuple of this length and first part could enter."""
        return self._collect(key, tuple)

    def wants(self, key: tuple[int, Any]) -> bool:
        """Say whether a rule could want a tuple of this length and first part."""
        if self.rules is _NONE:
            return False
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._collect(key, tuple)
        return bool(found)

    def only_reader(self, shape: Any) -> Rule | None:
        """Give the rule that alone looks at molecules of a shape, and only at them, if it is one."""
        wide: tuple[Any, ...] = (object, tuple) if type(shape) is int else (object,)
        entries: list[Entry] = []
        for key, table in self._tables.items():
            if table and (key in wide or key == shape or (type(key) is tuple and key[0] == shape)):
                entries += table
        if len(entries) != 2 or entries[0].cell is not entries[1].cell or entries[0] is entries[1]:
            return None
        if any(shape not in entry.keys for entry in entries):
            return None
        return entries[0].rule

    def keys_of(self, rule: Rule) -> list[Any]:
        """Give the keys of all entries of a registered rule."""
        return [key for cell, entries in self.rules.items() if cell.molecule is rule for e in entries for key in e.keys]

    def note_fast(
        self, molecule: Molecule, entries: tuple[Entry, ...], solution: Solution, make_visit: Callable[..., Any]
    ) -> None:
        """Remember how to visit molecules like this one, if each entry is ready for that."""
        if self.rules is _NONE:
            return
        head = molecule[0]
        key = (len(molecule), head)
        if type(head) is not Symbol or key not in self.heads or self.has_endless:
            return
        # A visit settles the molecule in the indexes that it knows of, so its searches must not make further ones.
        codes = [entry.code for entry in entries if entry.can_attempt()]
        lengths = {0, len(molecule)}
        if len(codes) == len(entries) and not any(one.takes_rules or lengths & one.looks_up for one in codes):
            self.fast[key] = make_visit(entries, self, solution, key)

    def _collect(self, key: Any, kind: type) -> tuple[Entry, ...]:
        keys = [key, object]
        if kind is tuple:
            keys += [tuple, key[0]] if type(key) is tuple else [tuple]
        elif key is not kind:
            keys.append(kind)
        return tuple(entry for one in keys for entry in self._tables.get(one, ()))
