"""Circles in a graph: one for each set of nodes that all lead to each other.

Tarjan's strongly connected components (SIAM Journal on Computing 1(2), 1972), without recursion, since a chain may have
a hundred thousand tasks; then a shortest circle through one node of each.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def cycles_of(graph: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return a circle `a, b, c` (a leads to b, b to c, c to a) for each knot of the graph."""
    return [
        _circle(graph, set(component), min(component))
        for component in components_of(graph)
        if len(component) > 1 or component[0] in graph[component[0]]
    ]


def components_of(graph: Mapping[str, Sequence[str]]) -> Iterator[list[str]]:
    """Yield the sets of nodes that lead to each other."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    work: list[tuple[str, Iterator[str]]] = []

    def enter(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        on_stack.add(node)
        work.append((node, iter(graph[node])))

    for root in graph:
        if root not in number:
            enter(root)
        while work:
            node, onward = work[-1]
            for one in onward:
                if one in on_stack:
                    # It is on the way already, which closes a circle.
                    low[node] = min(low[node], number[one])
                elif one in graph and one not in number:
                    enter(one)
                    break
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    low[above] = min(low[above], low[node])
                if low[node] == number[node]:
                    yield _taken(stack, on_stack, node)


def _taken(stack: list[str], on_stack: set[str], last: str) -> list[str]:
    component = []
    while True:
        node = stack.pop()
        on_stack.discard(node)
        component.append(node)
        if node == last:
            return component


def _circle(graph: Mapping[str, Sequence[str]], component: set[str], start: str) -> list[str]:
    """Find a shortest way from a node back to it inside its component."""
    before: dict[str, str] = {}
    todo = deque([start])
    while True:
        node = todo.popleft()
        for one in graph[node]:
            if one == start:
                return _way_back(before, node)
            if one in component and one not in before:
                before[one] = node
                todo.append(one)


def _way_back(before: Mapping[str, str], end: str) -> list[str]:
    way = [end]
    while way[-1] in before:
        way.append(before[way[-1]])
    return way[::-1]
