"""Large graphs in fewer boxes: nodes of one layer that do the same are merged.

A picture of a thousand boxes shows nothing. `group` merges, each step only if the one before it is not enough:

1. nodes of one layer and one group (`Node.group`: tasks that call the same service);
2. all nodes of a layer;
3. neighbouring layers.

Edges between two merged boxes are drawn once. Since edges lead down from layer to layer, except those that lead back,
merging adds no cycles.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec

from solvent.pictures.graph import Edge, Graph, Node
from solvent.pictures.layers import layers_of

if TYPE_CHECKING:
    from collections.abc import Container, Hashable, Sequence

    from solvent.pictures.graph import EdgeKind

MAX_NODES = 150
"""The largest number of boxes a person can still read."""
_WORST = ("failed", "running", "replaced", "waiting")
"""If the states in a box differ, it shows the first of these that occurs."""


class Grouped(msgspec.Struct, frozen=True):
    """A graph in fewer boxes."""

    graph: Graph
    members: tuple[tuple[int, ...], ...]
    """For each of its nodes, the nodes of the whole graph that it stands for, by number."""

    @property
    def is_grouped(self) -> bool:
        """Whether any node stands for several."""
        return any(len(some) > 1 for some in self.members)


def group(graph: Graph, limit: int = MAX_NODES, *, opened: Container[str] = ()) -> Grouped:
    """Merge nodes until at most `limit` are left, if possible; groups named in `opened` are not merged."""
    count = len(graph.nodes)
    if count <= limit:
        return Grouped(graph, tuple((number,) for number in range(count)))
    layer_of = layers_of(graph)
    labels = [_label(node) for node in graph.nodes]
    keys: list[Hashable] = [
        (layer, label, node.is_dashed) for layer, label, node in zip(layer_of, labels, graph.nodes, strict=True)
    ]
    if len({*keys}) > limit:
        keys = list(layer_of)
    layers = max(layer_of) + 1
    if layers > limit:
        keys = [layer * limit // layers for layer in layer_of]
    return _collapsed(graph, keys, opened)


def _label(node: Node) -> str:
    return node.group or node.name


def _collapsed(graph: Graph, keys: Sequence[Hashable], opened: Container[str]) -> Grouped:
    by_key: dict[Hashable, list[int]] = {}
    for number, key in enumerate(keys):
        by_key.setdefault(key, []).append(number)
    names: Counter[str] = Counter()
    nodes: list[Node] = []
    members: list[tuple[int, ...]] = []
    for some in by_key.values():
        if len(some) > 1:
            title = _title([graph.nodes[one] for one in some])
            names[title] += 1
            # Named by what it holds and the how manyth it is, so that it keeps its name while states change.
            name = title if names[title] == 1 else f"{title} #{names[title]}"
            if name not in opened:
                nodes.append(_joint(name, title, [graph.nodes[one] for one in some]))
                members.append(tuple(some))
                continue
        nodes += [graph.nodes[one] for one in some]
        members += [(one,) for one in some]
    grouped = msgspec.structs.replace(graph, nodes=tuple(nodes), edges=_edges(graph, members))
    return Grouped(grouped, tuple(members))


def _title(nodes: Sequence[Node]) -> str:
    kinds = list(dict.fromkeys(map(_label, nodes)))
    if len(kinds) == 1:
        return f"{kinds[0]} × {len(nodes):,}"
    return f"{len(nodes):,}: {kinds[0]} … {kinds[-1]}"


def _joint(name: str, title: str, nodes: Sequence[Node]) -> Node:
    """Make one node of several, with a count of each state if the states differ."""
    states = Counter(node.state for node in nodes)
    told = [f"{many:,} {state}" for state, many in states.most_common() if state]
    lines = [("", title), *([("service", " · ".join(told))] if len(states) > 1 else [])]
    state = next(iter(states)) if len(states) == 1 else next((one for one in _WORST if states[one]), "")
    return Node(
        name,
        tuple(lines),
        state,
        is_dashed=all(node.is_dashed for node in nodes),
        is_many=True,
        tip=" · ".join([title, *told]),
        group=_label(nodes[0]),
    )


def _edges(graph: Graph, members: Sequence[Sequence[int]]) -> tuple[Edge, ...]:
    home = [0] * len(graph.nodes)
    for number, some in enumerate(members):
        for one in some:
            home[one] = number
    kinds: dict[tuple[int, int, bool], EdgeKind] = {}
    labels: dict[tuple[int, int, bool], str] = {}
    for edge in graph.edges:
        source, target = home[edge.source], home[edge.target]
        if source == target and edge.source != edge.target:
            continue
        key = source, target, edge.kind in ("back", "cancel")
        if key not in kinds:
            kinds[key], labels[key] = edge.kind, edge.label
            continue
        if kinds[key] == "dashed" and edge.kind == "":
            kinds[key] = ""
        if labels[key] != edge.label:
            labels[key] = ""
    return tuple(
        Edge(source, target, kind, labels[source, target, own]) for (source, target, own), kind in kinds.items()
    )


__all__ = ["MAX_NODES", "Grouped", "group"]
