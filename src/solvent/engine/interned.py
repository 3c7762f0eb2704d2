"""Molecules and solutions that never change, kept once: equal ones, and only they, have the same number.

A program has few different molecules and many states, so a state is the numbers of its molecules, and comparing states
becomes comparing small tuples. A solution inside a molecule is a `Content` too, which all molecules that hold it share:
what is found out about it holds wherever it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from solvent.engine.index import Store
from solvent.lang.molecule import ATOMS, Endless, List, Molecule, copied, order_key
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Iterable

Numbers: TypeAlias = tuple[int, ...]


class Content:
    """What is in a solution: the numbers of its molecules, in order."""

    __slots__ = ("after", "final", "molecules", "number", "solution")

    def __init__(self, number: int, molecules: Numbers) -> None:
        self.number = number
        self.molecules = molecules
        # The solution that stands in molecules, once there is one.
        self.solution: Solution | None = None
        # The reactions possible in it, each by its rule and what is in the solution then, once they were asked for.
        self.after: list[tuple[Rule, Content]] | None = None
        # What it becomes when it reacts until it is inert, once that was asked for.
        self.final: Content | None = None


class Interned:
    """All molecules and contents of the states of a program."""

    def __init__(self) -> None:
        # By number: the molecules, and the contents of the outermost solutions inside each.
        self.molecules: list[Molecule] = []
        self.inside: list[tuple[Content, ...]] = []
        # The numbers of rules, of endless molecules, of both together, and of molecules that hold solutions.
        self.rules: set[int] = set()
        self.endless: set[int] = set()
        self.fixed: set[int] = set()
        self.holders: set[int] = set()
        self._numbers: dict[Any, int] = {}
        # By identity, of those above only: they are kept, so that no other takes an identity over.
        self._by_id: dict[int, int] = {}
        self._contents: dict[Numbers, Content] = {}
        self._content_by_id: dict[int, Content] = {}

    def number(self, molecule: Molecule) -> int:
        """Return the number of a molecule."""
        found = self._by_id.get(id(molecule))
        if found is not None:
            return found
        inside: list[Content] = []
        kept, key = self._kept(molecule, inside)
        found = self._numbers.setdefault(key, len(self.molecules))
        if found == len(self.molecules):
            self.molecules.append(kept)
            self.inside.append(tuple(inside))
            self._by_id[id(kept)] = found
            self._note(found, kept)
        return found

    def _note(self, number: int, molecule: Molecule) -> None:
        if self.inside[number]:
            self.holders.add(number)
        if type(molecule) is Endless:
            self.endless.add(number)
            molecule = molecule.molecule
        if type(molecule) is Rule:
            self.rules.add(number)
        if number in self.rules or number in self.endless:
            self.fixed.add(number)

    def _kept(self, molecule: Molecule, inside: list[Content]) -> tuple[Molecule, Any]:
        """Return a molecule whose solutions are those of contents, and a key that equal molecules share."""
        kind = type(molecule)
        if kind is tuple or kind is List:
            if ATOMS.issuperset(map(type, molecule)):
                return molecule, order_key(molecule)
            pairs = [self._kept(part, inside) for part in molecule]
            keys = tuple([key for _, key in pairs])
            return kind([part for part, _ in pairs]), (4 if kind is tuple else 5, keys)
        if kind is Endless:
            kept, key = self._kept(molecule.molecule, inside)
            return Endless(kept), (*key, "inf")
        if getattr(molecule, "is_solution", False):
            content = self.content(molecule)
            inside.append(content)
            return self.solution_in(content), (6, content.number)
        return molecule, order_key(molecule)

    def content(self, solution: Solution) -> Content:
        """Return the content of a solution."""
        return self._content_by_id.get(id(solution)) or self.content_of([self.number(one) for one in solution])

    def content_of(self, molecules: Iterable[int]) -> Content:
        """Return the content of a solution with these molecules."""
        key = tuple(sorted(molecules))
        found = self._contents.get(key)
        if found is None:
            found = self._contents[key] = Content(len(self._contents), key)
        return found

    def solution_in(self, content: Content) -> Solution:
        """Return the solution of this content that stands in molecules; it must not be changed."""
        if content.solution is None:
            content.solution = Solution(self.plain(content))
            self._content_by_id[id(content.solution)] = content
            if content.after == []:
                self.settle(content)
        return content.solution

    def settle(self, content: Content) -> None:
        """Let rules look into the solution of a content, which is inert."""
        if content.solution is not None:
            store = content.solution.settled = Store()
            store.add_all(self.plain(content))
            content.solution.fresh = []
            content.solution.inert = True

    def replaced(self, number: int, at: int, content: Content) -> int:
        """Return the number of a molecule in which one of the outermost solutions has changed."""
        solutions = [self.solution_in(one) for one in self.inside[number]]
        solutions[at] = self.solution_in(content)
        return self.number(_with_solutions(self.molecules[number], iter(solutions)))

    def plain(self, content: Content) -> list[Molecule]:
        """Return the molecules of a content, which must not be changed."""
        return [self.molecules[number] for number in content.molecules]

    def copy(self, content: Content) -> Solution:
        """Return a solution of its own with a content."""
        return Solution(map(copied, self.plain(content)))


def _with_solutions(molecule: Molecule, solutions: Iterable[Solution]) -> Molecule:
    """Return a molecule with other solutions in the places of its outermost ones."""
    kind = type(molecule)
    if kind in ATOMS:
        return molecule
    if kind is tuple or kind is List:
        return kind([_with_solutions(part, solutions) for part in molecule])
    if kind is Endless:
        return Endless(_with_solutions(molecule.molecule, solutions))
    return next(iter(solutions)) if getattr(molecule, "is_solution", False) else molecule


__all__ = ["Content", "Interned", "Numbers"]
