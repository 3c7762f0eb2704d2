"""One reaction: making it happen, limiting it, reporting it, and waiting for the calls it makes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.engine.failure import reaction_failed
from solvent.engine.index import Row, in_order
from solvent.errors import LIMIT_HINT, LimitReached
from solvent.lang.printer import print_molecule, short_rule

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Coroutine

    from solvent.engine.compile import Entry
    from solvent.engine.index import Store
    from solvent.lang.molecule import Molecule
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution

POLL_MASK = 0xFF


class Reaction:
    """One rule applied once: what `step` returns and an observer gets.

    `rule` reacted in `solution`, took the `reactants`, needed but left what it `kept`, and made the `products`. Of the
    reactants at the positions `endless` there are always more.

    >>> from solvent import hocl
    >>> reaction = hocl.step(hocl.parse("<1, 2, (sum = replace x::int, y::int by x + y)>").solution())
    >>> reaction.rule.name, sorted(reaction.reactants), reaction.products
    ('sum', [1, 2], [3])
    """

    __slots__ = ("before", "endless", "kept", "products", "reactants", "rule", "should_stop", "solution")

    def __init__(
        self,
        rule: Rule,
        solution: Solution,
        reactants: list[Molecule],
        kept: list[Molecule],
        products: list[Molecule],
        *,
        endless: Collection[int] = (),
    ) -> None:
        self.rule = rule
        self.solution = solution
        self.reactants = reactants
        self.kept = kept
        self.products = products
        self.endless = endless
        # What it kept and took as text, written before it happened.
        self.before: list[str] | None = None
        # Says whether the run is to stop, for an observer that takes long: it may then raise `Stopped`.
        self.should_stop: Callable[[], bool] | None = None

    def __repr__(self) -> str:
        taken = ", ".join(map(print_molecule, [*self.reactants, *self.kept]))
        made = ", ".join(map(print_molecule, [*self.kept, *self.products]))
        return f"<{short_rule(self.rule)}: {taken} -> {made or 'nothing'}>"


class Flight:
    """A reaction that waits for an external call."""

    __slots__ = ("coroutine", "endless", "entry", "reactants", "solution")

    def __init__(self, coroutine: Coroutine[Any, Any, list[Molecule]], solution: Solution, entry: Entry) -> None:
        self.coroutine = coroutine
        self.solution = solution
        self.entry = entry
        self.reactants: list[Molecule] = []
        self.endless: Collection[int] = ()


class Stopped(Exception):
    """A run was asked to stop before its solution was inert."""


class Reacting:
    """Makes reactions happen, and counts, limits and reports them."""

    def __init__(
        self,
        *,
        max_reactions: int | None = None,
        should_stop: Callable[[], bool] | None = None,
        observe: Callable[[Reaction], None] | None = None,
    ) -> None:
        self.reactions = 0
        self.max_reactions = max_reactions
        self.should_stop = should_stop
        self.observe = observe
        self.flights: list[Flight] = []
        self.scan: Callable[[Row], Any] = in_order
        # Whether anything must be looked at after every reaction.
        self._is_watched = max_reactions is not None or observe is not None
        # Who looks at the molecules themselves needs no texts, which cost more than the reaction.
        self._is_observed = observe is not None and getattr(observe, "wants_texts", True)
        # Batches of fresh molecules tried so far: small ones must not put off looking whether to stop.
        self._batches = 0
        # Whether the queues hold what a solution began with.
        self._is_first = False
        # When to ask `should_stop`: after one reaction, or 2, 4, ... 256. Whoever has a clock sets it lower where
        # reactions take long.
        self.poll_mask = POLL_MASK
        # Set by a sweep that was broken off.
        self.is_stopping = False
        # Counts the molecules tried one reaction at a time, and the last of them that needs no place any more: it
        # has reacted, or stands in the store.
        self._turn = 0
        self._placed = -1

    def _react(self, entry: Entry, match: Any, molecule: Any, solution: Solution, store: Store) -> None:
        """Make one reaction happen."""
        react = entry.react
        if self._is_watched:
            self._check_limits()
        if not self.reactions & self.poll_mask:
            self._poll()
        before: list[str] | None = None
        if self._is_observed:
            # A reaction changes solutions in place: afterwards its reactants are no longer what it took.
            taken, stays, _ = reactants_of(entry, match, molecule)
            before = [print_molecule(one) for one in (*stays, *taken)]
        if entry.is_async:
            self._take_off(entry, match, molecule, solution, store)
            products: list[Molecule] = []
        else:
            try:
                products = react(match, entry.rule, solution, store, entry.cell)
            except Exception as error:
                raise reaction_failed(error, entry, match, molecule) from error
            solution.fresh += products
        self.reactions += 1
        if entry.one_shot:
            store.delete(entry.cell)
        if entry.consumes:
            self._placed = self._turn
        if self.observe is not None and not entry.is_async:
            reactants, kept, endless = reactants_of(entry, match, molecule)
            reaction = Reaction(entry.rule, solution, reactants, kept, products, endless=endless)
            reaction.before = before
            reaction.should_stop = self.should_stop
            self.observe(reaction)

    def _check_limits(self) -> None:
        if self.max_reactions is not None and self.reactions >= self.max_reactions:
            count = f"{self.reactions} reaction{'' if self.reactions == 1 else 's'}"
            raise LimitReached("H501", f"still reacting after {count}", hint=LIMIT_HINT.format("--max-reactions"))

    def _poll_sometimes(self) -> None:
        """Look whether to stop; called often, where each time is short."""
        self._batches += 1
        if not self._batches & self.poll_mask:
            self._poll()

    def _poll(self) -> None:
        if self.should_stop is not None and self.should_stop():
            raise Stopped

    def _take_off(self, entry: Entry, match: Any, molecule: Any, solution: Solution, store: Store) -> None:
        flight = Flight(entry.react(match, entry.rule, solution, store, entry.cell), solution, entry)
        flight.reactants, _, flight.endless = reactants_of(entry, match, molecule)
        entry.code.consumption()(match, store)
        solution.flight += 1
        self.flights.append(flight)

    def arrive(self, flight: Flight, products: list[Molecule]) -> None:
        """Put in what a call that has answered produced."""
        flight.solution.flight -= 1
        flight.solution.extend(products)
        if self.observe is not None:
            rule, taken = flight.entry.rule, flight.reactants
            self.observe(Reaction(rule, flight.solution, taken, [], products, endless=flight.endless))

    def crash(self, flight: Flight, error: BaseException) -> Exception:
        """Put the reactants of a call that failed back, and give the error to raise."""
        flight.solution.flight -= 1
        flight.solution.extend(one for at, one in enumerate(flight.reactants) if at not in flight.endless)
        if flight.entry.one_shot:
            flight.solution.add(flight.entry.rule)
        return reaction_failed(error, flight.entry, (), None, flight.reactants)


def took_any(entry: Entry, match: Any) -> bool:
    """Return whether a match took, besides the molecule in hand, one of which there are not endlessly many."""
    for element, cell in zip(entry.code.elements, match, strict=False):
        if not element.kept and cell is not None and not cell.endless:
            return True
    return False


def reactants_of(entry: Entry, match: Any, molecule: Any) -> tuple[list[Molecule], list[Molecule], Collection[int]]:
    """Return the molecules that a match takes, those it keeps, and which of the first there are endlessly many of."""
    taken: list[Molecule] = []
    kept: list[Molecule] = []
    endless: list[int] = []
    for at, element in enumerate(entry.code.elements):
        cell = match[at]
        one = molecule if cell is None else cell.molecule
        if cell is not None and cell.endless and not element.kept:
            endless.append(len(taken))
        (kept if element.kept else taken).append(one)
    return taken, kept, endless
