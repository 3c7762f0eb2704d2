"""The reactions enabled in a state, and the state after each.

A state is a whole solution. Where no solution stands inside it, which is most of the time, it is laid out on a desk
that serves many states (`desk`). Where there are solutions inside, each reaction happens in a copy of the state, since
it changes them in place.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from solvent.engine.choice import Stepper, all_entries
from solvent.engine.compile import Entry, code_of
from solvent.engine.desk import Desks, Unsaid
from solvent.engine.failure import reaction_failed
from solvent.engine.index import Cell, Store, in_order
from solvent.engine.numbers import Key, Numbers, holds_solution
from solvent.engine.reactor import Reactor
from solvent.engine.support import store_of
from solvent.errors import Misuse
from solvent.lang.molecule import order_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.engine.trace import Recorder
    from solvent.lang.rule import Rule
    from solvent.lang.solution import Solution


class _Step(NamedTuple):
    """A reaction by its place: which open solution, which rule in it, which of the rule's matches."""

    place: int
    at: int
    number: int
    rule: Rule


class Opener:
    """Opens the states of one program, one at a time."""

    def __init__(self, should_stop: Callable[[], bool] | None = None) -> None:
        self.numbers = Numbers()
        #: Asked now and then; what is under way ends with `Stopped` when it returns true.
        self.should_stop = should_stop
        self._desks = Desks(self.numbers)

    def open(self, state: Solution, key: Key | None = None) -> Opened:
        """Open a state, which stays; what was opened before is closed. Raise `Stopped` when that is asked for."""
        key = self.numbers.key(state) if key is None else key
        return Opened(state, key, self.numbers, self._desks, self.should_stop)

    def run(self, solution: Solution, max_reactions: int) -> Solution:
        """Give what a solution, which stays, becomes when it reacts until it is inert; raise `Stopped` as `open`."""
        try:
            return self.numbers.solution(self._desks.run(self.numbers.key(solution), max_reactions, self.should_stop))
        except Unsaid:
            after = solution.copied()
            Reactor(max_reactions=max_reactions, should_stop=self.should_stop).run(after)
            return after


class Opened:
    """A state in which to look for reactions."""

    def __init__(
        self, state: Solution, key: Key, numbers: Numbers, desks: Desks, should_stop: Callable[[], bool] | None
    ) -> None:
        self.state = state
        self._numbers = numbers
        self.should_stop = should_stop
        self._desk = desks.lay(key)
        self._stepper = _opened(state.copied(), should_stop) if self._desk is None else None

    def fits(self, rule: Rule) -> bool:
        """Say whether a rule that is not in the state could react there."""
        if self._stepper is None:
            assert self._desk is not None
            return self._desk.fits(rule)
        solution = self._stepper.solution
        entry = Entry(Cell(rule), rule, code_of(rule.node), None)
        try:
            return any(True for _ in entry.matches(store_of(solution), in_order, solution))
        except Exception as error:
            raise reaction_failed(error, entry, (), None, []) from error

    def reactions(self) -> list[tuple[Rule, Key, Solution | None]]:
        """Give every reaction enabled here, equal ones once: its rule, the key of the state after, and that state.

        There is no state where its key is enough to make it. Raises `Stopped` when that is asked for.
        """
        found: list[tuple[Rule, Key, Solution | None]] = []
        short = self._desk.reactions(self.should_stop) if self._desk is not None else []
        found += [(rule, key, None) for rule, key in short if key is not None]
        if self._stepper is None and len(found) < len(short):
            # A reaction makes a solution: then every one is looked at for itself.
            self._stepper = _opened(self.state.copied(), self.should_stop)
            found = []
        if self._stepper is not None:
            each = _successors(self.state, self._stepper)
            found += [(rule, self._numbers.key(after), after) for rule, after in each]
        return found


def successors(state: Solution) -> Iterator[tuple[Rule, Solution]]:
    """Give every reaction enabled in a state by its rule, with the state after it."""
    if any(map(holds_solution, state)):
        # Keys of large states cost more than they are worth to somebody who does not compare them.
        yield from _successors(state, _opened(state.copied()))
        return
    opener = Opener()
    for rule, key, after in opener.open(state).reactions():
        yield rule, opener.numbers.solution(key) if after is None else after


def _successors(state: Solution, stepper: Stepper) -> Iterator[tuple[Rule, Solution]]:
    for step in _enabled(stepper):
        after = state.copied()
        _take(after, step, None, stepper.should_stop)
        yield step.rule, after


def replay(state: Solution, rule: Rule, after: Solution, recorder: Recorder) -> None:
    """Let the reaction of a rule that leads from a state to another happen, and record it."""
    solution = recorder.solution
    for step in _enabled(_opened(state.copied())):
        if step.rule == rule:
            tried = state.copied()
            _take(tried, step, None)
            if tried == after:
                _take(solution, step, recorder)
                return
    raise AssertionError("a reaction that was found once is found again")


def _enabled(stepper: Stepper) -> list[_Step]:
    found = []
    for place, solution in enumerate(stepper.open):
        store = store_of(solution)
        for at, entry in enumerate(all_entries(store)):
            if entry.code.is_late and solution.waiting:
                continue
            seen: set[Any] = set()
            for number, match in enumerate(entry.matches(store, in_order, solution)):
                stepper._poll()  # noqa: SLF001 - this is the stepper's other half
                signature = tuple(map(_signature, match))
                if signature not in seen:
                    seen.add(signature)
                    found.append(_Step(place, at, number, entry.rule))
    return found


def _signature(value: Any) -> Any:
    """Tell matches apart by what they take: equal molecules make equal successors."""
    if isinstance(value, Cell):
        return order_key(value.molecule)
    return None if value is None or type(value) is Store or getattr(value, "is_solution", False) else order_key(value)


def _opened(solution: Solution, should_stop: Callable[[], bool] | None = None) -> Stepper:
    """Settle a solution and close everything in it that has nothing to do, innermost first."""
    stepper = Stepper(solution, should_stop=should_stop)
    at = 0
    while at < len(stepper.open):
        one = stepper.open[at]
        stepper._poll_sometimes()  # noqa: SLF001 - as above
        # Whatever is closed changes only its host, which then stands at the end.
        if one is solution or _has_reaction(one):
            at += 1
        else:
            stepper.close(at)
    return stepper


def _has_reaction(solution: Solution) -> bool:
    store = store_of(solution)
    for entry in all_entries(store):
        if entry.code.is_late and solution.waiting:
            continue
        for _ in entry.matches(store, in_order, solution):
            return True
    return False


def _take(
    solution: Solution, step: _Step, recorder: Recorder | None, should_stop: Callable[[], bool] | None = None
) -> None:
    """Make the reaction at a place happen."""
    stepper = _opened(solution, should_stop)
    stepper.observe = recorder
    inner = stepper.open[step.place]
    store = store_of(inner)
    entry = all_entries(store)[step.at]
    matches = entry.matches(store, in_order, inner)
    match = next(islice(matches, step.number, None))
    inner.inert = False
    stepper._react(entry, match, None, inner, store)  # noqa: SLF001 - as above
    if stepper.flights:
        for flight in stepper.flights:
            flight.coroutine.close()
        message = f"cannot explore this program: `{entry.code.title}` calls an asynchronous function"
        raise Misuse("H313", message, hint="explore it with an ordinary function instead")


__all__ = ["Opened", "Opener", "replay", "successors"]
