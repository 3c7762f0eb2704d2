"""What compiled rules call besides operators: taking the rest of a solution, copying, counting."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from solvent.engine.index import Store, in_order, trim
from solvent.lang.functions import Function, molecule_from_python, python_from_molecule
from solvent.lang.molecule import MAX_PARTS, Endless, Molecule, copied, too_large
from solvent.lang.operators import Incomputable, brief, kind_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from solvent.engine.index import Cell, Row
    from solvent.lang.solution import Solution

MAX_MULTIPLET = 10_000_000


def rest(store: Store, taken: tuple[Cell | None, ...]) -> list[Molecule]:
    """Return the molecules of a store that a match leaves, and leave them there."""
    return [
        Endless(cell.molecule) if cell.endless else cell.molecule
        for cell in store.cells()
        if cell.endless or cell not in taken
    ]


def drain(solution: Solution, store: Store, taken: tuple[Cell | None, ...]) -> list[Molecule]:
    """Take all molecules but the taken cells out of a solution that goes on."""
    cells = [cell for cell in store.cells() if cell.endless or cell not in taken]
    for cell in cells:
        store.delete(cell)
    found = [Endless(cell.molecule) if cell.endless else cell.molecule for cell in cells]
    found += solution.fresh
    solution.fresh.clear()
    return found


def count(value: Molecule) -> int:
    """Check the count of a multiplet."""
    if type(value) is not int:
        raise Incomputable(f"a multiplet's count is an int, not {kind_name(value)}")
    if not 0 <= value <= MAX_MULTIPLET:
        raise Incomputable(f"a multiplet of {brief(value)} molecules: allowed are 0 to {MAX_MULTIPLET}")
    return value


def copies(molecules: Collection[Molecule]) -> list[Molecule]:
    """Return copies of the molecules of a rest."""
    if len(molecules) > MAX_PARTS:
        raise too_large(f"a rest of {len(molecules):,} molecules", MAX_PARTS)
    room = [MAX_PARTS]
    return [copied(one, room) for one in molecules]


def own_copy(molecule: Molecule) -> Molecule:
    """Return a copy of a molecule that a product holds once more."""
    return copied(molecule, [MAX_PARTS])


def times(molecule: Molecule, number: int) -> list[Molecule]:
    """Return a molecule several times."""
    room = [MAX_PARTS]
    return [molecule, *(copied(molecule, room) for _ in range(number - 1))] if number else []


def each_row(rows: Iterable[Row], scan: Any) -> Iterable[Cell]:
    """Go through several rows in the order that `scan` gives to all their cells together."""
    if scan is in_order:
        return chain.from_iterable(rows)
    scanned: Iterable[Cell] = scan([cell for row in rows for cell in row])
    return scanned


def trimmed(rows: list[Row]) -> list[Row]:
    """Drop dead cells at the beginning of rows, where most searches end."""
    for row in rows:
        if row and not row[0].alive:
            trim(row)
    return rows


def store_of(solution: Solution) -> Store:
    """Return the store of a solution; a solution that was always empty gets one now."""
    store = solution.settled
    if store is None:
        store = solution.settled = Store()
    assert type(store) is Store
    return store


async def answer(function: Function, *arguments: Molecule) -> Molecule:
    """Call an asynchronous function and wait for its answer."""
    if function.is_raw:
        return await function.call(*arguments)
    return molecule_from_python(await function.call(*map(python_from_molecule, arguments)))
