"""Every order of reactions, equal states merged.

A state is the whole solution. Its successors are the states after each reaction that is enabled anywhere in
it. From the graph of states follows what a program can do: the final states, whether every run ends (no
cycle), and whether all runs can still meet (confluent: exactly one set of states that no run leaves).

Properties may be watched on the way: what must hold in every state (`never`) or of every reaction (`refinement`). The
exploration stops at the first that does not hold, and since it goes from near states to far ones, by a shortest run.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, overload

from solvent.engine.reaction import Stopped
from solvent.engine.replay import replay
from solvent.engine.successors import Opened, Successors, successors
from solvent.engine.trace import Record, Recorder
from solvent.lang.printer import print_molecule
from solvent.lang.solution import Solution

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.engine.interned import Content, Interned
    from solvent.lang.rule import Rule

MAX_STATES = 100_000
"""How many states are looked at unless the caller says otherwise."""
_MAX_DRAWN = 40
"""A picture of more states than this shows nothing."""
_MAX_FINALS = 20
_KNOWN = {True: "yes", False: "no", None: "not known"}
_Passage: TypeAlias = "tuple[int, Rule, int]"
"""From a state, by a rule, to a state."""


class Property(Protocol):
    """What must hold while a program is explored; each check gives why it does not, or nothing."""

    name: str

    def check_state(self, number: int, opened: Opened) -> str | None:
        """Look at a state, before any reaction from it is looked at."""

    def check_reaction(self, before: int, rule: Rule, after: int, state: Solution) -> str | None:
        """Look at a reaction of a rule between two states, by their numbers; `state` is the one after."""


class Violation(NamedTuple):
    """A property that does not hold: in a state, or, where a rule is given, of its reaction from there to `after`.

    >>> from solvent import hocl
    >>> counter = hocl.parse("<N:0, (up = replace N:n by N:(n + 1) if n < 5)>").solution()
    >>> found = hocl.explore(counter, properties=[hocl.Never(hocl.rule("replace N:n by if n > 2"))])
    >>> hocl.show(found.states[found.violation.state])
    '<N:3, up>'
    """

    property: Property
    state: int
    reason: str
    rule: Rule | None = None
    after: int | None = None


class States(Sequence[Solution]):
    """The states of an exploration: each is made as a solution of its own when it is first asked for."""

    def __init__(self) -> None:
        self._made: list[Solution | Content] = []
        self._interned: Interned | None = None
        #: Those known to be inert.
        self.inert: set[int] = set()

    def add(self, content: Content, interned: Interned) -> None:
        """Append a state."""
        self._interned = interned
        self._made.append(content)

    def __len__(self) -> int:
        return len(self._made)

    @overload
    def __getitem__(self, at: int) -> Solution: ...

    @overload
    def __getitem__(self, at: slice) -> list[Solution]: ...

    def __getitem__(self, at: int | slice) -> Solution | list[Solution]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        at = range(len(self))[at]
        one = self._made[at]
        if not isinstance(one, Solution):
            assert self._interned is not None
            one = self._made[at] = self._interned.copy(one)
        one.inert = one.inert or at in self.inert
        return one


class Exploration:
    """All states that a program can reach: what `explore` returns.

    - `states`: the states as solutions, the first one first, near ones before far ones.
    - `edges`: for each state, the numbers of those after it.
    - `is_complete`: whether all states were found.
    - `violation`: the first property that does not hold, if one does not; nothing was explored after it.

    >>> from solvent import hocl
    >>> found = hocl.explore(hocl.parse("<1, 2, 4, replace x::int, y::int by x - y>").solution())
    >>> found.terminates, found.confluent, len(found.finals)
    (True, False, 6)
    """

    def __init__(self) -> None:
        self.states = States()
        self.edges: list[list[int]] = []
        # For each state but the first: the state it was first reached from, and by a reaction of which rule.
        self.came_from: list[tuple[int, Rule] | None] = []
        self.is_complete = True
        # The first property that was found not to hold; nothing was explored after that.
        self.violation: Violation | None = None

    @property
    def finals(self) -> list[int]:
        """The numbers of the states in which nothing can react."""
        return [state for state, edges in enumerate(self.edges) if not edges and self._is_expanded(state)]

    def _is_expanded(self, state: int) -> bool:
        return self.is_complete or state in self.states.inert

    @property
    def terminates(self) -> bool | None:
        """Whether every run ends; `None` if the limit was met before a cycle was found."""
        if self.cycle() is not None:
            return False
        return True if self.is_complete else None

    @property
    def confluent(self) -> bool | None:
        """Whether any two runs can still meet; `None` if the limit was met before two final states were found."""
        if len(self.finals) > 1:
            return False
        if not self.is_complete:
            return None
        return len(self.traps()) == 1

    def traps(self) -> list[list[int]]:
        """Return the sets of states that no run leaves: a final state, or a cycle without a way out."""
        components = _components(self.edges)
        number = {state: at for at, component in enumerate(components) for state in component}
        return [
            component
            for at, component in enumerate(components)
            if all(number[after] == at for state in component for after in self.edges[state])
        ]

    def cycle(self) -> list[int] | None:
        """Return states that lead back to the first of them, or `None`."""
        for component in _components(self.edges):
            start = component[0]
            if len(component) > 1 or start in self.edges[start]:
                return _round_trip(self.edges, start, set(component))
        return None

    def path(self, state: int) -> list[int]:
        """Return the states through which a state was first reached, itself the last."""
        return [after for _, _, after in self._way(state)]

    def _way(self, state: int) -> list[_Passage]:
        way = []
        came = self.came_from[state]
        while came is not None:
            way.append((*came, state))
            state = came[0]
            came = self.came_from[state]
        return way[::-1]

    def divergence(self) -> tuple[int, int]:
        """Return two states whose runs can never meet again; only for a program that is not confluent."""
        # The states were found in order of distance, so the first ones have the shortest runs.
        ends = self.finals
        if len(ends) < 2:
            ends = sorted(min(trap) for trap in self.traps())
        return ends[0], ends[1]

    def run_to(self, state: int) -> list[Record]:
        """Return the records of a shortest run to a state."""
        return self._replay(self._way(state))

    def run_to_violation(self) -> list[Record]:
        """Return the records of a shortest run to where a property does not hold."""
        assert self.violation is not None
        _, state, _, rule, after = self.violation
        return self._replay(self._way(state) + ([] if rule is None or after is None else [(state, rule, after)]))

    def run_round(self, cycle: list[int]) -> list[Record]:
        """Return the records of a run through the states of a cycle and back to the first."""
        way = []
        for state, after in zip(cycle, [*cycle[1:], cycle[0]], strict=True):
            wanted = self.states[after]
            way.append((state, next(rule for rule, got in successors(self.states[state]) if got == wanted), after))
        return self._replay(way)

    def __repr__(self) -> str:
        known = f"confluent={self.confluent}, terminates={self.terminates}"
        return f"Exploration(states={len(self.states)}, finals={len(self.finals)}, {known})"

    def _repr_mimebundle_(self, **_options: object) -> dict[str, str]:
        """Show it in a notebook: the states as a picture, or, where there are too many, what is known of them."""
        if 0 < len(self.states) <= _MAX_DRAWN:
            from solvent.engine.state_graph import graph_of_states
            from solvent.pictures import drawn, svg

            return {"image/svg+xml": svg(drawn(graph_of_states(self, repr(self))))}
        from solvent.pictures.tables import table

        finals = self.finals
        rows = [(state, describe_state(self.states[state])) for state in finals[:_MAX_FINALS]]
        more = f"and {len(finals) - _MAX_FINALS:,} more final states" if len(finals) > _MAX_FINALS else ""
        says = f"{len(self.states):,} states{'' if self.is_complete else ' so far'}, {len(finals):,} of them final"
        says += f"; confluent: {_KNOWN[self.confluent]}; every run ends: {_KNOWN[self.terminates]}"
        return {"text/html": table(("state", "final"), rows, says=says, below=more)}

    def _replay(self, way: list[_Passage]) -> list[Record]:
        records: list[Record] = []
        for state, rule, after in way:
            recorder = Recorder(self.states[state].copied())
            recorder.records = records
            replay(self.states[state], rule, self.states[after], recorder)
        return records


def explore(
    solution: Solution,
    *,
    max_states: int = MAX_STATES,
    should_stop: Callable[[], bool] | None = None,
    properties: Sequence[Property] = (),
    into: Exploration | None = None,
) -> Exploration:
    """Try every order of reactions from a solution, which is not changed; equal states are merged.

    - `max_states`: stop after this many states.
    - `should_stop`: called now and then; stop when it returns true.
    - `properties`: what must hold (`Never`, `Refines`); stop at the first that does not, by a shortest run.
    - `into`: an exploration to fill, which another thread can watch.

    Raises `ReactionFailed` when a product cannot be computed.

    >>> from solvent import hocl
    >>> found = hocl.explore(hocl.parse("<3, 5, replace x::int, y::int by x - y>").solution())
    >>> found.confluent, sorted(n for one in found.finals for n in found.states[one] if type(n) is int)
    (False, [-2, 2])
    """
    explorer = _Explorer(into if into is not None else Exploration(), max_states, properties, should_stop)
    try:
        explorer.explore(solution)
    except Stopped:
        explorer.found.is_complete = False
    return explorer.found


class _Explorer:
    """One exploration under way."""

    def __init__(
        self,
        found: Exploration,
        max_states: int,
        properties: Sequence[Property],
        should_stop: Callable[[], bool] | None,
    ) -> None:
        self.found = found
        self._max_states = max_states
        self._properties = properties
        self._should_stop = should_stop
        self._successors = Successors(should_stop)
        self._known: dict[Content, int] = {}
        self._queue: deque[tuple[int, Content]] = deque()

    def explore(self, solution: Solution) -> None:
        """Go from state to state, near ones first, until all are seen or something stops it."""
        found = self.found
        self._number_of(self._successors.content(solution), None)
        while self._queue:
            at, content = self._queue.popleft()
            if self._should_stop is not None and self._should_stop():
                raise Stopped
            found.violation = self._expand(at, content)
            if found.violation is not None:
                found.is_complete = False
                return
            if not found.edges[at] and found.is_complete:
                found.states.inert.add(at)

    def _expand(self, at: int, content: Content) -> Violation | None:
        found = self.found
        opened = Opened(self._successors, content)
        for one in self._properties:
            reason = one.check_state(at, opened)
            if reason is not None:
                return Violation(one, at, reason)
        edges: dict[int, None] = {}
        for rule, content_after in self._successors.after(content):
            after = self._number_of(content_after, (at, rule))
            if after is None:
                found.is_complete = False
                continue
            edges[after] = None
            for one in self._properties:
                reason = one.check_reaction(at, rule, after, found.states[after])
                if reason is not None:
                    return Violation(one, at, reason, rule, after)
        found.edges[at] = list(edges)
        return None

    def _number_of(self, content: Content, came_from: tuple[int, Rule] | None) -> int | None:
        """Return the number of a state, perhaps a new one; none where there may be no more states."""
        number = self._known.get(content)
        if number is None and len(self._known) < self._max_states:
            number = self._known[content] = len(self.found.states)
            self.found.edges.append([])
            self.found.came_from.append(came_from)
            self.found.states.add(content, self._successors.interned)
            self._queue.append((number, content))
        return number


def _components(edges: list[list[int]]) -> list[list[int]]:
    """Return the strongly connected components (Tarjan's algorithm, without recursion)."""
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
    """Return a shortest way from a state back to itself within a component."""
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
    """Return a state as text."""
    return print_molecule(solution)
