"""The settled molecules of a solution, indexed so that a rule finds its reactants without looking at the others.

A molecule stands in a `Cell`, and a cell in `Row`s: one for its shape (its type; for a tuple its length), and one for
each index that some rule has asked for, on the parts of a tuple that the rule knows before it looks (constants,
variables bound earlier, values a condition fixes). Cells die in place and rows are cleaned now and then, so a
search that is under way never trips over what a reaction took meanwhile.

Index keys are Python's, for which `1`, `1.0` and `True` are one: a row may hold a few cells too many, never one too
few, and the compiled rule checks what it finds.

The store also knows which rules could want a molecule (`entries_for`), by shape and by first part, so that a thousand
rules that do not concern a molecule cost nothing.
"""

from __future__ import annotations

from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import ATOMS, Endless, Molecule, Symbol, equal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from solvent.engine.compile import Entry

_DEAD_MIN = 16
_HEAD_MAX = 512
_HEADS = frozenset({Symbol, str, int})
WHOLE = ()
"""The positions of an index on the whole molecule."""


class Cell:
    """The place of one settled molecule."""

    __slots__ = ("alive", "endless", "molecule", "rows")

    def __init__(self, molecule: Molecule, rows: Sequence[Row], endless: bool) -> None:  # noqa: FBT001
        self.molecule = molecule
        self.alive = True
        self.endless = endless
        self.rows = rows


class Row:
    """Cells that have something in common, dead ones among them."""

    __slots__ = ("cells", "dead", "head")

    def __init__(self) -> None:
        self.cells: list[Cell] = []
        self.dead = 0
        # The cells before `head` are dead: reactions often take the oldest, and no search should pass them again.
        self.head = 0

    def scan(self) -> Iterable[Cell]:
        """Give the cells, perhaps with dead ones among them."""
        return islice(self.cells, self.head, None) if self.head else self.cells

    def note_death(self, cell: Cell) -> None:
        """Count a dead cell; clean up when they are many."""
        cells = self.cells
        if len(cells) == 1:
            self.cells = []
            return
        self.dead += 1
        if cells[self.head] is cell:
            head = self.head + 1
            size = len(cells)
            while head < size and not cells[head].alive:
                head += 1
            self.head = head
        if (self.dead > _DEAD_MIN and self.dead * 2 > len(cells)) or self.head > _HEAD_MAX or self.head >= len(cells):
            # A new list: whoever is going through the old one goes on undisturbed.
            self.cells = [one for one in cells if one.alive]
            self.dead = self.head = 0


class _Bucket:
    """The cells of one shape, and their indexes by positions."""

    __slots__ = ("indexes", "keyed", "row", "rows")

    def __init__(self) -> None:
        self.row = Row()
        self.rows = (self.row,)
        self.indexes: dict[tuple[int, ...], dict[Any, Row]] = {}
        # The same tables, each with the function that gives a molecule's key in it.
        self.keyed: list[tuple[Callable[[Molecule], Any], dict[Any, Row]]] = []


class Store:
    """All settled molecules of one solution, and the rules among them."""

    __slots__ = ("_buckets", "_cache", "_constants", "_heads", "_tables", "has_endless", "late", "rules", "size")

    def __init__(self) -> None:
        self._buckets: dict[Any, _Bucket] = {}
        self.size = 0
        self.has_endless = False
        # The registered rules: the entries of each, by its cell.
        self.rules: dict[Cell, list[Entry]] = {}
        # Rules that take the rest of their own solution: they wait until nothing else is fresh.
        self.late: list[Entry] = []
        self._tables: dict[Any, list[Entry]] = {}
        self._cache: dict[Any, tuple[Entry, ...]] = {}
        self._heads: set[Any] = set()
        self._constants: set[Any] = set()

    # --- Molecules.

    def add(self, molecule: Molecule) -> Cell:
        """Settle a molecule."""
        endless = type(molecule) is Endless
        if endless:
            molecule = molecule.molecule
        kind = type(molecule)
        shape = len(molecule) if kind is tuple else kind
        bucket = self._buckets.get(shape)
        if bucket is None:
            bucket = self._buckets[shape] = _Bucket()
        cell = Cell(molecule, bucket.rows, endless)
        bucket.row.cells.append(cell)
        if bucket.keyed:
            rows = [bucket.row]
            for key_of, table in bucket.keyed:
                key = key_of(molecule)
                row = table.get(key)
                if row is None:
                    row = table[key] = Row()
                row.cells.append(cell)
                rows.append(row)
            cell.rows = rows
        self.size += 1
        return cell

    def remove(self, cell: Cell) -> None:
        """Take a molecule out; of an endless one there are more."""
        if cell.endless or not cell.alive:
            return
        self.delete(cell)

    def delete(self, cell: Cell) -> None:
        """Take a molecule out even if it is endless."""
        cell.alive = False
        self.size -= 1
        for row in cell.rows:
            row.note_death(cell)
        if cell in self.rules:
            self.unregister(cell)

    def index(self, shape: Any, positions: tuple[int, ...]) -> dict[Any, Row]:
        """Give the index of a shape on some positions, made when first asked for."""
        bucket = self._buckets.get(shape)
        if bucket is None:
            bucket = self._buckets[shape] = _Bucket()
        table = bucket.indexes.get(positions)
        if table is None:
            table = bucket.indexes[positions] = {}
            key_of: Callable[[Molecule], Any] = itemgetter(*positions) if positions else _whole
            bucket.keyed.append((key_of, table))
            for cell in bucket.row.cells:
                if cell.alive:
                    row = table.setdefault(key_of(cell.molecule), Row())
                    row.cells.append(cell)
                    cell.rows = [*cell.rows, row]
        return table

    def row(self, shape: Any) -> Row:
        """Give the row of a shape."""
        bucket = self._buckets.get(shape)
        if bucket is None:
            bucket = self._buckets[shape] = _Bucket()
        return bucket.row

    def same(self, molecule: Molecule) -> Row | None:
        """Give the row of the molecules that may equal this one."""
        shape = len(molecule) if type(molecule) is tuple else type(molecule)
        return self.index(shape, WHOLE).get(molecule)

    def all_rows(self, *, tuples_only: bool = False) -> list[Row]:
        """Give the rows of all shapes."""
        return [
            bucket.row for shape, bucket in self._buckets.items() if not tuples_only or type(shape) is int
        ]

    def cells(self) -> Iterator[Cell]:
        """Give every living cell."""
        for row in self.all_rows():
            for cell in row.cells:
                if cell.alive:
                    yield cell

    def __iter__(self) -> Iterator[Molecule]:
        for cell in self.cells():
            yield Endless(cell.molecule) if cell.endless else cell.molecule

    def __len__(self) -> int:
        return self.size

    def discard(self, molecule: Molecule) -> bool:
        """Remove one molecule equal to this; say whether there was one."""
        endless = type(molecule) is Endless
        wanted = molecule.molecule if endless else molecule
        for cell in self.cells():
            if cell.endless is endless and equal(cell.molecule, wanted):
                self.delete(cell)
                return True
        return False

    # --- Rules.

    def register(self, cell: Cell, entries: list[Entry]) -> None:
        """Let a settled rule see molecules from now on."""
        self.rules[cell] = entries
        for entry in entries:
            if entry.code.is_late:
                self.late.append(entry)
                break
            for key in entry.keys:
                self._tables.setdefault(key, []).append(entry)
                if type(key) is tuple:
                    (self._heads if type(key[0]) is int else self._constants).add(key)
        self._cache.clear()

    def unregister(self, cell: Cell) -> None:
        """Let a rule see no more molecules."""
        for entry in self.rules.pop(cell):
            if entry in self.late:
                self.late.remove(entry)
                continue
            for key in entry.keys:
                table = self._tables.get(key)
                if table is not None and entry in table:
                    table.remove(entry)
        self._cache.clear()

    def entries_for(self, molecule: Molecule) -> tuple[Entry, ...]:
        """Give the entries of all rules that a molecule of this shape could enter."""
        kind = type(molecule)
        key: Any
        if kind is tuple:
            head = molecule[0]
            key = (len(molecule), head)
            if type(head) not in _HEADS or key not in self._heads:
                key = len(molecule)
        else:
            key = kind
            if self._constants and kind in ATOMS and (kind, molecule) in self._constants:
                key = (kind, molecule)
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._collect(key, kind)
        return found

    def _collect(self, key: Any, kind: type) -> tuple[Entry, ...]:
        keys = [key, object]
        if kind is tuple:
            keys += [tuple, key[0]] if type(key) is tuple else [tuple]
        elif key is not kind:
            keys.append(kind)
        return tuple(entry for one in keys for entry in self._tables.get(one, ()))


def _whole(molecule: Molecule) -> Molecule:
    return molecule
