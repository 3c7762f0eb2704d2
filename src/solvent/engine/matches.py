"""Reactions that are possible among molecules, found without making them happen.

A node of a run over many nodes knows molecules of its own and some that others hold. `Matches` finds reactions that
need at least one of its own: each possible reaction does at one node or another, so all nodes together miss none. What
it finds may be made to happen where all molecules are its own (`Match.react`), or else be asked for.

Somebody else's molecule may be in one's charge: then its reactions are one's business although none of them is one's
own. Who gives charges sees to it that all molecules a reaction needs are in the charge of the same node.

Molecules come and go one by one. Whatever has come since is tried against everything, and what was tried in vain is
not looked at again until something new comes, so a search costs what has changed. A molecule that is not the node's
own is tried only against combinations with one that is: for each other part of the rule there is a search that looks
for this part among the node's own molecules alone, so a thousand foreign molecules that fit each other cost nothing.

Rules are of two kinds here. Those of the program (`add_rule`) are in force everywhere and are no molecules anybody
could take; they have a number. Others are molecules like the rest (`add`): a reaction by them needs them too.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from solvent.engine.compile import Entry, entries_of
from solvent.engine.failure import reaction_failed
from solvent.engine.index import Cell, Store, in_order
from solvent.engine.matcher import Matcher
from solvent.engine.plan import Element, Site
from solvent.errors import SolventError, TooLarge
from solvent.lang.molecule import Endless, Molecule
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from solvent.engine.choice import Chance
    from solvent.engine.code import Code
    from solvent.engine.compile import RuleCode
    from solvent.engine.index import Row

LOOSE = -1
"""The number under which all rules go that are molecules."""


class Held:
    """A molecule that was put in, under the name that its owner gave it."""

    __slots__ = ("cell", "is_charge", "is_own", "marks", "name")

    def __init__(self, cell: Cell, name: Any, *, is_own: bool, is_charge: bool) -> None:
        self.cell = cell
        self.name = name
        self.is_own = is_own
        self.is_charge = is_charge
        # The rules by number that it has not been tried with yet.
        self.marks: tuple[int, ...] = ()

    @property
    def molecule(self) -> Molecule:
        """The molecule; an endless one as such."""
        return Endless(self.cell.molecule) if self.cell.endless else self.cell.molecule


class Match:
    """A possible reaction."""

    __slots__ = ("consumed", "entry", "fields", "number", "reactants")

    def __init__(self, number: int, entry: Entry, fields: Any, parts: list[tuple[Held, bool]]) -> None:
        self.number = number
        self.entry = entry
        self.fields = fields
        # What a reaction needs, each once; a rule that is a molecule comes first.
        self.reactants = tuple(dict.fromkeys(held for held, _ in parts))
        # And what of it the reaction takes away.
        self.consumed = tuple(dict.fromkeys(held for held, is_taken in parts if is_taken))

    @property
    def is_async(self) -> bool:
        """Whether its products wait for an external call; `react` then gives a coroutine."""
        return self.entry.code.is_async

    def react(self) -> Any:
        """Return the products; what it consumes is for the caller to remove. A failure leaves everything as it was."""
        entry = self.entry
        try:
            return entry.code.reaction()(self.fields, entry.rule, _NOWHERE, _IGNORING, entry.cell)
        except Exception as error:
            raise self.failure(error) from error

    def failure(self, error: BaseException) -> SolventError:
        """Return the error to raise for one that came out of its product."""
        return reaction_failed(error, self.entry, self.fields, None)


class Matches:
    """Molecules of one's own and of others, and what could react among them."""

    def __init__(self, *, chance: Chance | None = None) -> None:
        self._chance = chance
        self._all = Store()
        self._own = _Part()
        self._held: dict[Cell, Held] = {}
        self._numbers: dict[Cell, int] = {}
        # The searches made so far, by the cell of their rule.
        self._searches: dict[Cell, dict[Any, Callable[[Any, Cell], Iterator[Any]]]] = {}
        # What is to be tried: by rules, one's own first; and one's own among themselves.
        self._untried: dict[int, tuple[dict[Held, None], dict[Held, None]]] = {LOOSE: ({}, {})}
        self._new: dict[Held, None] = {}
        self._own_count = 0

    # --- What comes and goes.

    def add_rule(self, rule: Rule | Endless, number: int) -> None:
        """Put a rule of the program in, before any molecule it could want."""
        cell = self._all.add(rule)
        self._own.place(cell)
        self._numbers[cell] = number
        self._untried.setdefault(number, ({}, {}))
        self._register(cell, both=True)

    def add_endless(self, molecule: Endless) -> None:
        """Put in a molecule of which there are always more, everywhere: nobody needs to ask for it."""
        self._own.place(self._all.add(molecule))

    def add(self, molecule: Molecule, name: Any, *, is_own: bool, is_charge: bool = False) -> Held:
        """Put a molecule in; the solutions inside it are inert."""
        cell = self._all.add(molecule)
        held = self._held[cell] = Held(cell, name, is_own=is_own, is_charge=is_charge)
        self._own_count += is_own or is_charge
        if is_own:
            self._own.place(cell)
        marks = dict.fromkeys(self._numbers[entry.cell] for entry in self._all.entries_for(cell.molecule))
        if type(cell.molecule) is Rule:
            self._numbers[cell] = LOOSE
            self._register(cell, both=is_own)
            marks[LOOSE] = None
        held.marks = tuple(marks)
        for mark in marks:
            self._untried[mark][not is_own][held] = None
        if is_own and marks:
            self._new[held] = None
        return held

    def remove(self, held: Held) -> None:
        """Take a molecule out."""
        cell = held.cell
        del self._held[cell]
        self._new.pop(held, None)
        for mark in held.marks:
            self._untried[mark][not held.is_own].pop(held, None)
        self._own_count -= held.is_own or held.is_charge
        if held.is_own:
            self._own.drop(cell)
        self._all.delete(cell)
        self._numbers.pop(cell, None)
        self._searches.pop(cell, None)

    @property
    def has_untried(self) -> bool:
        """Whether something has come that was not tried yet, and there is something of one's own to try it with."""
        if self._own_count == 0:
            return False
        return bool(self._new) or any(own or others for own, others in self._untried.values())

    def __len__(self) -> int:
        return len(self._held)

    def __iter__(self) -> Iterator[Held]:
        return iter(list(self._held.values()))

    def _register(self, cell: Cell, *, both: bool) -> None:
        self._searches[cell] = {}
        self._all.register(cell, entries_of(cell, cell.molecule))
        if both:
            self._own.register(cell, entries_of(cell, cell.molecule))

    # --- What could react.

    def find_own(self) -> Match | None:
        """Return a reaction among one's own molecules alone."""
        while self._new:
            held = next(iter(self._new))
            match = next(self._each(held, None, self._own), None)
            if match is not None:
                return match
            del self._new[held]
        return None

    def find(self, number: int | None = None) -> Match | None:
        """Return a reaction with at least one molecule of one's own or in one's charge, by one rule or by any."""
        if self._own_count == 0:
            return None
        numbers = [number] if number is not None else self._shuffled([*self._untried])
        for one in numbers:
            for untried in self._untried[one]:
                while untried:
                    held = next(iter(untried))
                    match = next(self._each(held, one, self._all), None)
                    if match is not None:
                        return match
                    del untried[held]
        return None

    def find_among(self, wanted: Iterable[Held]) -> Match | None:
        """Return a reaction that needs all of these molecules and no others."""
        whole = set(wanted)
        for held in whole:
            for match in self._each(held, None, self._all):
                if whole == set(match.reactants):
                    return match
        return None

    def _each(self, held: Held, number: int | None, store: Store) -> Iterator[Match]:
        """Return the reactions of a molecule in a store: as what rules take, and by itself if it is a rule."""
        cell = held.cell
        if type(cell.molecule) is Rule and number in (None, LOOSE):
            entry = Entry(cell, cell.molecule, entries_of(cell, cell.molecule)[0].code, None)
            yield from self._by(entry, held, None, store, is_own=held.is_own or held.is_charge)
        for entry in store.entries_for(cell.molecule):
            if entry.cell is cell or (number is not None and self._numbers[entry.cell] != number):
                continue
            rule = self._held.get(entry.cell)
            is_own = held.is_own or held.is_charge or (rule is not None and rule.is_own)
            yield from self._by(entry, held, cell.molecule, store, is_own=is_own)

    def _by(self, entry: Entry, held: Held, in_hand: Any, store: Store, *, is_own: bool) -> Iterator[Match]:
        """Return the reactions by one rule; what is not one's own must meet something that is."""
        others = [one for one in entry.code.elements if one is not entry.element]
        for mine in (None,) if is_own else others:
            search = self._search(entry, mine, store)
            try:
                for fields in search(in_hand, held.cell):
                    yield self._match(entry, fields)
            except SolventError as error:
                if isinstance(error, TooLarge):
                    reaction_failed(error, entry, (), None, [])
                raise
            except Exception as error:
                raise reaction_failed(error, entry, (), None, [] if in_hand is None else [in_hand]) from error

    def prepare(self, max_rules: int) -> None:
        """Compile the searches of some rules before they are needed."""
        for cell in list(self._numbers)[:max_rules]:
            for entry in self._all.rules[cell]:
                self._search(entry, None, self._own)
                for mine in (None, *entry.code.elements):
                    if mine is None or mine is not entry.element:
                        self._search(entry, mine, self._all)

    def _search(self, entry: Entry, mine: Element | None, store: Store) -> Callable[[Any, Cell], Iterator[Any]]:
        known = self._searches[entry.cell]
        element = entry.element
        key = (element and element.number, mine and mine.number, store is self._own)
        search = known.get(key)
        if search is None:
            scan = in_order if self._chance is None else self._scan
            made = _search_of(entry.code, element, mine)
            search = known[key] = made(store, entry.cell, scan, entry.rule, _NOWHERE, self._own)
        return search

    def _match(self, entry: Entry, fields: Any) -> Match:
        parts: list[tuple[Held, bool]] = []
        rule = self._held.get(entry.cell)
        if rule is not None:
            parts.append((rule, entry.one_shot))
        for element, cell in zip(entry.code.elements, fields, strict=False):
            one = self._held.get(cell)
            if one is not None:
                parts.append((one, not element.kept and not cell.endless))
        return Match(self._numbers[entry.cell], entry, fields, parts)

    # --- Chance.

    def _scan(self, row: Row) -> Iterable[Cell]:
        """Go through a row from somewhere on: who begins at the oldest wants what all others want."""
        if len(row) < 2:
            return row
        assert self._chance is not None
        size = len(row)
        start = self._chance.randrange(size)
        return map(row.__getitem__, chain(range(start, size), range(start)))

    def _shuffled(self, numbers: list[int]) -> list[int]:
        if self._chance is None or len(numbers) < 2:
            return numbers
        start = self._chance.randrange(len(numbers))
        return numbers[start:] + numbers[:start]


class _Part(Store):
    """A store that shares its cells with a larger one."""

    __slots__ = ()

    def place(self, cell: Cell) -> None:
        """Let a settled molecule be found here too."""
        molecule = cell.molecule
        kind = type(molecule)
        if cell.endless:
            self.has_endless = True
        if kind is tuple:
            bucket = self._buckets.get((len(molecule), molecule[0])) or self._bucket(len(molecule))
        else:
            bucket = self._buckets.get(kind) or self._bucket(kind)
        bucket.row.append(cell)
        for key_of, table in bucket.keyed:
            table.setdefault(key_of(molecule), []).append(cell)
        self.births += 1
        if self.deaths > self.max_deaths:
            self.tidy()

    def drop(self, cell: Cell) -> None:
        """Note that a cell is going to die."""
        self.deaths += 1
        if cell in self.rules:
            self.unregister(cell)


class _Nothing:
    """Stands in for the store of a reaction whose reactants the caller takes away."""

    def remove(self, cell: Cell) -> None:
        """Leave it where it is."""


_IGNORING = _Nothing()
_NOWHERE = Solution()


class _OwnSite(Site):
    """One's own part of the solution that a rule stands in."""

    __slots__ = ()

    @property
    def store(self) -> str:
        """The name of the store in the compiled text."""
        return "mine"


class _Search(Matcher):
    """Writes a search that gives every match, one element of which is perhaps to be found in a part of the store."""

    def write_each(self, name: str, active: Element | None, mine: Element | None) -> None:
        """Write it; what is in hand stands in the store too, in a cell that is not to be found again."""
        code = self.code
        self.indexes = {}
        code.open(f"def {name}(s0, own, scan, rule, solution, mine):")
        self.unpack_captures()
        self.top_line = code.mark()
        code.open("def find(m, hand):")
        self.reset()
        self.goals = [_twin(one, is_mine=one is mine) for one in self.goals if one is not active]
        if active is None:
            self.test_ready()
        else:
            self.held = [_twin(active)]
            code.line(f"{active.cell} = hand")
            self.take("m", active.pattern, known=frozenset(), shape_known=True)
        while self.goals:
            self._next_goal()
        for test in self.tests:
            self.test(test)
        code.line(f"yield ({''.join(field + ', ' for field in self.fields)})")
        for depth, call in reversed(self.afterwards):
            code.close(depth)
            code.line(call)
        code.close(1)
        code.line("return find")
        code.close(0)

    def _skip(self, goal: Element) -> None:
        if goal.site.number < 0:
            # Only to look for it, it stands elsewhere: what is found must be told apart like all others.
            goal.site = self.plan.top
        super()._skip(goal)


def _twin(element: Element, *, is_mine: bool = False) -> Element:
    """Return an element for a search that takes nothing, perhaps to be found in a part of the store."""
    # The number is not that of the rule's own solution, whose indexes are looked up in the store of all.
    twin = Element(element.number, element.pattern, _OwnSite(-1) if is_mine else element.site)
    twin.kept = True
    return twin


def _search_of(code: RuleCode, active: Element | None, mine: Element | None) -> Callable[..., Any]:
    def write(text: Code, fields: list[str]) -> None:
        _Search(text, code.plan, code.functions, fields).write_each(name, active, mine)

    name = f"each_{'all' if active is None else active.number}_{'any' if mine is None else mine.number}"
    return code.other_search(name, write)


__all__ = ["LOOSE", "Held", "Match", "Matches"]
