"""Settling a molecule, written out for one bucket: which row, which indexes, which keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.chemistry.molecule import Molecule

_makers: dict[tuple[tuple[int, ...], ...], Callable[..., Any]] = {}


def make_adder(
    store: Any, cell: type, row: list[Any], indexes: dict[tuple[int, ...], dict[Any, list[Any]]], dead_max: int
) -> Callable[[Molecule], None]:
    """Give a function that settles tuples in a row and its indexes; does what `Store.add` does, without a loop."""
    positions = tuple(indexes)
    make = _makers.get(positions)
    if make is None:
        make = _makers[positions] = _made(positions)
    adder: Callable[[Molecule], None] = make(store, cell, row.append, dead_max, *indexes.values())
    return adder


def _made(positions: tuple[tuple[int, ...], ...]) -> Callable[..., Any]:
    tables = "".join(f", t{at}" for at in range(len(positions)))
    lines = [f"def make(store, Cell, append, dead_max{tables}):", "  def add(m):", "    cell = Cell(m)", "    append(cell)"]
    for at, places in enumerate(positions):
        parts = [f"m[{place}]" for place in places]
        key = "m" if not parts else parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
        lines += [
            f"    key = {key}",
            f"    row = t{at}.get(key)",
            f"    if not row: t{at}[key] = [cell]",
            "    elif row[-1].alive: row.append(cell)",
            "    else: row[-1] = cell",
        ]
    lines += ["    store.size += 1", "    if store.deaths > store.size + dead_max: store.tidy()", "  return add"]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - the text is our own
    make: Callable[..., Any] = names["make"]
    return make
