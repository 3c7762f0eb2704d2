"""The graph of a run's workflow, laid out: boxes and lines for the page to draw.

Where there are many tasks, those that do alike are one box (`pictures.groups`), until a viewer opens it. A layout
does not change while a run goes on: tasks of alternatives have their places from the beginning.
"""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.pictures import Graph, Node, group, place
from solvent.pictures.groups import MAX_NODES
from solvent.pictures.layers import layers_of
from solvent.workflows.diagram import graph_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from solvent.web.story import Message
    from solvent.workflows.model import Workflow

_MAX_KEPT = 24
_MAX_LETTERS = 34
_MAX_BESIDE = 20
"""Tasks that do alike and stand side by side; a row of more cannot be read at a glance."""
_ROOM = ("service", "0" * 30)
"""Where the page writes how many tasks of a box are in which state."""


def unlinked(tasks: Sequence[str]) -> Graph:
    """Make the graph of tasks of which only the names are known."""
    return Graph(tuple(Node(name, (("", _cut(name)),)) for name in tasks))


def laid_out(graph: Graph, opened: Sequence[str], *, is_whole: bool) -> Message:
    """Say where boxes and lines lie; without `is_whole`, boxes of many tasks stay closed unless they are `opened`."""
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
    """Say from how many boxes on those that do alike are one: earlier where very many of them stand side by side."""
    alike = Counter(
        (layer, node.group or node.name, node.is_dashed)
        for layer, node in zip(layers_of(graph), graph.nodes, strict=True)
    )
    is_wide = max(alike.values(), default=0) > _MAX_BESIDE
    return min(MAX_NODES, len(alike)) if is_wide else MAX_NODES


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_LETTERS else f"{text[: _MAX_LETTERS - 1]}…"


class Layouts:
    """Layouts that were asked for: several viewers look at one, and laying out thousands of tasks takes seconds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[object, ...], Message] = OrderedDict()
        self._working = threading.Lock()

    def of(self, workflow: Workflow | None, tasks: Sequence[str], opened: Sequence[str], *, is_whole: bool) -> Message:
        """Give the layout of a workflow."""
        key = id(workflow) if workflow is not None else tuple(tasks), tuple(sorted(opened)), is_whole
        # One at a time: two threads of Python would not be faster together.
        with self._working:
            if key not in self._kept:
                graph = unlinked(tasks) if workflow is None else graph_of(workflow)
                # The workflow is kept with it, so that no other has its identity.
                self._kept[key] = {"of": workflow, "layout": laid_out(graph, opened, is_whole=is_whole)}
                if len(self._kept) > _MAX_KEPT:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(key)
            found: Message = self._kept[key]["layout"]
            return found


__all__ = ["Layouts", "laid_out", "unlinked"]
