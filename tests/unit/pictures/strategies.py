"""Graphs of every form."""

from __future__ import annotations

from hypothesis import strategies as st

from solvent.pictures import Edge, Graph, Node

_KINDS = st.sampled_from(["", "", "", "dashed", "back", "cancel"])
_WORDS = st.sampled_from(["", "", "x > 1", "otherwise & <so>"])


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 24, max_edges: int = 40) -> Graph:
    """Make a graph, perhaps with cycles, loops, several edges between two nodes, and labels."""
    count = draw(st.integers(0, max_nodes))
    places = st.integers(0, count - 1) if count else st.nothing()
    edges = draw(st.lists(st.builds(Edge, places, places, _KINDS, _WORDS), max_size=max_edges if count else 0))
    nodes = [
        Node(
            f"t{number}" + "w" * draw(st.integers(0, 9)),
            state=draw(st.sampled_from(["", "done", "failed"])),
            is_dashed=draw(st.booleans()),
            is_many=draw(st.booleans()),
            group=draw(st.sampled_from(["", "a", "b"])),
        )
        for number in range(count)
    ]
    return Graph(tuple(nodes), tuple(edges), "graph")


def straight(graph: Graph) -> list[int]:
    """Give the numbers of the edges that lie in the layers: from one node to another, and none that cancel."""
    return [at for at, edge in enumerate(graph.edges) if edge.source != edge.target and edge.kind != "cancel"]
