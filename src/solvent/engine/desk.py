"""One store for many states: what differs from the state before is exchanged, and searches need no preparing again.

A desk is for states without solutions inside and with the same rules. A reaction is known by its rule and the molecules
it meets, and what it makes of them is remembered: where they meet again in another state, they make the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.compile import Entry, code_of
from solvent.engine.failure import reaction_failed
from solvent.engine.index import Cell, Store, in_order
from solvent.engine.reaction import Stopped
from solvent.errors import LimitReached
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.numbers import Key, Numbers
    from solvent.lang.rule import Rule


class Desk:
    """Where states with certain rules are laid out, one at a time."""

    def __init__(self, numbers: Numbers, rules: Key) -> None:
        self._numbers = numbers
        self._store = Store()
        self._solution = Solution()
        self._solution.settled = self._store
        self._laid: Key = ()
        self._cells: dict[int, list[Cell]] = {}
        # What each rule with each combination of molecules makes; nothing where that cannot be said by numbers.
        self._made: dict[tuple[int, Key], Key | None] = {}
        self._searches: list[tuple[int, Entry, Callable[[Any], Iterator[Any]]]] = []
        for number in rules:
            cell = self._store.add(numbers.first[number])
            self._cells.setdefault(number, []).append(cell)
            if not self._searches or self._searches[-1][0] != number:
                entry = Entry(cell, cell.molecule, code_of(cell.molecule.node), None)
                self._searches.append((number, entry, entry.prepare(self._store, in_order, self._solution)))
        # Whether its rules only take other molecules than rules, and stay.
        self.is_plain = not any(entry.one_shot or entry.code.takes_rules for _, entry, _ in self._searches)
        self._asked: dict[int, tuple[Rule, Entry, Callable[[Any], Iterator[Any]]]] = {}
        self._rules = frozenset(rules)

    def lay(self, key: Key) -> None:
        """Exchange what the state laid out and another one do not share."""
        if key == self._laid:
            return
        left = list(self._laid)
        added = []
        for number in key:
            if number in self._rules:
                continue
            try:
                left.remove(number)
            except ValueError:
                added.append(number)
        for number in left:
            if number not in self._rules:
                self._store.delete(self._cells[number].pop())
        for number in added:
            self._cells.setdefault(number, []).append(self._store.add(self._numbers.first[number]))
        self._laid = key

    def fits(self, rule: Rule) -> bool:
        """Say whether a rule that is not in the state laid out could react there."""
        known = self._asked.get(id(rule))
        if known is None:
            entry = Entry(Cell(rule), rule, code_of(rule.node), None)
            known = self._asked[id(rule)] = (rule, entry, entry.prepare(self._store, in_order, self._solution))
        _, entry, search = known
        try:
            return any(True for _ in search(None))
        except Exception as error:
            raise reaction_failed(error, entry, (), None, []) from error

    def reactions(self, should_stop: Callable[[], bool] | None = None) -> list[tuple[Rule, Key | None]]:
        """Give every reaction of the state laid out, with the key of the state after it; equal reactions once.

        A state after that cannot be said by numbers alone has no key: its reaction makes a solution.
        """
        found = []
        number = self._numbers.number
        for rule, entry, search in self._searches:
            count = len(entry.code.elements)
            matches: dict[Key, Any] = {}
            for match in search(None):
                matches.setdefault(tuple([number(cell.molecule) for cell in match[:count]]), match)
            for met, match in matches.items():
                if should_stop is not None and should_stop():
                    raise Stopped
                made = self._made.get((rule, met), _UNKNOWN)
                if made is _UNKNOWN:
                    made = self._made[rule, met] = self._make(entry, match)
                found.append((entry.rule, None if made is None else self._after(rule, entry, met, made)))
        return found

    def react_all(self) -> tuple[Key, int]:
        """Let all reactions happen that can at the same time; give the state after, and how many there were.

        Only where the rules are plain; a reaction that makes a solution raises `Unsaid`.
        """
        number = self._numbers.number
        left, made_all, count = list(self._laid), [], 0
        for rule, entry, search in self._searches:
            elements = entry.code.elements
            for match in search(None):
                met = tuple([number(cell.molecule) for cell in match[: len(elements)]])
                made = self._made.get((rule, met), _UNKNOWN)
                if made is _UNKNOWN:
                    made = self._made[rule, met] = self._make(entry, match)
                if made is None:
                    self._laid = tuple(left)
                    raise Unsaid
                for one, cell, element in zip(met, match, elements, strict=False):
                    if not element.kept:
                        self._store.delete(cell)
                        self._cells[one].remove(cell)
                        left.remove(one)
                made_all += made
                count += 1
        self._laid = tuple(left)
        return tuple(sorted(left + made_all)), count

    def _after(self, rule: int, entry: Entry, met: Key, made: Key) -> Key:
        after = list(self._laid)
        for number, element in zip(met, entry.code.elements, strict=True):
            if not element.kept:
                after.remove(number)
        if entry.one_shot:
            after.remove(rule)
        after += made
        after.sort()
        return tuple(after)

    def _make(self, entry: Entry, match: Any) -> Key | None:
        """Let a reaction happen, note what it makes, and take it back."""
        try:
            products = entry.react(match, entry.rule, self._solution, self._store, entry.cell)
        except Exception as error:
            raise reaction_failed(error, entry, match, None) from error
        for cell, element in zip(match, entry.code.elements, strict=False):
            if not element.kept:
                cell.alive = True
                self._store.deaths -= 1
        made = tuple(map(self._numbers.number, products))
        return None if any(self._numbers.first[one] is None for one in made) else made


class Unsaid(Exception):
    """A state cannot be said by numbers alone: there is a solution in it."""


class Desks:
    """The desks for all states of a program that have one."""

    def __init__(self, numbers: Numbers) -> None:
        self._numbers = numbers
        self._desks: dict[Key, Desk | None] = {}

    def run(self, key: Key, max_reactions: int, should_stop: Callable[[], bool] | None = None) -> Key:
        """Let a state react until it is inert; `Unsaid` where that cannot be done on a desk."""
        count = 0
        while True:
            if should_stop is not None and should_stop():
                raise Stopped
            desk = self.lay(key)
            if desk is None or not desk.is_plain:
                raise Unsaid
            key, reactions = desk.react_all()
            count += reactions
            if not reactions:
                return key
            if count > max_reactions:
                raise LimitReached("H501", f"still reacting after {max_reactions} reactions")

    def lay(self, key: Key) -> Desk | None:
        """Lay a state out; not where there are solutions or endless molecules in it, nor for rules that wait."""
        numbers = self._numbers
        if not numbers.flat.issuperset(key):
            return None
        rules = tuple([number for number in key if number in numbers.rules])
        if rules not in self._desks:
            if len(self._desks) >= _MAX_DESKS:
                self._desks.clear()
            codes = [code_of(rule.node) for rule in (numbers.first[number] for number in rules) if rule is not None]
            is_simple = not any(code.is_late or code.is_async for code in codes)
            self._desks[rules] = Desk(numbers, rules) if is_simple else None
        desk = self._desks[rules]
        if desk is not None:
            desk.lay(key)
        return desk


_MAX_DESKS = 64
_UNKNOWN: Any = object()

__all__ = ["Desk", "Desks", "Unsaid"]
