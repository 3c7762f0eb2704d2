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
from solvent.chemistry.rule import Rule

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

    __slots__ = ("alive", "molecule", "rows")
    endless = False

    def __init__(self, molecule: Molecule, rows: Sequence[Row]) -> None:
        self.molecule = molecule
        self.alive = True
        self.rows = rows


class EndlessCell(Cell):
    """The place of a molecule of which there are always more."""

    __slots__ = ()
    endless = True


class Row:
    """Cells that have something in common, dead ones among them."""

    __slots__ = ("cells", "dead", "head")

    def __init__(self, cells: list[Cell]) -> None:
        self.cells = cells
        self.dead = 0
        # The cells before `head` are dead: reactions often take the oldest, and no search should pass them again.
        self.head = 0

    def scan(self) -> Iterable[Cell]:
        """Give the cells, perhaps with dead ones among them."""
        return islice(self.cells, self.head, None) if self.head else self.cells

    def tidy(self) -> None:
        """Pass over the dead cells at the beginning; clean up when dead cells are many."""
        cells = self.cells
        size = len(cells)
        head = self.head
        while head < size and not cells[head].alive:
            head += 1
        self.head = head
        if self.dead * 2 > size or head > _HEAD_MAX:
            # A new list: whoever is going through the old one goes on undisturbed.
            self.cells = [one for one in cells if one.alive]
            self.dead = self.head = 0


class _Bucket:
    """The cells of one shape, and their indexes by positions."""

    __slots__ = ("indexes", "keyed", "row", "rows")

    def __init__(self) -> None:
        self.row = Row([])
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
        kind = type(molecule)
        make = Cell
        if kind is Endless:
            molecule = molecule.molecule
            kind = type(molecule)
            make = EndlessCell
            self.has_endless = True
        shape = len(molecule) if kind is tuple else kind
        bucket = self._buckets.get(shape)
        if bucket is None:
            bucket = self._buckets[shape] = _Bucket()
        cell = make(molecule, bucket.rows)
        bucket.row.cells.append(cell)
        if bucket.keyed:
            rows = [bucket.row]
            for key_of, table in bucket.keyed:
                key = key_of(molecule)
                row = table.get(key)
                if row is None:
                    row = table[key] = Row([cell])
                else:
                    row.cells.append(cell)
                rows.append(row)
            cell.rows = rows
        self.size += 1
        return cell

    def remove(self, cell: Cell) -> None:
        """Take a molecule out; of an endless one there are more."""
        if not cell.endless:
            self.delete(cell)

    def delete(self, cell: Cell) -> None:
        """Take a molecule out even if it is endless."""
        cell.alive = False
        self.size -= 1
        for row in cell.rows:
            cells = row.cells
            if len(cells) == 1:
                row.cells = []
            else:
                row.dead += 1
                if cells[row.head] is cell or row.dead > _DEAD_MIN:
                    row.tidy()
        if type(cell.molecule) is Rule and cell in self.rules:
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
                    row = table.setdefault(key_of(cell.molecule), Row([]))
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

    def count(self, shape: Any) -> int:
        """Count the living cells of a shape."""
        bucket = self._buckets.get(shape)
        return 0 if bucket is None else len(bucket.row.cells) - bucket.row.dead

    def clear(self, shape: Any) -> None:
        """Take all molecules of a shape out."""
        for cell in [cell for cell in self.row(shape).cells if cell.alive]:
            self.delete(cell)

    def add_all(self, molecules: Iterable[Molecule]) -> None:
        """Settle molecules that are known not to react."""
        for molecule in molecules:
            self.add(molecule)

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
            # `True` finds what is meant for `1` here, and its search will say no.
            found = self._cache.get(key)
            if found is not None:
                return found
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

    def only_reader(self, shape: Any) -> Rule | None:
        """Give the rule that alone looks at molecules of a shape, and only at them, if it is one."""
        wide: tuple[Any, ...] = (object, tuple) if type(shape) is int else (object,)
        entries: list[Entry] = []
        for key, table in self._tables.items():
            if table and (key in wide or key == shape or (type(key) is tuple and key[0] == shape)):
                entries += table
        if len(entries) != 2 or entries[0].cell is not entries[1].cell or entries[0] is entries[1]:  # noqa: PLR2004
            return None
        if any(shape not in entry.keys for entry in entries):
            return None
        return entries[0].rule

    def _collect(self, key: Any, kind: type) -> tuple[Entry, ...]:
        keys = [key, object]
        if kind is tuple:
            keys += [tuple, key[0]] if type(key) is tuple else [tuple]
        elif key is not kind:
            keys.append(kind)
        return tuple(entry for one in keys for entry in self._tables.get(one, ()))


def _whole(molecule: Molecule) -> Molecule:
    return molecule
