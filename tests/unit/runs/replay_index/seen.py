"""What a film says of a moment, and what a solution is, as texts that can be compared."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

from solvent.lang.molecule import Endless, List, sub_solutions
from solvent.lang.printer import print_molecule
from solvent.lang.solution import Solution
from solvent.runs.replay_index.sheet import MAX_TEXT

if TYPE_CHECKING:
    from pathlib import Path


def filmed(path: Path, number: int, solution: int = 1) -> str:
    """Write the solution that a film has after so many reactions; calls that are out are no molecules."""
    with sqlite3.connect(path) as base:
        rows = base.execute(
            "SELECT text, parts FROM molecule"
            " WHERE solution = ? AND born <= ? AND died > ? AND text != 'a call is out'",
            (solution, number, number),
        ).fetchall()
    texts = []
    for text, parts in rows:
        pieces = [text] if parts is None else json.loads(parts)
        texts.append("".join(filmed(path, number, one) if isinstance(one, int) else one for one in pieces))
    return f"<{', '.join(sorted(texts))}>"


def written(molecule: Any) -> str:
    """Write a molecule in the same way: in the order of the texts."""
    kind = type(molecule)
    if kind is tuple:
        return ":".join(f"({written(one)})" if type(one) is tuple else written(one) for one in molecule)
    if kind is List:
        return f"{'list' if len(molecule) == 1 else ''}({', '.join(map(written, molecule))})"
    if kind is Solution:
        return f"<{', '.join(sorted(map(_kept, molecule)))}>"
    if kind is Endless:
        inner = written(molecule.molecule)
        return f"({inner})^inf" if type(molecule.molecule) is tuple else f"{inner}^inf"
    return print_molecule(molecule)


def _kept(molecule: Any) -> str:
    """Write a molecule as far as a film keeps it: what holds no solution is cut."""
    text = written(molecule)
    return text[:MAX_TEXT] if next(iter(sub_solutions(molecule)), None) is None else text


__all__ = ["filmed", "written"]
