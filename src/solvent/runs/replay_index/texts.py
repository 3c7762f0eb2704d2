"""Molecules of a film as texts: those that hold solutions in pieces, with the solutions' numbers between them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from solvent.lang.molecule import Endless, List, Molecule
from solvent.lang.printer import print_molecule
from solvent.lang.rule import Rule
from solvent.runs.replay_index.sheet import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator


class Out:
    """Stands in a solution for a call that is out."""

    def order_key(self) -> tuple[Any, ...]:
        """Be like no molecule, and no other call."""
        return (9, id(self))


def described(molecule: Molecule, solutions: list[int]) -> tuple[int, str, str | None]:
    """Give the kind of a molecule, its text, and, if it holds solutions, the parts of that with their numbers."""
    if type(molecule) is Out:
        return Kind.FLAT, "a call is out", None
    if solutions:
        pieces: list[str | int] = []
        _pieces(molecule, iter(solutions), pieces)
        text = "".join(piece if isinstance(piece, str) else "<…>" for piece in pieces)
        return Kind.NESTED, text, json.dumps(pieces, ensure_ascii=False)
    is_rule = type(molecule) is Rule or (type(molecule) is Endless and type(molecule.molecule) is Rule)
    return Kind.RULE if is_rule else Kind.FLAT, print_molecule(molecule), None


def _pieces(molecule: Molecule, solutions: Iterator[int], found: list[str | int]) -> None:
    """Write a molecule, with numbers in the place of its solutions."""

    def say(text: str) -> None:
        if found and isinstance(found[-1], str):
            found[-1] += text
        else:
            found.append(text)

    if type(molecule) is Endless:
        _pieces(molecule.molecule, solutions, found)
        say("^inf")
    elif type(molecule) is tuple or type(molecule) is List:
        is_tuple = type(molecule) is tuple
        if not is_tuple:
            say("list(" if len(molecule) == 1 else "(")
        for at, part in enumerate(molecule):
            if at:
                say(":" if is_tuple else ", ")
            if is_tuple and type(part) is tuple:
                say("(")
                _pieces(part, solutions, found)
                say(")")
            else:
                _pieces(part, solutions, found)
        if not is_tuple:
            say(")")
    elif getattr(molecule, "is_solution", False):
        found.append(next(solutions))
    else:
        say(print_molecule(molecule))


__all__ = ["Out", "described"]
