"""A graph in DOT, the language of Graphviz."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from solvent.pictures.shapes import LIGHT, RECTS

if TYPE_CHECKING:
    from solvent.pictures.graph import Edge, Graph, Node

_KINDS = {
    "": "",
    "dashed": "style=dashed",
    "back": f'style=dashed, color="{LIGHT["violet"]}", fontcolor="{LIGHT["violet"]}", constraint=false',
    "cancel": f'style=dashed, arrowhead=tee, color="{LIGHT["red"]}", constraint=false',
    "run": f'color="{LIGHT["violet"]}", penwidth=2',
}


def dot(graph: Graph) -> str:
    """Write a graph as DOT, with the dashes and colours of the other pictures."""
    lines = [f"digraph {_quoted(graph.name)} {{", '  node [shape=box, style="rounded", fontname="sans-serif"];']
    lines += map(_node, graph.nodes)
    lines += [_edge(graph, edge) for edge in graph.edges]
    if graph.legend:
        lines.append(f"  label={_quoted(chr(10).join(graph.legend))};")
    return "\n".join([*lines, "}", ""])


def _node(node: Node) -> str:
    label = "\n".join(line for _, line in node.written)
    how = [f"label={_quoted(label)}"]
    if node.is_many:
        how.append("peripheries=2")
    if node.is_dashed:
        how.append('style="rounded,dashed"')
    if node.state in RECTS:
        colour = LIGHT[RECTS[node.state][1]]
        how += [f'color="{colour}", fontcolor="{colour}"'] if node.state else []
    return f"  {_quoted(node.name)} [{', '.join(how)}];"


def _edge(graph: Graph, edge: Edge) -> str:
    source, target = (_quoted(graph.nodes[end].name) for end in edge.link)
    how = [one for one in (f"label={_quoted(edge.label)}" if edge.label else "", _KINDS[edge.kind]) if one]
    attributes = f" [{', '.join(how)}]" if how else ""
    return f"  {source} -> {target}{attributes};"


def _quoted(text: str) -> str:
    # Graphviz reads a quoted string as JSON writes it, as far as letters, quotes, backslashes and line ends go.
    return json.dumps(text, ensure_ascii=False)


__all__ = ["dot"]
