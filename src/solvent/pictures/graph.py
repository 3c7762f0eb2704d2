"""The graph to draw: nodes with a few lines of text, and edges between them.

It knows nothing of workflows or states of programs: whoever has something to draw makes a graph of it, and every
picture, in the terminal, as SVG, as PNG, for Graphviz or in a page, is drawn from that graph.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

EdgeKind = Literal["", "dashed", "back", "cancel", "run"]
"""A plain edge; one that may never be taken; one that is said to lead back; one that ends what it points at; one of a
way that is to be seen."""

Link = tuple[int, int]
"""From a node to another, by their numbers."""


class Node(msgspec.Struct, frozen=True):
    """One box."""

    name: str
    """By which it is known; no two nodes of a graph share one."""
    lines: tuple[tuple[str, str], ...] = ()
    """What stands in it: each line with its kind (`""`, `service`, `mark`, `code`); without any, the name does."""
    state: str = ""
    """`waiting`, `running`, `done`, `failed`, `replaced`, `unused`, `start`, `final` ...: its colours."""
    is_dashed: bool = False
    """Whether it waits to stand in for another."""
    is_many: bool = False
    """Whether it stands for several, and looks like a stack."""
    tip: str = ""
    """What is said of it when it is pointed at."""
    group: str = ""
    """What it does: nodes that do the same can be drawn as one (`grouping`)."""

    @property
    def written(self) -> tuple[tuple[str, str], ...]:
        """The lines, of which there is at least one."""
        return self.lines or (("", self.name),)


class Edge(msgspec.Struct, frozen=True):
    """One arrow."""

    source: int
    target: int
    kind: EdgeKind = ""
    label: str = ""

    @property
    def link(self) -> Link:
        """Whence and where to."""
        return self.source, self.target


class Graph(msgspec.Struct, frozen=True):
    """Nodes by number, edges between them, and what is said below them."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...] = ()
    name: str = ""
    legend: tuple[str, ...] = ()
    noun: str = "task"
    """What a node is, where nodes are counted."""
    when: str = "if"
    """The word before the label of an edge, where it is told in a sentence."""

    @property
    def number_of(self) -> dict[str, int]:
        """The number of each node, by its name."""
        return {node.name: number for number, node in enumerate(self.nodes)}


def ways_back(count: int, links: Iterable[Link], said: Collection[Link] = ()) -> set[Link]:
    """Find links without which there are no cycles: those said to lead back, then those that return to where one is.

    A walk in depth, from the nodes to which nothing leads, and through links in their order: where a link leads to a
    node that the walk has not left yet, it leads back.
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
