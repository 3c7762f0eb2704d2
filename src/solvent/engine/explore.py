"""Every order of reactions, equal states merged.

A state is the whole solution. Its successors are the states after each reaction that is enabled anywhere in
it. From the graph of states follows what a program can do: the final states, whether every run ends (no
cycle), and whether all runs can still meet (confluent: exactly one set of states that no run leaves).
"""

from __future__ import annotations

from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from solvent.chemistry.molecule import Molecule, order_key
from solvent.chemistry.printer import print_molecule
from solvent.engine.choice import Stepper, all_entries
from solvent.engine.index import Cell, Store, in_order
from solvent.engine.support import store_of
from solvent.engine.trace import Record, Recorder
from solvent.errors import Misuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from solvent.chemistry.solution import Solution

STATES_MAX = 100_000
"""How many states are looked at unless the caller says otherwise."""
_Step = tuple[int, int, int]
"""A reaction by its place: which open solution, which rule in it, which of the rule's matches."""


class Exploration:
    """The graph of states of a program."""

    def __init__(self) -> None:
        self.states: list[Solution] = []
        self.edges: list[list[int]] = []
        # For each state but the first: the state it was first reached from, and by which reaction.
        self.came_from: list[tuple[int, _Step] | None] = []
        self.is_complete = True

    @property
    def finals(self) -> list[int]:
        """The states in which nothing can react."""
        return [state for state, edges in enumerate(self.edges) if not edges and self._is_expanded(state)]

    def _is_expanded(self, state: int) -> bool:
        return self.is_complete or self.states[state].inert

    @property
    def terminates(self) -> bool | None:
        """Whether every run ends; None when the limit was met before a cycle was."""
        if self.cycle() is not None:
            return False
        return True if self.is_complete else None

    @property
    def confluent(self) -> bool | None:
        """Whether any two runs can still meet; None when the limit was met before two final states were."""
        if len(self.finals) > 1:
            return False
        if not self.is_complete:
            return None
        return len(self.traps()) == 1

    def traps(self) -> list[list[int]]:
        """Give the sets of states that no run leaves: a final state, or a cycle without a way out."""
        components = _components(self.edges)
        number = {state: at for at, component in enumerate(components) for state in component}
        return [
            component
            for at, component in enumerate(components)
            if all(number[after] == at for state in component for after in self.edges[state])
        ]

    def cycle(self) -> list[int] | None:
        """Give states that lead back to the first of them, if there are any."""
        for component in _components(self.edges):
            start = component[0]
            if len(component) > 1 or start in self.edges[start]:
                return _round_trip(self.edges, start, set(component))
        return None

    def path(self, state: int) -> list[_Step]:
        """Give the reactions by which a state was first reached."""
        steps = []
        came = self.came_from[state]
        while came is not None:
            steps.append(came[1])
            came = self.came_from[came[0]]
        return steps[::-1]

    def divergence(self) -> tuple[int, int]:
        """Give two states whose runs can never meet again; only where the program is not confluent."""
        # The states were found in order of distance, so the first ones have the shortest runs.
        ends = self.finals
        if len(ends) < 2:
            ends = sorted(min(trap) for trap in self.traps())
        return ends[0], ends[1]

    def run_to(self, state: int) -> list[Record]:
        """Give the records of a shortest run to a state."""
        return self._replay(0, self.path(state))

    def run_round(self, cycle: list[int]) -> list[Record]:
        """Give the records of a run through the states of a cycle and back to the first."""
        records: list[Record] = []
        for state, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            wanted = order_key(self.states[after])
            step = next(step for step, reached in successors(self.states[state]) if order_key(reached) == wanted)
            records += self._replay(state, [step])
        for number, record in enumerate(records, 1):
            record.number = number
        return records

    def _replay(self, state: int, steps: list[_Step]) -> list[Record]:
        solution = self.states[state].copied()
        recorder = Recorder(solution)
        for step in steps:
            _take(solution, step, recorder)
            solution = solution.copied()
            recorder = _continued(recorder, solution)
        return recorder.records


def _continued(recorder: Recorder, solution: Solution) -> Recorder:
    """Go on recording in a copy: each step of an exploration starts from a fresh solution."""
    after = Recorder(solution)
    after.records = recorder.records
    return after


def explore(
    solution: Solution,
    *,
    states_max: int = STATES_MAX,
    should_stop: Callable[[], bool] | None = None,
    into: Exploration | None = None,
) -> Exploration:
    """Explore every order of reactions from a solution, which stays; `into` can be watched as it grows."""
    found = into if into is not None else Exploration()
    first = solution.copied()
    numbers: dict[Any, int] = {order_key(first): 0}
    _add_state(found, first, None)
    queue = deque([0])
    while queue:
        at = queue.popleft()
        if should_stop is not None and should_stop():
            found.is_complete = False
            break
        for step, after in successors(found.states[at]):
            key = order_key(after)
            number = numbers.get(key)
            if number is None:
                if len(numbers) >= states_max:
                    found.is_complete = False
                    continue
                number = numbers[key] = len(found.states)
                _add_state(found, after, (at, step))
                queue.append(number)
            if number not in found.edges[at]:
                found.edges[at].append(number)
        if not found.edges[at] and found.is_complete:
            found.states[at].inert = True
    return found


def _add_state(found: Exploration, solution: Solution, came_from: tuple[int, _Step] | None) -> None:
    # Only what a state says is kept: the store of the run that found it is not.
    found.states.append(solution.copied())
    found.edges.append([])
    found.came_from.append(came_from)


def successors(state: Solution) -> Iterator[tuple[_Step, Solution]]:
    """Give every reaction enabled in a state, with the state after it."""
    steps = _enabled(state)
    for step in steps:
        solution = state.copied()
        _take(solution, step, None)
        yield step, solution


def _enabled(state: Solution) -> list[_Step]:
    stepper = _opened(state.copied())
    found: list[_Step] = []
    for place, solution in enumerate(stepper.open):
        store = store_of(solution)
        for at, entry in enumerate(all_entries(store)):
            if entry.code.is_late and solution.waiting:
                continue
            seen: set[Any] = set()
            for number, match in enumerate(entry.matches(store, in_order, solution)):
                signature = tuple(map(_signature, match))
                if signature not in seen:
                    seen.add(signature)
                    found.append((place, at, number))
    return found


def _signature(value: Any) -> Any:
    """Tell matches apart by what they take: equal molecules make equal successors."""
    if isinstance(value, Cell):
        return order_key(value.molecule)
    return None if value is None or type(value) is Store or getattr(value, "is_solution", False) else _value_key(value)


def _value_key(value: Molecule) -> Any:
    return order_key(value)


def _opened(solution: Solution) -> Stepper:
    """Settle a solution and close everything in it that has nothing to do, innermost first."""
    stepper = Stepper(solution)
    idle = True
    while idle:
        idle = False
        for at, one in enumerate(stepper.open):
            if one is not solution and not _has_reaction(one):
                del stepper.open[at]
                stepper._close(one)  # noqa: SLF001 - explore is the stepper's other half
                idle = True
                break
    return stepper


def _has_reaction(solution: Solution) -> bool:
    store = store_of(solution)
    for entry in all_entries(store):
        if entry.code.is_late and solution.waiting:
            continue
        for _ in entry.matches(store, in_order, solution):
            return True
    return False


def _take(solution: Solution, step: _Step, recorder: Recorder | None) -> None:
    """Make the reaction at a place happen."""
    stepper = _opened(solution)
    stepper.observe = recorder
    place, at, number = step
    inner = stepper.open[place]
    store = store_of(inner)
    entry = all_entries(store)[at]
    matches = entry.matches(store, in_order, inner)
    match = next(islice(matches, number, None))
    inner.inert = False
    stepper._react(entry, match, None, inner, store)  # noqa: SLF001 - as above
    if stepper.flights:
        for flight in stepper.flights:
            flight.coroutine.close()
        message = f"`{entry.code.title}` calls an asynchronous function, and what it answers cannot be explored"
        raise Misuse("H313", message, hint="explore with a function that answers at once")


def _components(edges: list[list[int]]) -> list[list[int]]:
    """Give the strongly connected components (Tarjan's algorithm, without recursion)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in range(len(edges)):
        if root in index:
            continue
        work = [(root, iter(edges[root]))]
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        while work:
            state, after = work[-1]
            for other in after:
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(edges[other])))
                    break
                if other in on_stack:
                    low[state] = min(low[state], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[state])
                if low[state] == index[state]:
                    at = stack.index(state)
                    found.append(stack[at:])
                    on_stack.difference_update(stack[at:])
                    del stack[at:]
    return found


def _round_trip(edges: list[list[int]], start: int, inside: set[int]) -> list[int]:
    """Give a shortest way from a state back to itself within a component."""
    before: dict[int, int] = {}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        for after in edges[state]:
            if after == start:
                way = [state]
                while way[-1] != start:
                    way.append(before[way[-1]])
                return way[::-1]
            if after in inside and after not in before:
                before[after] = state
                queue.append(after)
    raise AssertionError("a component leads back to its states")


def describe_state(solution: Solution) -> str:
    """Give a state as text."""
    return print_molecule(solution)
