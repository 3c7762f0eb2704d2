"""States by number: equal molecules, and only they, have the same number, and a state is the numbers of its molecules.

A program has few different molecules and many states, so comparing states becomes comparing small tuples, and molecules
that never change are kept once for all states.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.lang.molecule import ATOMS, Endless, Molecule, copied, has_solution, order_key
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

Key: TypeAlias = tuple[int, ...]
"""What tells a state from all others: the numbers of its molecules, in order."""


class Numbers:
    """The numbers of molecules."""

    def __init__(self) -> None:
        self._by_key: dict[Any, int] = {}
        # Molecules that never change, by identity; they are kept, so that no other takes an identity over.
        self._by_id: dict[int, int] = {}
        # The first molecule of each number, if such molecules never change.
        self.first: list[Molecule | None] = []
        # The numbers of molecules that a search may go through without looking inside, and of the rules among them.
        self.flat: set[int] = set()
        self.rules: set[int] = set()

    def number(self, molecule: Molecule) -> int:
        """Give the number of a molecule."""
        found = self._by_id.get(id(molecule))
        if found is None:
            found = self._by_key.setdefault(order_key(molecule), len(self.first))
            if found == len(self.first):
                self._add(molecule, found)
        return found

    def _add(self, molecule: Molecule, number: int) -> None:
        kind = type(molecule)
        if kind not in ATOMS and holds_solution(molecule):
            self.first.append(None)
            return
        self.first.append(molecule)
        self._by_id[id(molecule)] = number
        if kind is Rule:
            self.rules.add(number)
        if kind is not Endless:
            self.flat.add(number)

    def key(self, solution: Solution) -> Key:
        """Give the key of a state."""
        return tuple(sorted(map(self.number, solution)))

    def shared(self, solution: Solution) -> Solution:
        """Give an independent copy; of molecules that never change and are equal, all copies hold the same one."""
        firsts = [(self.first[self.number(molecule)], molecule) for molecule in solution]
        return Solution(copied(molecule) if first is None else first for first, molecule in firsts)

    def solution(self, key: Key) -> Solution:
        """Give a state of molecules that never change."""
        return Solution([self.first[number] for number in key])


def holds_solution(molecule: Molecule) -> bool:
    """Say whether a solution stands in a molecule, or in what a rule closed over: then it may change."""
    if type(molecule) is Endless:
        molecule = molecule.molecule
    return any(map(has_solution, molecule.captured)) if type(molecule) is Rule else has_solution(molecule)


__all__ = ["Key", "Numbers", "holds_solution"]
