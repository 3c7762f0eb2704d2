"""The states of a workflow, as a graph to draw: what runs in each, and what starts or is done between them.

Those of a program are drawn by `engine.state_graph`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from solvent.engine.state_graph import LABEL_LETTERS, edges_of, node_of, told
from solvent.pictures.graph import Graph
from solvent.pictures.text_width import cut
from solvent.runs.causality import between

if TYPE_CHECKING:
    from solvent.pictures.graph import Link
    from solvent.runs.exploration import Counts, Orders


def graph_of_orders(found: Orders, name: str) -> Graph:
    """Give the states of a workflow; a way to an end that nobody wants can be seen."""
    finals = [number for number, state in enumerate(found.states) if state.is_final]
    bad = next((number for number in finals if found.states[number].end in ("failed", "stuck")), None)
    legend = [] if found.is_complete else ["… there are more states"]
    run: list[Link] = []
    if bad is not None and any(found.states[number].end not in ("failed", "stuck") for number in finals):
        way = _way(found, bad)
        run = list(pairwise(way))
        legend.append(f"a way that ends {found.states[bad].end}: {told(way)}")
    nodes = []
    for number, state in enumerate(found.states):
        what = [f"#{number}", *(["start"] if not number else []), *([f"ends {state.end}"] if state.is_final else [])]
        kind = ("final" if state.end == "done" else state.end) if state.is_final else "" if number else "start"
        nodes.append(node_of(number, what, _running(state), kind, _done(state)))
    labels = {
        (before, after): cut(", ".join(_happened(found.states[before], found.states[after])), LABEL_LETTERS)
        for before, after in sorted(found.edges)
    }
    return Graph(tuple(nodes), edges_of(len(nodes), labels, run), name, tuple(legend), noun="state", when="when")


def _way(found: Orders, state: int) -> list[int]:
    way = [state]
    while (before := found.came_from[way[-1]]) is not None:
        way.append(before)
    return way[::-1]


def _happened(before: Counts, after: Counts) -> list[str]:
    """Tell what happened between two states; a gate that shuts, or a signal that comes, is neither."""
    gone = [f"{task} withdrawn" for task, many in before.running.items() if after.running.get(task, 0) < many]
    return between(before, after) or gone or ["another event"]


def _running(state: Counts) -> str:
    names = [name if many == 1 else f"{name} × {many}" for name, many in state.running.items() if many]
    return f"{', '.join(names)} {'runs' if len(names) == 1 else 'run'}" if names else "nothing runs"


def _done(state: Counts) -> str:
    names = [name if many == 1 else f"{name} × {many}" for name, many in state.done.items() if many]
    return f"done: {', '.join(names)}" if names else ""


__all__ = ["graph_of_orders"]
