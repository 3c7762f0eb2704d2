"""Runs solutions until they are inert.

Fresh molecules are tried one after the other, first come, first served. A molecule in hand is matched, through every
rule that could want it, against the settled molecules only; if it survives, it settles. So each combination is
looked at once, when its last member arrives, and a solution is inert the moment nothing is fresh. Sub-solutions of a
molecule run first: a rule only ever meets inert ones.

Whatever interrupts a run (a limit, an error in a product, Ctrl-C through `should_stop`) leaves every molecule in its
solution, and a later run goes on from there. Reactions whose product awaits an external call become `Flight`s: the
reactants are gone, the products arrive by `land`.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from solvent.engine.batches import MAX_LEVELS, are_flat, go_out, note_height, reopen, rules_apart
from solvent.engine.compile import Entry, entries_of
from solvent.engine.failure import reaction_failed
from solvent.engine.index import Store
from solvent.engine.reaction import Flight, Reacting, Stopped, took_any
from solvent.engine.support import store_of
from solvent.engine.sweep import sweep
from solvent.engine.visit import MIN_VISITS, note_visit
from solvent.errors import LimitReached, SolventError, TooLarge
from solvent.lang.functions import molecule_from_python
from solvent.lang.molecule import ATOMS, Endless, List, Molecule, Opaque, sub_solutions
from solvent.lang.rule import Rule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_PLACED = object()
MOLECULES = ATOMS | {tuple, List, Opaque, Solution}
_POLL_EVERY = 256
_MIN_QUEUED = 256
_PORTION = 128
_FEW = 16
_IN_A_ROW = range(64)
"""How often a molecule that is put back with less in it (`AGAIN`) is tried before others have their turn."""


class Reactor(Reacting):
    """Runs solutions."""

    def run(self, solution: Solution) -> None:
        """React until the solution is inert, or only calls in flight are left to wait for."""
        reopen(solution)
        self._poll()
        self.go_on(solution)

    def go_on(self, solution: Solution) -> None:
        """React in a solution, and in those around it that waited for it."""
        self._run(solution, 1)
        while solution.inert and solution.host is not None:
            # An answer that arrived deep inside may have made the solutions around it ready to go on.
            solution = go_out(solution)
            self._run(solution, 1)

    def _run(self, solution: Solution, level: int) -> None:
        if solution.inert:
            return
        if level > MAX_LEVELS:
            raise LimitReached("H503", f"solutions are nested more than {MAX_LEVELS} levels deep")
        store: Any = solution.settled
        if store is None:
            store = store_of(solution)
        if store.untried:
            # A stepper settled these without trying them against each other.
            solution.fresh = [*store, *solution.fresh]
            store = solution.settled = Store()
        while True:
            fresh = solution.fresh
            if fresh:
                self._batches += 1
                if not self._batches & self.poll_mask:
                    self._poll()
                solution.fresh = []
                if not MOLECULES.issuperset(map(type, fresh)):
                    self._try_all(solution, store, fresh, level)
                elif not store.rules:
                    self._settle(solution, store, fresh, level)
                elif len(fresh) <= _FEW:
                    self._try_molecules(solution, store, fresh, level)
                else:
                    self._try_all(solution, store, fresh, level)
            elif store.queues and self._try_queues(solution, store, level):
                pass
            elif not (store.late and not solution.waiting and self._run_late(solution, store)):
                break
        solution.inert = not solution.waiting and not solution.flight

    def _try_all(self, solution: Solution, store: Store, fresh: list[Molecule], level: int) -> None:
        """Try every fresh molecule: rules first, so that no molecule settles before it has met them."""
        rules, others, kinds = rules_apart(fresh)
        if not kinds <= MOLECULES:
            # Whoever put plain Python values in meant the molecules they stand for.
            others = list(map(molecule_from_python, others))
            kinds = frozenset(map(type, others))
        left: Iterator[Molecule] = iter(rules)
        active: Any = _PLACED
        try:
            for active in left:
                if type(active) is Endless:
                    self._enter_endless(solution, store, active, level)
                elif not any(self._enter_by(entry, solution, store, active) for entry in store.entries_for(active)):
                    self._settle_rule(solution, store, active)
                active = _PLACED  # noqa: PLW2901 - from here on it needs no place
            if self.observe is None and len(others) > 1:
                others = sweep(self, solution, store, others, kinds)
                if self.is_stopping:
                    self.is_stopping = False
                    raise Stopped  # noqa: TRY301 - what is left must be put back below
        except BaseException:
            is_placed = active is _PLACED or self._placed == self._turn
            solution.fresh = [*([] if is_placed else [active]), *left, *others, *solution.fresh]
            raise
        if len(others) > _MIN_QUEUED and not self._is_watched:
            others = store.enqueue(others)
            self._is_first = True
        if others:
            self._try_molecules(solution, store, others, level)

    def _settle(self, solution: Solution, store: Store, fresh: list[Molecule], level: int) -> None:
        """Settle molecules where there is no rule that could want them."""
        left = iter(fresh)
        active: Any = None
        add = store.add
        try:
            for active in left:
                if type(active) in ATOMS or self._is_ready(solution, active, level):
                    add(active)
                else:
                    solution.waiting[id(active)] = active
        except BaseException:
            solution.fresh = [active, *left, *solution.fresh]
            raise

    def _try_molecules(self, solution: Solution, store: Store, molecules: list[Molecule], level: int) -> None:
        """Try molecules one by one; this loop is what a run spends its time in."""
        entries_for, add, enter, is_watched = store.entries_for, store.add, self._enter_by, self._is_watched
        fast = store.fast.get if store.fast and not is_watched else None
        entry: Any = None
        may_nest = len(molecules) <= _FEW or not are_flat(molecules)
        left = iter(molecules)
        active: Any = _PLACED
        is_slow, until_poll = False, _POLL_EVERY
        try:
            for active in left:
                is_slow = False
                until_poll -= 1
                if until_poll <= 0:
                    until_poll = _POLL_EVERY
                    self._poll()
                if may_nest and type(active) not in ATOMS and not self._is_ready(solution, active, level):
                    solution.waiting[id(active)] = active
                    continue
                if fast is not None and type(active) is tuple:
                    entry = None
                    visit = fast((len(active), active[0]))
                    if visit is not None:
                        visit(active)
                        continue
                entries: tuple[Entry, ...] = entries_for(active)
                for _ in _IN_A_ROW:
                    for entry in entries:
                        if not entry.cell.alive or (entry.needs and not store.holds(entry.needs)):
                            continue
                        attempt = entry.attempt or entry.prepare_attempt(store, self.scan, solution)
                        if attempt is None or is_watched or store.has_endless:
                            is_slow = True
                            found = enter(entry, solution, store, active)
                        else:
                            found = attempt(active)
                        if found:
                            break
                    else:
                        add(active)
                        break
                    if found is True:
                        break
                else:
                    solution.fresh.append(active)
                if type(active) is tuple and not is_watched:
                    store.visits += 1
                    if store.visits >= MIN_VISITS:
                        note_visit(active, entries, store, solution)
                        fast = store.fast.get
        except BaseException as error:
            is_placed = active is _PLACED or (is_slow and self._placed == self._turn)
            failure = self._broken_off(error, entry, active, solution, store)
            solution.fresh = [*([] if is_placed else [active]), *left, *solution.fresh]
            if failure is error:
                raise
            raise failure from error
        finally:
            self.reactions += store.reactions
            store.reactions = 0

    def _try_queues(self, solution: Solution, store: Store, level: int) -> bool:
        """Try the flat molecules that reactions made, and return whether there were any."""
        found = False
        is_first, self._is_first = self._is_first, False
        for key, queue in list(store.queues.items()):
            if queue:
                found = True
                self._batches += 1
                if not self._batches & self.poll_mask:
                    self._poll()
                # What reactions make comes in small portions, so that what belongs together meets while it is still
                # in the processor's cache; what a solution begins with is tried as a whole.
                portion = len(queue) if is_first else _PORTION
                molecules = queue[:portion]
                del queue[:portion]
                visit = store.fast.get(key)
                if visit is None or self._is_watched or store.has_endless:
                    self._try_molecules(solution, store, molecules, level)
                else:
                    self._visit_all(solution, store, molecules, visit)
        return found

    def _visit_all(
        self, solution: Solution, store: Store, molecules: list[Molecule], visit: Callable[[Molecule], Any]
    ) -> None:
        """Visit flat molecules one after the other: most of a long run happens here."""
        left = iter(molecules)
        active: Any = _PLACED
        try:
            while True:
                for active in islice(left, _POLL_EVERY):
                    visit(active)
                if active is _PLACED:
                    return
                active = _PLACED
                self._poll()
        except BaseException as error:
            failure = self._broken_off(error, None, active, solution, store)
            solution.fresh = [*([] if active is _PLACED else [active]), *left, *solution.fresh]
            if failure is error:
                raise
            raise failure from error
        finally:
            self.reactions += store.reactions
            store.reactions = 0

    def _broken_off(
        self, error: BaseException, entry: Entry | None, active: Any, solution: Solution, store: Store
    ) -> BaseException:
        """Return the error to raise for one that came while a molecule was tried, by an entry if that is known."""
        if entry is None and active is not _PLACED:
            entry = _culprit(store.entries_for(active), error)
        return self._failure(error, entry, active, solution, store)

    def _failure(
        self, error: BaseException, entry: Entry | None, molecule: Molecule, solution: Solution, store: Store
    ) -> BaseException:
        """Return the error to raise for one that came out of an attempt: with the rule, the place and the reactants."""
        if isinstance(error, TooLarge) and entry is not None:
            return reaction_failed(error, entry, (), None, [])
        if entry is None or not isinstance(error, Exception) or isinstance(error, SolventError | Stopped):
            return error
        try:
            find = entry.find or entry.prepare(store, self.scan, solution)
            match = find(molecule) if entry.consumes else next(find(molecule))
            return reaction_failed(error, entry, match, molecule)
        except Exception:  # noqa: BLE001 - the search itself fails: a function in the condition raised
            return reaction_failed(error, entry, (), None, [molecule])

    def _is_ready(self, solution: Solution, molecule: Molecule, level: int) -> bool:
        """Run the solutions inside a molecule, and return whether all of them are inert."""
        ready = True
        for sub in sub_solutions(molecule):
            if not sub.inert:
                self._run(sub, level + 1)
                if not sub.inert:
                    sub.host = (solution, molecule)
                    ready = False
            if sub.height >= solution.height:
                note_height(solution, sub)
        return ready

    def _enter_by(self, entry: Entry, solution: Solution, store: Store, molecule: Molecule) -> bool:
        """Let a molecule react through one entry, one reaction at a time, and return whether it is gone or placed."""
        self._turn += 1
        if not entry.cell.alive:
            return False
        find = entry.find or entry.prepare(store, self.scan, solution)
        if entry.consumes:
            match = find(molecule)
            if match is None:
                return False
            self._react(entry, match, molecule, solution, store)
            return True
        for match in find(molecule):
            self._react(entry, match, molecule, solution, store)
            if store.has_endless and not entry.one_shot and not took_any(entry, match):
                # The same match is possible again, so the molecule is tried again.
                self._placed = self._turn
                solution.fresh.append(molecule)
                return True
            if entry.one_shot:
                break
        return False

    def _enter_endless(self, solution: Solution, store: Store, molecule: Endless, level: int) -> None:
        """Settle a molecule of which there are always more, and let it react as long as others last."""
        self._turn += 1
        inner = molecule.molecule
        if not self._is_ready(solution, molecule, level):
            solution.waiting[id(molecule)] = molecule
            self._placed = self._turn
            return
        if type(inner) is Rule:
            self._settle_rule(solution, store, molecule)
            return
        cell = store.add(molecule)
        try:
            for entry in store.entries_for(inner):
                if not entry.cell.alive:
                    continue
                find = entry.find or entry.prepare(store, self.scan, solution)
                match = None
                while entry.cell.alive:
                    # It is never used up, so a search that ends with its first match begins anew.
                    match = find(inner) if entry.consumes else next(find(inner), None)
                    if match is None:
                        break
                    self._react(entry, match, inner, solution, store)
                    if not entry.one_shot and not took_any(entry, match):
                        store.delete(cell)
                        solution.fresh.append(molecule)
                        return
        except BaseException:
            # The molecule has not met everything yet, so it must come in again.
            store.delete(cell)
            raise

    def _settle_rule(self, solution: Solution, store: Store, molecule: Rule | Endless) -> None:
        """Register a rule, and let it react with what has settled before it came."""
        self._turn += 1
        cell = store.add(molecule)
        rule: Rule = cell.molecule
        entries = entries_of(cell, rule)
        store.register(cell, entries)
        code = entries[0].code
        if code.is_late or (code.elements and store.size == len(store.rules) and not _wants_rules(entries)):
            return
        entry = Entry(cell, rule, code, None)
        try:
            for match in entry.matches(store, self.scan, solution):
                self._react(entry, match, None, solution, store)
                if not cell.alive:
                    return
                if not took_any(entry, match):
                    store.delete(cell)
                    solution.fresh.append(molecule)
                    return
        except BaseException:
            # The rule has not met everything yet, so it must come in again.
            if cell.alive:
                store.delete(cell)
            else:
                self._placed = self._turn
            raise

    def _run_late(self, solution: Solution, store: Store) -> bool:
        """Let one rule react that takes the rest of its own solution, and return whether one did."""
        for entry in list(store.late):
            for match in entry.matches(store, self.scan, solution):
                self._react(entry, match, None, solution, store)
                return True
        return False

    def land(self, flight: Flight, products: list[Molecule]) -> None:
        """Put in what a call that has answered produced, and go on."""
        self.arrive(flight, products)
        self.go_on(flight.solution)


def _culprit(entries: tuple[Entry, ...], error: BaseException) -> Entry | None:
    """Return the entry whose part of a visit an error came from: all entries of a molecule share one text."""
    return next((entry for at, entry in enumerate(entries) if entry.code.has_raised(error, at)), None)


def _wants_rules(entries: list[Entry]) -> bool:
    return any(key is Rule or key is object for entry in entries for key in entry.keys)
