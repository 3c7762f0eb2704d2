"""The settled molecules of a solution, indexed so that a rule finds its reactants without looking at the others.

A molecule stands in a `Cell`, and a cell in rows, which are plain lists: one for its shape (its type; for a tuple its
length), and one for each index that some rule has asked for, on the parts of a tuple that the rule knows before it
looks (constants, variables bound earlier, values a condition fixes). A molecule that is taken only marks its cell dead;
dead cells leave the rows when a new cell comes to stand there, when a search meets many of them, and when there are
more of them than living ones. None of that happens while a search is under way in the row, so a search may go on after
a reaction.

Index keys are Python's, for which `1`, `1.0` and `True` are one: a row may hold a few cells too many, never one too
few, and the compiled rule checks what it finds.

The rules among the molecules are known by what they could want, so that a thousand rules that do not concern a molecule
cost nothing.
"""

from __future__ import annotations

from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.lang.molecule import ATOMS, Endless, Molecule, Symbol, equal
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


_MIN_DEAD = 64
# Never written to.
_NONE: dict[Any, Any] = {}
_NO_KEYS: frozenset[Any] = frozenset()
_HEADS = frozenset({Symbol, str, int})
WHOLE = ()
"""The positions of an index on the whole molecule."""


class Cell:
    """The place of one settled molecule."""

    __slots__ = ("alive", "molecule")
    endless = False

    def __init__(self, molecule: Molecule) -> None:
        self.molecule = molecule
        self.alive = True


class EndlessCell(Cell):
    """The place of a molecule of which there are always more."""

    __slots__ = ()
    endless = True


Row: TypeAlias = list[Cell]
"""Cells that have something in common, dead ones among them."""


def in_order(row: Row) -> Row:
    """Go through a row from the oldest cell to the newest."""
    return row


def trim(row: Row) -> None:
    """Drop dead cells at the beginning of a row, where most searches end, once they are many."""
    dead = 0
    for cell in row:
        if cell.alive:
            break
        dead += 1
    if dead > _MIN_DEAD or dead == len(row):
        bury(row[:dead])
        del row[:dead]


def bury(cells: Iterable[Cell]) -> None:
    """Make sure that dead cells which leave one of their rows never live again in the others."""
    for cell in cells:
        if not cell.alive:
            cell.molecule = None


class _Bucket:
    """The cells of one shape, and their indexes by positions."""

    __slots__ = ("indexes", "keyed", "row")

    def __init__(self) -> None:
        self.row: Row = []
        self.indexes: dict[tuple[Any, ...], dict[Any, Row]] = _NONE
        # The same tables, each with the function that gives a molecule's key in it.
        self.keyed: tuple[tuple[Callable[[Molecule], Any], dict[Any, Row]], ...] = ()

    def tidy(self) -> None:
        """Drop dead cells from the row of the shape."""
        bury(self.row)
        self.row[:] = [cell for cell in self.row if cell.alive]

    def tidy_tables(self) -> None:
        """Drop dead cells from the indexes; the tables stay the same objects."""
        for table in self.indexes.values():
            for key, row in list(table.items()):
                living = [cell for cell in row if cell.alive]
                if len(living) < len(row):
                    bury(row)
                if not living:
                    del table[key]
                elif len(living) < len(row):
                    table[key] = living


class Store:
    """All settled molecules of one solution, and the rules among them.

    What a rule registers, its entries, are made by `compile` (`Entry`); here they are only kept and found.
    """

    __slots__ = (
        "_buckets", "_cache", "_constants", "_deaths_in_tables", "_tables", "births", "deaths", "fast", "has_endless",
        "heads", "late", "max_deaths", "queues", "reactions", "rules", "untried", "visits",
    )  # fmt: skip

    def __init__(self) -> None:
        # A store without rules shares these, empty: there are many such stores, and they are small.
        # The registered rules: the entries of each, by its cell.
        self.rules: dict[Cell, list[Any]] = _NONE
        # Rules that take the rest of their own solution: they wait until nothing else is fresh.
        self.late: Sequence[Any] = ()
        self.has_endless = False
        # For molecules of a key: the function that does all there is to do with one (see `visit`), and how often
        # none was at hand.
        self.fast: dict[Any, Callable[[Molecule], Any]] = _NONE
        self.visits = 0
        # The lengths and first parts, and the constants, that patterns name.
        self.heads: set[Any] | frozenset[Any] = _NO_KEYS
        self._constants: set[Any] | frozenset[Any] = _NO_KEYS
        self._tables: dict[Any, list[Any]] = _NONE
        self._cache: dict[Any, tuple[Any, ...]] = _NONE
        self._buckets: dict[Any, _Bucket] = {}
        # Cells made and cells that died, from the beginning, and the deaths when rows and tables were last tidied.
        self.births = 0
        self.deaths = 0
        self._deaths_in_tables = 0
        # How many deaths make the rows be tidied next.
        self.max_deaths = _MIN_DEAD
        # Reactions made to happen by attempts, until the reactor counts them.
        self.reactions = 0
        # Flat molecules that reactions made, by their key, which have not been tried yet.
        self.queues: dict[Any, list[Molecule]] = _NONE
        # Set by whoever settles molecules without trying them against each other.
        self.untried = False

    def add(self, molecule: Molecule) -> Cell:
        """Settle a molecule."""
        kind = type(molecule)
        if kind is Endless:
            molecule = molecule.molecule
            kind = type(molecule)
            self.has_endless = True
            self.fast.clear()
            cell: Cell = EndlessCell(molecule)
        else:
            cell = Cell(molecule)
        buckets = self._buckets
        if kind is tuple:
            shape = (len(molecule), molecule[0])
            bucket = buckets.get(shape)
            if bucket is None:
                # A first part that a rule names gets its bucket at once, so that nothing has to move there later.
                bucket = self._bucket(shape if shape in self.heads else shape[0])
        else:
            bucket = buckets.get(kind) or self._bucket(kind)
        bucket.row.append(cell)
        for key_of, table in bucket.keyed:
            key = key_of(molecule)
            row = table.get(key)
            if not row:
                table[key] = [cell]
            elif row[-1].alive:
                row.append(cell)
            else:
                row[-1].molecule = None
                row[-1] = cell
        self.births += 1
        if self.deaths > self.max_deaths:
            self.tidy()
        return cell

    @property
    def size(self) -> int:
        """How many cells live."""
        return self.births - self.deaths

    def tidy(self) -> None:
        """Drop dead cells from the rows; only when no search is under way."""
        for bucket in self._buckets.values():
            bucket.tidy()
        self.max_deaths = self.deaths + self.size + _MIN_DEAD
        # In an index a new cell takes the place of a dead one, so little gathers there.
        if self.deaths - self._deaths_in_tables > 8 * self.size:
            for bucket in self._buckets.values():
                bucket.tidy_tables()
            self._deaths_in_tables = self.deaths

    def remove(self, cell: Cell) -> None:
        """Take a molecule out; of an endless one there are more."""
        if not cell.endless:
            self.delete(cell)

    def delete(self, cell: Cell) -> None:
        """Take a molecule out even if it is endless."""
        cell.alive = False
        self.deaths += 1
        if type(cell.molecule) is Rule and cell in self.rules:
            self.unregister(cell)

    def index(self, shape: Any, positions: tuple[Any, ...]) -> dict[Any, Row]:
        """Return the index of a shape on some positions, made when first asked for."""
        bucket = self._buckets.get(shape) or self._bucket(shape)
        table = bucket.indexes.get(positions)
        if table is None:
            if bucket.indexes is _NONE:
                bucket.indexes = {}
            table = bucket.indexes[positions] = {}
            key_of = _key_function(positions)
            bucket.keyed = (*bucket.keyed, (key_of, table))
            self.fast.clear()
            for cell in bucket.row:
                if cell.alive:
                    table.setdefault(key_of(cell.molecule), []).append(cell)
        return table

    def row(self, shape: Any) -> Row:
        """Return the row of a shape."""
        bucket = self._buckets.get(shape)
        return (bucket if bucket is not None else self._bucket(shape)).row

    def holds(self, shapes: tuple[Any, ...]) -> bool:
        """Return whether of each shape there may be molecules."""
        buckets = self._buckets
        for shape in shapes:
            bucket = buckets.get(shape)
            if bucket is None or not bucket.row:
                # Tuples whose first part no rule has asked for by name yet stand with all others of their length.
                if bucket is None and type(shape) is tuple and shape[0] in buckets:
                    continue
                return False
        return True

    def has_shape(self, shape: Any) -> bool:
        """Return whether molecules of a shape have settled."""
        bucket = self._buckets.get(shape)
        return bucket is not None and any(cell.alive for cell in bucket.row)

    def tables(self, shape: Any) -> dict[tuple[Any, ...], dict[Any, Row]]:
        """Return the indexes of a shape, by their positions; it stays the same dictionary."""
        bucket = self._bucket(shape)
        if bucket.indexes is _NONE:
            bucket.indexes = {}
        return bucket.indexes

    def _bucket(self, shape: Any) -> _Bucket:
        """Return the bucket of a shape; that of a first part takes over the tuples which begin so."""
        bucket = self._buckets.get(shape)
        if bucket is None:
            bucket = self._buckets[shape] = _Bucket()
            if type(shape) is tuple and shape[0] in self._buckets:
                general = self._buckets[shape[0]]
                moving = [cell for cell in general.row if cell.alive and cell.molecule[0] == shape[1]]
                if moving:
                    bucket.row += moving
                    leaving = set(map(id, moving))
                    general.row[:] = [cell for cell in general.row if id(cell) not in leaving]
                    for table in general.indexes.values():
                        for key, row in list(table.items()):
                            table[key] = [cell for cell in row if id(cell) not in leaving]
        return bucket

    def lookup(self, size: int, positions: tuple[Any, ...], key: Any) -> Row | None:
        """Return the tuples of a length with certain parts, whatever they begin with."""
        found = self.index(size, positions).get(key)
        if positions[0] == 0:
            # Those that begin with it stand together, or with all others of their length.
            headed = (size, key if len(positions) == 1 else key[0])
            others = self.index(headed, positions).get(key) if headed in self._buckets else None
            return [*found, *others] if found and others else found or others
        for shape in self._buckets:
            if type(shape) is tuple and shape[0] == size:
                break
        else:
            return found
        rows = [self.index(shape, positions).get(key) for shape in self._tuple_shapes(size)]
        return [cell for row in rows if row for cell in row]

    def _tuple_shapes(self, size: int | None) -> list[Any]:
        return [
            shape
            for shape in self._buckets
            if (type(shape) is int and size in (None, shape)) or (type(shape) is tuple and size in (None, shape[0]))
        ]

    def tuple_rows(self, size: int | None) -> list[Row]:
        """Return the rows of all tuples, or of those of a length."""
        return [self._buckets[shape].row for shape in self._tuple_shapes(size)]

    def same(self, molecule: Molecule) -> Row | None:
        """Return the row of the molecules that may equal this one."""
        if type(molecule) is tuple:
            headed = (len(molecule), molecule[0])
            return self.index(headed if headed in self._buckets else len(molecule), WHOLE).get(molecule)
        return self.index(type(molecule), WHOLE).get(molecule)

    def all_rows(self) -> list[Row]:
        """Return the rows of all shapes."""
        return [bucket.row for bucket in self._buckets.values()]

    def clear(self, shape: Any) -> None:
        """Take all molecules of a shape out."""
        bucket = self._buckets[shape]
        for cell in bucket.row:
            if cell.alive:
                self.delete(cell)
        bucket.tidy()
        bucket.tidy_tables()

    def add_all(self, molecules: Iterable[Molecule]) -> None:
        """Settle molecules that are known not to react."""
        for molecule in molecules:
            self.add(molecule)

    def molecules(self) -> list[Molecule]:
        """Return every molecule, as iteration does."""
        if self.has_endless or self.queues:
            return list(self)
        return [cell.molecule for bucket in self._buckets.values() for cell in bucket.row if cell.alive]

    def cells(self) -> Iterator[Cell]:
        """Return every living cell."""
        for row in self.all_rows():
            for cell in row:
                if cell.alive:
                    yield cell

    def queue(self, key: Any) -> list[Molecule]:
        """Return the queue of a kind of flat molecules; it stays the same list."""
        if self.queues is _NONE:
            self.queues = {}
        return self.queues.setdefault(key, [])

    def enqueue(self, molecules: list[Molecule]) -> list[Molecule]:
        """Put the flat tuples that begin with a symbol some rule names into their queues; give the others."""
        others = []
        heads = self.heads
        for molecule in molecules:
            if type(molecule) is tuple and type(molecule[0]) is Symbol:
                key = (len(molecule), molecule[0])
                if key in heads and ATOMS.issuperset(map(type, molecule)):
                    self.queue(key).append(molecule)
                    continue
            others.append(molecule)
        return others

    def __iter__(self) -> Iterator[Molecule]:
        for cell in self.cells():
            yield Endless(cell.molecule) if cell.endless else cell.molecule
        for queue in self.queues.values():
            yield from queue

    def __len__(self) -> int:
        return self.size + sum(map(len, self.queues.values()))

    def discard(self, molecule: Molecule) -> bool:
        """Remove one molecule equal to this, and return whether there was one."""
        endless = type(molecule) is Endless
        wanted = molecule.molecule if endless else molecule
        for cell in self.cells():
            if cell.endless is endless and equal(cell.molecule, wanted):
                self.delete(cell)
                return True
        for queue in self.queues.values():
            if molecule in queue:
                queue.remove(molecule)
                return True
        return False

    # --- The rules: which of them could want a molecule, found by shape and by first part.

    def _open(self) -> None:
        """Make the tables that the first rule needs."""
        self.rules, self.fast, self._tables, self._cache = {}, {}, {}, {}
        self.late, self.heads, self._constants = [], set(), set()

    def register(self, cell: Cell, entries: list[Any]) -> None:
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

    def entries_for(self, molecule: Molecule) -> tuple[Any, ...]:
        """Return the entries of all rules that a molecule of this shape could enter."""
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

    def entries_of_key(self, key: tuple[int, Any]) -> tuple[Any, ...]:
        """Return the entries of all rules that a tuple of this length and first part could enter."""
        return self._collect(key, tuple)

    def wants(self, key: tuple[int, Any]) -> bool:
        """Return whether a rule could want a tuple of this length and first part."""
        if self.rules is _NONE:
            return False
        found = self._cache.get(key)
        if found is None:
            found = self._cache[key] = self._collect(key, tuple)
        return bool(found)

    def only_reader(self, shape: Any) -> Rule | None:
        """Return the rule that alone looks at molecules of a shape, and only at them, if it is one."""
        wide: tuple[Any, ...] = (object, tuple) if type(shape) is int else (object,)
        entries: list[Any] = []
        for key, table in self._tables.items():
            if table and (key in wide or key == shape or (type(key) is tuple and key[0] == shape)):
                entries += table
        if len(entries) != 2 or entries[0].cell is not entries[1].cell or entries[0] is entries[1]:
            return None
        if any(shape not in entry.keys for entry in entries):
            return None
        rule: Rule = entries[0].rule
        return rule

    def keys_of(self, rule: Rule) -> list[Any]:
        """Return the keys of all entries of a registered rule."""
        return [key for cell, entries in self.rules.items() if cell.molecule is rule for e in entries for key in e.keys]

    def _collect(self, key: Any, kind: type) -> tuple[Any, ...]:
        keys = [key, object]
        if kind is tuple:
            keys += [tuple, key[0]] if type(key) is tuple else [tuple]
        elif key is not kind:
            keys.append(kind)
        return tuple(entry for one in keys for entry in self._tables.get(one, ()))


def _whole(molecule: Molecule) -> Molecule:
    return molecule


def _key_function(positions: tuple[Any, ...]) -> Callable[[Molecule], Any]:
    """Return the function that takes a molecule's key: parts by number, parts of tuples inside by path."""
    if not positions:
        return _whole
    if all(type(place) is int for place in positions):
        return itemgetter(*positions)

    def key_of(molecule: Molecule) -> Any:
        parts = [molecule[place] if type(place) is int else part_at(molecule, place) for place in positions]
        return parts[0] if len(parts) == 1 else tuple(parts)

    return key_of


def part_at(molecule: Molecule, path: tuple[int, ...]) -> Molecule:
    """Return the part of a nested tuple, or None where there is none."""
    for place in path:
        if type(molecule) is not tuple or len(molecule) <= place:
            return None
        molecule = molecule[place]
    return molecule
