"""One store for many contents: what differs from the one before is exchanged, and searches need no preparing again.

A desk is for contents with the same rules. A reaction is known by its rule and the molecules it meets, and what it
makes of them is remembered: where they meet again, they make the same. Reactions leave what they take (the `pure` code
of a rule), so nothing has to be put back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.compile import Entry, code_of
from solvent.engine.failure import reaction_failed
from solvent.engine.index import Cell, EndlessCell, Store, in_order
from solvent.errors import Misuse
from solvent.lang.molecule import ATOMS, order_key
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.interned import Interned, Numbers
    from solvent.lang.rule import Rule


class Desk:
    """Where contents with certain rules, and certain endless molecules, are laid out, one at a time."""

    def __init__(self, interned: Interned, fixed: Numbers) -> None:
        self._interned = interned
        self._store = Store()
        self._solution = Solution()
        self._solution.settled = self._store
        self._laid: Numbers = ()
        self._cells: dict[int, list[Cell]] = {}
        self._searches: list[_Search] = []
        self._asked: dict[int, _Search] = {}
        for at, number in enumerate(fixed):
            cell = self._store.add(interned.molecules[number])
            if number in interned.rules and number not in fixed[:at]:
                self._searches.append(_Search(number, cell, self._store, self._solution))
        # Rules that take the rest of their own solution come last.
        self._searches.sort(key=lambda one: one.entry.code.is_late)
        self.is_late = any(one.entry.code.is_late for one in self._searches)
        self._has_endless = not interned.endless.isdisjoint(fixed)
        # Whether its rules only take other molecules than rules, and stay.
        self.is_plain = not self._has_endless and not any(
            one.entry.one_shot or one.entry.code.takes_rules or one.entry.code.is_late for one in self._searches
        )

    def lay(self, molecules: Numbers) -> None:
        """Exchange what was laid out, apart from rules and endless molecules, and is not to be any more."""
        if molecules == self._laid:
            return
        left, added = list(self._laid), []
        for number in molecules:
            try:
                left.remove(number)
            except ValueError:
                added.append(number)
        for number in left:
            self._store.delete(self._cells[number].pop())
        for number in added:
            self._cells.setdefault(number, []).append(self._store.add(self._interned.molecules[number]))
        self._laid = molecules

    def fits(self, rule: Rule) -> bool:
        """Return whether a rule that is not in the content laid out could react there."""
        search = self._asked.get(id(rule))
        if search is None:
            search = self._asked[id(rule)] = _Search(-1, Cell(rule), self._store, self._solution)
        return next(search.matches(), None) is not None

    def reactions(self, content: Numbers, *, is_waiting: bool) -> Iterator[tuple[Rule, list[int]]]:
        """Return every reaction of the molecules laid out, with all that is in the solution then; equal ones once.

        `content` is all that is in the solution now. While a solution inside reacts, no rule takes the rest.
        """
        for search in self._searches:
            if search.entry.code.is_late and is_waiting:
                continue
            seen = set()
            rule = search.entry.rule
            for match in search.matches():
                met = self._met(search, match)
                if met not in seen:
                    seen.add(met)
                    yield rule, self._after(search, match, met, content)

    def react_all(self, content: Numbers) -> tuple[Numbers, int]:
        """Let all reactions happen that can at the same time; return what is in the solution then, and their number.

        Only where the rules are plain.
        """
        left, count = list(content), 0
        made: list[int] = []
        for search in self._searches:
            for match in search.matches():
                met = self._met(search, match)
                made += self._products(search, match, met)
                count += 1
                for at in search.taken:
                    left.remove(met[at])
                    self._store.delete(match[at])
                    self._cells[met[at]].remove(match[at])
        self._laid = tuple([number for number, cells in self._cells.items() for _ in cells])
        return tuple(left + made), count

    def _after(self, search: _Search, match: Any, met: Any, content: Numbers) -> list[int]:
        entry = search.entry
        if entry.code.is_late:
            # What is left of the solution is among the products.
            kept = [met[at] for at in range(search.count) if at not in search.taken and not match[at].endless]
            made = map(self._interned.number, search.react(match))
            return [*kept, *(() if entry.one_shot else (search.number,)), *made]
        after = list(content)
        for at in search.taken:
            if not match[at].endless:
                after.remove(met[at])
        if entry.one_shot:
            after.remove(search.number)
        after += search.made.get(met) or self._products(search, match, met)
        return after

    def _products(self, search: _Search, match: Any, met: Any) -> Numbers:
        made = search.made.get(met)
        if made is None:
            made = search.made[met] = tuple(map(self._interned.number, search.react(match)))
        return made

    def _met(self, search: _Search, match: Any) -> tuple[Any, ...]:
        """Return what tells a match from others of its rule, the numbers of the molecules that it meets first."""
        if search.looks_inside or self._has_endless:
            return tuple(map(self._signature, match))
        number = self._interned.number
        return tuple([number(cell.molecule) for cell in match[: search.count]])

    def _signature(self, value: Any) -> Any:
        """Return what tells one field of a match from another: equal molecules make equal successors."""
        kind = type(value)
        if kind is Cell:
            return self._interned.number(value.molecule)
        if kind is EndlessCell:
            # To take one of an endless molecule is another reaction than to take an equal molecule beside it.
            return ~self._interned.number(value.molecule)
        if kind is Store or value is None:
            return None
        return order_key(value) if kind in ATOMS else self._interned.number(value)


class _Search:
    """A rule on a desk, with its compiled search and reaction."""

    __slots__ = ("_find", "_react", "count", "entry", "looks_inside", "made", "number", "taken")

    def __init__(self, number: int, cell: Cell, store: Store, solution: Solution) -> None:
        self.number = number
        self.entry = entry = Entry(cell, cell.molecule, code_of(cell.molecule.node), None)
        elements = entry.code.elements
        # How many molecules a match takes or keeps, and which of them it takes.
        self.count = len(elements)
        self.taken = [at for at, element in enumerate(elements) if not element.kept]
        # Whether the same molecules may be met in several ways.
        self.looks_inside = len(entry.code.plan.sites) > 1
        find, react = entry.code.pure()
        # What it makes of each combination of molecules.
        self.made: dict[Any, Numbers] = {}
        self._find: Callable[[None], Iterator[Any]] = find(store, cell, in_order, entry.rule, solution)
        self._react: Callable[[Any], list[Any]] = lambda match: react(match, entry.rule, solution, store, cell)

    def matches(self) -> Iterator[Any]:
        """Return every match among the molecules laid out."""
        try:
            yield from self._find(None)
        except Exception as error:
            failure = reaction_failed(error, self.entry, (), None, [])
            if failure is error:
                raise
            raise failure from error

    def react(self, match: Any) -> list[Any]:
        """Return the products of a match, which leaves what it takes where it is."""
        if self.entry.code.is_async:
            message = f"cannot explore this program: `{self.entry.code.title}` calls an asynchronous function"
            raise Misuse("H313", message, hint="explore it with an ordinary function instead")
        try:
            return self._react(match)
        except Exception as error:
            failure = reaction_failed(error, self.entry, match, None)
            if failure is error:
                raise
            raise failure from error


__all__ = ["Desk"]
