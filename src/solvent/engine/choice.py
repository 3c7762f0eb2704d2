"""One reaction at a time, chosen by a source of chance.

At each step a solution that may still react is drawn, then its rules are tried in random order, and each search goes
through its molecules in random order: the first match reacts. So every enabled reaction has a chance at every step, and
one that stays enabled happens sooner or later. Without a source of chance the first match in order is taken.

A rule that was found to have no match has none until something new comes, and then only with that. So such a rule is
tried with the new molecules alone, in random order, each against all others: whatever is enabled still has its chance,
and nothing is tried twice in vain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from solvent.engine.batches import MAX_LEVELS, go_out, note_height, reopen
from solvent.engine.compile import Entry, entries_of
from solvent.engine.failure import reaction_failed
from solvent.engine.reactor import Reactor
from solvent.engine.support import store_of
from solvent.errors import LimitReached, SolventError
from solvent.lang.molecule import ATOMS, Molecule, sub_solutions
from solvent.lang.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.engine.index import Cell, Row, Store
    from solvent.lang.solution import Solution


class Chance(Protocol):
    """A source of chance: `random.Random`, for one."""

    def randrange(self, stop: int, /) -> int:
        """Return an integer from 0 up to, not including, `stop`."""


class Stepper(Reactor):
    """Runs a solution reaction by reaction."""

    def __init__(self, solution: Solution, *, chance: Chance | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.solution = solution
        self.chance = chance
        # Solutions that may have a reaction enabled.
        self.open: list[Solution] = []
        # The same by identity: solutions that are equal are not the same.
        self._are_open: set[int] = set()
        self._tried: dict[int, _Tried] = {}
        self._in_hand: Cell | None = None
        if chance is not None:
            self.scan = self._shuffled
        reopen(solution)
        self.settle(solution, 1)

    def settle(self, solution: Solution, level: int) -> None:
        """Settle what is fresh in a solution and in those inside it, without trying anything."""
        if level > MAX_LEVELS:
            raise LimitReached("H503", f"solutions are nested more than {MAX_LEVELS} levels deep")
        if solution.inert:
            return
        self._poll_sometimes()
        store = store_of(solution)
        store.untried = True
        fresh, solution.fresh = solution.fresh, []
        for queue in store.queues.values():
            fresh += queue
            queue.clear()
        left = iter(fresh)
        for molecule in left:
            try:
                is_ready = type(molecule) in ATOMS or self._settle_inside(solution, molecule, level)
            except BaseException:
                solution.fresh = [molecule, *left, *solution.fresh]
                raise
            if is_ready:
                tried = self._tried.get(id(store))
                births = store.births
                cell = put(store, molecule)
                if tried is not None:
                    tried.note(cell, births, store.births)
            else:
                solution.waiting[id(molecule)] = molecule
        if id(solution) not in self._are_open:
            self._are_open.add(id(solution))
            self.open.append(solution)

    def _settle_inside(self, solution: Solution, molecule: Molecule, level: int) -> bool:
        ready = True
        for sub in sub_solutions(molecule):
            if not sub.inert:
                sub.host = (solution, molecule)
                self.settle(sub, level + 1)
                ready = ready and sub.inert
            note_height(solution, sub)
        return ready

    def step(self) -> bool:
        """Make one reaction happen, and return whether there was one."""
        while self.open:
            at = self.chance.randrange(len(self.open)) if self.chance is not None else len(self.open) - 1
            solution = self.open[at]
            self._poll_sometimes()
            if self._step_in(solution):
                self.settle(solution, _level(solution))
                return True
            self.close(at)
        return False

    def close(self, at: int) -> None:
        """Note that an open solution has no reaction enabled; if it is inert, its host can go on."""
        solution = self.open.pop(at)
        self._are_open.remove(id(solution))
        solution.inert = not solution.waiting and not solution.flight
        if solution.inert and solution.host is not None:
            host = go_out(solution)
            self.settle(host, _level(host))

    def _step_in(self, solution: Solution) -> bool:
        store = store_of(solution)
        for entry in self._in_order(all_entries(store)):
            if entry.code.is_late and solution.waiting:
                continue
            if self.chance is not None and not entry.code.is_late and not store.has_endless:
                pending = self._tried_in(store).pending.get(entry.cell)
                if pending is not None:
                    if self._step_by_new(entry, pending, store, solution):
                        return True
                    continue
            match = self._first(entry, store, solution)
            if match is not None:
                solution.inert = False
                self._react(entry, match, None, solution, store)
                return True
            if self.chance is not None:
                self._tried_in(store).pending[entry.cell] = []
        return False

    def _tried_in(self, store: Store) -> _Tried:
        tried = self._tried.get(id(store))
        if tried is None or tried.store is not store or tried.births != store.births:
            tried = self._tried[id(store)] = _Tried(store)
        return tried

    def _step_by_new(self, rule: Entry, pending: list[Cell], store: Store, solution: Solution) -> bool:
        """Make a reaction happen by a rule that had none before these cells came; drop the cells that have none."""
        assert self.chance is not None
        while pending:
            at = self.chance.randrange(len(pending))
            cell = pending[at]
            if cell.alive and cell is not rule.cell:
                for entry in self._in_order(_entries_with(rule, cell.molecule, store)):
                    if self._step_with(entry, cell, store, solution):
                        return True
            pending[at] = pending[-1]
            pending.pop()
        return False

    def _step_with(self, entry: Entry, cell: Cell, store: Store, solution: Solution) -> bool:
        """Make a reaction happen that takes, or needs, a certain molecule, and return whether there was one."""
        # It is in hand, and not its own partner.
        self._in_hand = cell
        try:
            match = self._first(entry, store, solution, cell.molecule)
        finally:
            self._in_hand = None
        if match is None:
            return False
        solution.inert = False
        before = self.reactions
        try:
            self._react(entry, match, cell.molecule, solution, store)
        finally:
            if self.reactions > before and entry.consumes:
                store.delete(cell)
        return True

    def _first(self, entry: Entry, store: Store, solution: Solution, molecule: Molecule = None) -> Any:
        """Return the first match of a rule; a function that raises in its condition fails the run, not Python."""
        try:
            found = entry.prepare(store, self.scan, solution)(molecule)
            return found if entry.consumes else next(found, None)
        except SolventError:
            raise
        except Exception as error:
            raise reaction_failed(error, entry, (), None, []) from error

    def run(self, solution: Solution) -> None:
        """React until the solution is inert, or only calls in flight are left to wait for."""
        # A run that was stopped while it settled something has left it fresh.
        reopen(solution)
        self.go_on(solution)

    def go_on(self, solution: Solution) -> None:
        """React in a solution into which something new has come, and everywhere else."""
        self.settle(solution, 1)
        while self.step():
            pass

    def _in_order(self, entries: list[Entry]) -> list[Entry]:
        if self.chance is None:
            return entries
        left = list(entries)
        return [left.pop(self.chance.randrange(len(left))) for _ in range(len(left))]

    def _shuffled(self, row: Row) -> Iterator[Cell]:
        """Go through a row in random order, drawing as far as the search goes."""
        assert self.chance is not None
        in_hand = self._in_hand
        cells = [cell for cell in row if cell.alive and cell is not in_hand]
        randrange = self.chance.randrange
        for size in range(len(cells), 0, -1):
            at = randrange(size)
            yield cells[at]
            cells[at] = cells[size - 1]


def _level(solution: Solution) -> int:
    """Return how deep inside others a solution is."""
    level = 1
    while solution.host is not None:
        solution = solution.host[0]
        level += 1
    return level


class _Tried:
    """What is known of a store: for each rule that had no match, the cells that have come since."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.births = store.births
        self.pending: dict[Cell, list[Cell]] = {}

    def note(self, cell: Cell, births_before: int, births: int) -> None:
        """Hear of a new cell; of those that came without a word nothing is known, and nothing is then relied on."""
        if self.births == births_before:
            self.births = births
            for new in self.pending.values():
                new.append(cell)


def _entries_with(rule: Entry, molecule: Molecule, store: Store) -> list[Entry]:
    """Return the ways into a rule by a molecule, as new entries: a search goes through rows in its own order."""
    elements = rule.code.elements
    return [
        Entry(rule.cell, rule.rule, rule.code, elements.index(entry.element))
        for entry in store.entries_for(molecule)
        if entry.cell is rule.cell and entry.element is not None
    ]


def put(store: Store, molecule: Molecule) -> Cell:
    """Settle a molecule; a rule is registered."""
    cell = store.add(molecule)
    if type(cell.molecule) is Rule:
        store.register(cell, entries_of(cell, cell.molecule))
    return cell


def all_entries(store: Store) -> list[Entry]:
    """Return one entry, without a molecule in hand, for each rule."""
    return [Entry(cell, cell.molecule, entries[0].code, None) for cell, entries in store.rules.items()]
