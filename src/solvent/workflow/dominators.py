"""Which tasks every way to a task goes through.

The nearest such task is found for all tasks together, by the algorithm of Cooper, Harvey and Kennedy (A Simple, Fast
Dominance Algorithm, 2001): in the order of a depth-first walk turned round, until nothing changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_ROOT = ""
"""What lies before all that start by themselves; no task has an empty name."""


def dominators_of(destinations: Mapping[str, tuple[str, ...]], starts: Iterable[str]) -> dict[str, str | None]:
    """Give for each task that can be reached the nearest one that all ways to it go through, if there is one."""
    graph = {**destinations, _ROOT: tuple(starts)}
    order = _order(graph)
    number = {name: at for at, name in enumerate(order)}
    sources: dict[str, list[str]] = {name: [] for name in order}
    for name in order:
        for to in graph[name]:
            sources[to].append(name)
    nearest = {_ROOT: _ROOT}
    is_changed = True
    while is_changed:
        is_changed = False
        for name in order[1:]:
            known = [source for source in sources[name] if source in nearest]
            found = known[0]
            for other in known[1:]:
                found = _common(found, other, nearest, number)
            if nearest.get(name) != found:
                nearest[name] = found
                is_changed = True
    return {name: found or None for name, found in nearest.items() if name}


def _common(one: str, other: str, nearest: Mapping[str, str], number: Mapping[str, int]) -> str:
    """Give the nearest that two have in common."""
    while one != other:
        while number[one] > number[other]:
            one = nearest[one]
        while number[other] > number[one]:
            other = nearest[other]
    return one


def _order(graph: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Give what can be reached, each before what it leads to, as far as there are no ways round."""
    seen = {_ROOT}
    found: list[str] = []
    work = [(_ROOT, iter(graph[_ROOT]))]
    while work:
        name, onward = work[-1]
        for to in onward:
            if to not in seen:
                seen.add(to)
                work.append((to, iter(graph[to])))
                break
        else:
            work.pop()
            found.append(name)
    return found[::-1]


__all__ = ["dominators_of"]
