"""The states that were found and the moves between them, as flat arrays of numbers; dead ends and livelocks in them.

A **dead end** is a state from which no goal can be reached, whatever happens, without further faults (a crash must
not be the only hope). A state in which nothing can happen at all is the plainest one, a deadlock.

A **livelock** is a fair run that goes on for ever without progress and never meets a goal. Take away goals and the
moves that are progress; what a run does for ever afterwards is a strongly connected component of the rest. It is
weakly fair if each class of moves is either made inside it or impossible somewhere in it (a node that takes no other
event because it waits for an answer or is amid its effects makes nothing impossible; see `Moves.possible`). The larger
the component, the easier that is, so it is enough to look at the largest ones. With fair choices, a state that some
answer leads out of the component cannot be met again and again without that answer being given: such states are taken
away and the rest is looked at anew, as in the search for strongly fair runs by Emerson and Lei.
"""

from __future__ import annotations

from array import array
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from solvent_lab.checker.moves import Kind, Label

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_PROGRESS = 1


class Graph:
    """States by number, in the order they were found (so never farther than the next), with the moves from each."""

    def __init__(self) -> None:
        #: Each state's row, as bytes.
        self.rows: list[bytes] = []
        #: From which state each was found first; the first state from itself.
        self.parents = array("I")
        self.depths = array("I")
        #: Where the moves of each state begin in `targets` and `marks`; one more entry than states when complete.
        self.begins = array("L")
        self.targets = array("I")
        #: For each move: twice its class, plus one if it is progress.
        self.marks = array("I")
        self.goals = bytearray()

    def add(self, row: bytes, parent: int, *, is_goal: bool) -> int:
        """Add a state."""
        number = len(self.rows)
        self.rows.append(row)
        self.parents.append(parent)
        self.depths.append(self.depths[parent] + 1 if number else 0)
        self.goals.append(is_goal)
        return number

    def moves(self, state: int) -> Iterator[tuple[int, int, bool]]:
        """Go through the moves from a state: target, class, whether it is progress."""
        for place in range(self.begins[state], self.begins[state + 1]):
            mark = self.marks[place]
            yield self.targets[place], mark >> 1, bool(mark & _PROGRESS)

    def path_to(self, state: int) -> list[int]:
        """Return the states on a shortest way to a state, the first and itself included."""
        path = [state]
        while state:
            state = self.parents[state]
            path.append(state)
        return path[::-1]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Lasso:
    """A loop that may go on for ever: its states, the first one again at the end."""

    path: tuple[int, ...]


@dataclass(frozen=True)
class DeadEnd:
    """A state without hope, the states on the way from it to where nothing happens any more, or a loop after them."""

    state: int
    way: tuple[int, ...]
    loop: tuple[int, ...]


# --------------------------------------------------------------------------------------------------- dead ends


def dead_end(graph: Graph, labels: Sequence[Label]) -> DeadEnd | None:
    """Return the nearest state from which no goal can be reached, if there is one."""
    is_fault = [label.kind.is_fault for label in labels]
    begins, sources = _reversed(graph, is_fault)
    is_hopeful = bytearray(graph.goals)
    waiting = [state for state, is_goal in enumerate(is_hopeful) if is_goal]
    while waiting:
        state = waiting.pop()
        for source in sources[begins[state] : begins[state + 1]]:
            if not is_hopeful[source]:
                is_hopeful[source] = 1
                waiting.append(source)
    state = is_hopeful.find(0)
    if state < 0:
        return None
    return _followed(graph, is_fault, state)


def _followed(graph: Graph, is_fault: list[bool], first: int) -> DeadEnd:
    """Return the way from a hopeless state to the nearest one where nothing happens any more, else round a loop."""
    parents = {first: first}
    waiting = deque([first])
    loop: tuple[int, ...] = ()
    while waiting:
        state = waiting.popleft()
        targets = [target for target, label, _ in graph.moves(state) if not is_fault[label]]
        if not targets:
            return DeadEnd(first, _back(parents, state, first)[1:], ())
        for target in targets:
            if target not in parents:
                parents[target] = state
                waiting.append(target)
            elif not loop and target in _back(parents, state, first):
                loop = (*_back(parents, state, target), target)
    # Whoever can always go on must come back somewhere, as there are only so many states.
    return DeadEnd(first, _back(parents, loop[0], first)[1:], loop[1:])


def _back(parents: dict[int, int], state: int, first: int) -> tuple[int, ...]:
    """Return the states from one to another on the way by which it was found; from the root if it is not on it."""
    way = [state]
    while state not in (first, parents[state]):
        state = parents[state]
        way.append(state)
    return tuple(reversed(way))


def _reversed(graph: Graph, is_fault: list[bool]) -> tuple[array[int], array[int]]:
    """Return for each state where its sources begin, and all sources: moves backwards, without faults."""
    count, begins, targets, marks = len(graph), graph.begins, graph.targets, graph.marks
    ends = array("L", bytes(array("L").itemsize * (count + 1)))
    for place, target in enumerate(targets):
        if not is_fault[marks[place] >> 1]:
            ends[target + 1] += 1
    for state in range(count):
        ends[state + 1] += ends[state]
    firsts = array("L", ends)
    sources = array("I", bytes(array("I").itemsize * ends[count]))
    for state in range(count):
        for place in range(begins[state], begins[state + 1]):
            if not is_fault[marks[place] >> 1]:
                target = targets[place]
                sources[ends[target]] = state
                ends[target] += 1
    return firsts, sources


# --------------------------------------------------------------------------------------------------- livelocks


def livelock(
    graph: Graph, labels: Sequence[Label], possible: Callable[[int], set[int]], *, fair_choices: bool
) -> Lasso | None:
    """Return the nearest fair loop without progress away from goals; `possible`: the classes possible in a state."""
    inside = [not is_goal for is_goal in graph.goals]
    best: Lasso | None = None
    waiting = _components(graph, inside, [state for state in range(len(graph)) if inside[state]])
    while waiting:
        component = waiting.pop()
        members = set(component)
        if fair_choices:
            left = [state for state in component if _is_left_by_choice(graph, labels, state, members)]
            if left:
                for state in component:
                    inside[state] = False
                rest = sorted(members.difference(left))
                for state in rest:
                    inside[state] = True
                waiting += _components(graph, inside, rest)
                for state in rest:
                    inside[state] = False
                continue
        first = min(component)
        if (best is None or first < best.path[0]) and _is_fair(graph, possible, members):
            best = Lasso(tuple(_loop(graph, possible, members, first)))
    return best


def _components(graph: Graph, inside: list[bool], states: list[int]) -> list[list[int]]:
    """Return the strongly connected components, of at least one move each, of these states (Tarjan, without frames)."""
    begins, targets, marks = graph.begins, graph.targets, graph.marks
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    on_stack: set[int] = set()
    stack: list[int] = []
    found: list[list[int]] = []
    for root in states:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        path = [(root, begins[root])]
        while path:
            state, place = path.pop()
            end = begins[state + 1]
            while place < end:
                target = targets[place]
                is_plain = inside[target] and not marks[place] & 1
                place += 1
                if not is_plain:
                    continue
                if target not in order:
                    path.append((state, place))
                    order[target] = low[target] = len(order)
                    stack.append(target)
                    on_stack.add(target)
                    path.append((target, begins[target]))
                    break
                if target in on_stack and order[target] < low[state]:
                    low[state] = order[target]
            else:
                if low[state] == order[state]:
                    component = _popped(stack, on_stack, state)
                    if len(component) > 1 or _loops(graph, state):
                        found.append(component)
                if path:
                    before = path[-1][0]
                    low[before] = min(low[before], low[state])
    return found


def _popped(stack: list[int], on_stack: set[int], root: int) -> list[int]:
    component = []
    while True:
        state = stack.pop()
        on_stack.discard(state)
        component.append(state)
        if state == root:
            return component


def _loops(graph: Graph, state: int) -> bool:
    return any(target == state and not is_progress for target, _, is_progress in graph.moves(state))


def _is_left_by_choice(graph: Graph, labels: Sequence[Label], state: int, members: set[int]) -> bool:
    return any(
        labels[label].kind is Kind.ANSWER and (is_progress or target not in members)
        for target, label, is_progress in graph.moves(state)
    )


def _is_fair(graph: Graph, possible: Callable[[int], set[int]], members: set[int]) -> bool:
    """Whether each class is made inside or impossible somewhere."""
    taken = {
        label
        for state in members
        for target, label, is_progress in graph.moves(state)
        if target in members and not is_progress
    }
    owed: set[int] | None = None
    for state in members:
        owed = possible(state) - taken if owed is None else owed & possible(state)
        if not owed:
            return True
    return False


def _loop(graph: Graph, possible: Callable[[int], set[int]], members: set[int], first: int) -> list[int]:
    """Return a short loop from a state that treats every class fairly."""
    path = [first]
    taken: set[int] = set()
    always = possible(first)
    while always - taken:
        way = _way(graph, members, path[-1], partial(_is_settled, possible, min(always - taken)))
        for state, label in way:
            path.append(state)
            taken.add(label)
            always &= possible(state)
    if len(path) == 1 or path[-1] != first:
        path += [state for state, _ in _way(graph, members, path[-1], lambda _, target: target == first)]
    return path


def _is_settled(possible: Callable[[int], set[int]], owed: int, made: int, target: int) -> bool:
    return made == owed or owed not in possible(target)


def _way(graph: Graph, members: set[int], start: int, is_enough: Callable[[int, int], bool]) -> list[tuple[int, int]]:
    """Return a shortest way inside, of one move at least, until a move of this class to this state is enough."""
    ways: dict[int, list[tuple[int, int]]] = {start: []}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        for target, made, is_progress in graph.moves(state):
            if is_progress or target not in members:
                continue
            way = [*ways[state], (target, made)]
            if is_enough(made, target):
                return way
            if target not in ways:
                ways[target] = way
                waiting.append(target)
    raise AssertionError("a strongly connected component is connected")


__all__ = ["DeadEnd", "Graph", "Lasso", "dead_end", "livelock"]
