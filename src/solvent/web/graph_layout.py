"""The layout of a run's workflow graph: boxes and lines for the page to draw.

If there are many tasks, those that do the same are one box (`pictures.groups`) until a viewer opens it. A layout does
not change while a run goes on: tasks of alternatives have their places from the beginning.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.pictures import Graph, Node, group, place
from solvent.pictures.groups import MAX_NODES
from solvent.pictures.layers import layers_of
from solvent.pictures.text_width import cut
from solvent.workflows.diagram import graph_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.web.channel import Message
    from solvent.workflows.model import Workflow

_MAX_KEPT = 24
_MAX_LETTERS = 34
_MAX_BESIDE = 20
"""The largest number of tasks of one kind side by side that can be read at a glance."""
_ROOM = ("service", "0" * 30)
"""A line for the counts that the page writes into a box of several tasks."""


def _layout(graph: Graph, opened: Sequence[str], *, is_whole: bool) -> Message:
    """Return boxes and lines; without `is_whole`, tasks that do the same are one box unless it is `opened`."""
    limit = len(graph.nodes) if is_whole else _limit(graph)
    grouped = group(graph, limit, opened=frozenset(opened))
    shown = grouped.graph
    nodes = tuple(
        replace(node, lines=(*node.written, _ROOM)) if len(members) > 1 else node
        for node, members in zip(shown.nodes, grouped.members, strict=True)
    )
    places = place(replace(shown, nodes=nodes))
    return {
        "width": places.width,
        "height": places.height,
        "is_grouped": grouped.is_grouped,
        "tasks": len(graph.nodes),
        "boxes": [
            {
                "name": node.name,
                "x": round(box.x, 1), "y": round(box.y, 1), "w": round(box.width, 1), "h": round(box.height, 1),
                "lines": node.written,
                "dashed": node.is_dashed,
                "members": members,
            }
            for node, box, members in zip(shown.nodes, places.boxes, grouped.members, strict=True)
        ],
        "edges": [(edge.source, edge.target) for edge in shown.edges],
        "pieces": [(one.path, one.kind, one.end, one.edges) for one in places.pieces],
        "labels": [(round(one.x, 1), round(one.y, 1), one.text) for one in places.labels],
        "legend": shown.legend,
    }  # fmt: skip


def _limit(graph: Graph) -> int:
    """Return the number of boxes above which tasks are grouped: fewer where very many of a kind are side by side."""
    alike = Counter(
        (layer, node.group or node.name, node.is_dashed)
        for layer, node in zip(layers_of(graph), graph.nodes, strict=True)
    )
    is_wide = max(alike.values(), default=0) > _MAX_BESIDE
    return min(MAX_NODES, len(alike)) if is_wide else MAX_NODES


class Layouts:
    """A cache of layouts: several viewers look at one, and laying out thousands of tasks takes seconds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], tuple[Workflow | None, Message]] = OrderedDict()
        self._guard = threading.Lock()

    def of(self, workflow: Workflow | None, tasks: Sequence[str], opened: Sequence[str], *, is_whole: bool) -> Message:
        """Return the layout of a workflow, or of tasks of which only the names are known."""
        key = id(workflow) if workflow is not None else tuple(tasks), tuple(sorted(opened)), is_whole
        # One at a time: two threads of Python are not faster together.
        with self._guard:
            if key not in self._kept:
                if workflow is None:
                    graph = Graph(tuple(Node(name, (("", cut(name, _MAX_LETTERS)),)) for name in tasks))
                else:
                    graph = graph_of(workflow)
                # The workflow is kept with it, so that no other object gets its id.
                self._kept[key] = workflow, _layout(graph, opened, is_whole=is_whole)
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            return self._kept[key][1]


__all__ = ["Layouts"]
