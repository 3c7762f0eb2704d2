"""The graph to draw: nodes with a few lines of text, and edges between them.

It knows nothing of workflows or program states: the caller makes a graph, and every picture (terminal, SVG, PNG,
Graphviz, web page) is drawn from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

EdgeKind = Literal["", "dashed", "back", "cancel", "run"]
"""A plain edge; one that may never be taken; one declared to lead back; one that cancels its target; one of a
highlighted path."""

Link = tuple[int, int]
"""From a node to another, by their numbers."""


class Node(msgspec.Struct, frozen=True):
    """One box."""

    name: str
    """Unique within a graph."""
    lines: tuple[tuple[str, str], ...] = ()
    """The lines of text in the box, each with its kind (`""`, `service`, `mark`, `code`); by default the name."""
    state: str = ""
    """`waiting`, `running`, `done`, `failed`, `replaced`, `unused`, `start`, `final` ...: its colours."""
    is_dashed: bool = False
    """Whether it is a stand-in that waits to replace another."""
    is_many: bool = False
    """Whether it stands for several nodes and is drawn as a stack."""
    tip: str = ""
    """The tooltip."""
    group: str = ""
    """What it does: nodes with the same value can be merged (`groups`)."""

    @property
    def written(self) -> tuple[tuple[str, str], ...]:
        """The lines of text, at least one."""
        return self.lines or (("", self.name),)


class Edge(msgspec.Struct, frozen=True):
    """One arrow."""

    source: int
    target: int
    kind: EdgeKind = ""
    label: str = ""

    @property
    def link(self) -> Link:
        """The source and the target."""
        return self.source, self.target


class Graph(msgspec.Struct, frozen=True):
    """Nodes by number, edges between them, and a legend."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    name: str = ""
    legend: tuple[str, ...] = ()
    noun: str = "task"
    """What a node is, where nodes are counted."""
    when: str = "if"
    """The word before the label of an edge in a sentence."""

    @property
    def number_of(self) -> dict[str, int]:
        """The number of each node, by its name."""
        return {node.name: number for number, node in enumerate(self.nodes)}


def ways_back(count: int, links: Iterable[Link], said: Collection[Link] = ()) -> set[Link]:
    """Find links without which there are no cycles: those declared to lead back, then those a depth-first walk finds.

    The walk begins at the nodes without incoming links and takes links in order. A link to a node that the walk has not
    left yet leads back.
    """
    onward: list[list[int]] = [[] for _ in range(count)]
    is_entered = [False] * count
    for source, target in sorted({*links}.difference(said)):
        onward[source].append(target)
        is_entered[target] = True
    found = set(said)
    is_seen, is_open = [False] * count, [False] * count
    for root in sorted(range(count), key=is_entered.__getitem__):
        if not is_seen[root]:
            _walk(root, onward, is_seen, is_open, found)
    return found


def _walk(
    root: int, onward: Sequence[Sequence[int]], is_seen: list[bool], is_open: list[bool], found: set[Link]
) -> None:
    is_seen[root] = is_open[root] = True
    work: list[tuple[int, Iterator[int]]] = [(root, iter(onward[root]))]
    while work:
        node, later = work[-1]
        following = next(later, None)
        if following is None:
            work.pop()
            is_open[node] = False
        elif is_open[following]:
            found.add((node, following))
        elif not is_seen[following]:
            is_seen[following] = is_open[following] = True
            work.append((following, iter(onward[following])))


__all__ = ["Edge", "EdgeKind", "Graph", "Link", "Node", "ways_back"]
