"""Large graphs in fewer boxes."""

from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given
from hypothesis import strategies as st

from solvent.pictures import Edge, Graph, Node, group
from solvent.pictures.graph import ways_back
from tests.unit.pictures.strategies import graphs

FAN = Graph(
    (Node("split"), *(Node(f"w{n}", state="done" if n else "failed", group="work") for n in range(50)), Node("join")),
    (*(Edge(0, n) for n in range(1, 51)), *(Edge(n, 51) for n in range(1, 51))),
)


def test_a_small_graph_stays_as_it_is() -> None:
    """Nothing is drawn together that can be drawn apart."""
    found = group(FAN, 52)
    assert found.graph is FAN
    assert not found.is_grouped


def test_what_does_the_same_becomes_one() -> None:
    """A layer of tasks of one service is one box that says how many there are in which state; edges are drawn once."""
    found = group(FAN, 10)
    assert [node.name for node in found.graph.nodes] == ["split", "work × 50", "join"]
    assert found.graph.nodes[1].lines == (("", "work × 50"), ("service", "49 done · 1 failed"))
    assert found.graph.nodes[1].state == "failed"
    assert found.graph.edges == (Edge(0, 1), Edge(1, 2))
    assert found.members[1] == tuple(range(1, 51))


def test_an_opened_group_stays_apart() -> None:
    """A group can be looked into."""
    assert len(group(FAN, 10, opened={"work × 50"}).graph.nodes) == 52


def test_layers_become_one() -> None:
    """If nothing is alike, whole layers are drawn together, and then neighbouring ones."""
    wide = Graph(tuple(Node(f"t{n}") for n in range(40)), tuple(Edge(n, n + 20) for n in range(20)))
    assert [node.name for node in group(wide, 10).graph.nodes] == ["20: t0 … t19", "20: t20 … t39"]
    long = Graph(tuple(Node(f"t{n}") for n in range(100)), tuple(Edge(n, n + 1) for n in range(99)))
    assert len(group(long, 10).graph.nodes) == 10


@given(graphs(), st.integers(1, 12))
def test_nothing_is_lost(graph: Graph, limit: int) -> None:
    """Every node is in one box, every edge between two boxes is drawn, and there are no new cycles."""
    found = group(graph, limit)
    assert sorted(one for some in found.members for one in some) == list(range(len(graph.nodes)))
    assert len(found.graph.nodes) <= max(limit, 0) or len(graph.nodes) <= limit
    assert len({node.name for node in found.graph.nodes}) == len(found.graph.nodes)
    home = {one: at for at, some in enumerate(found.members) for one in some}
    links = {(home[edge.source], home[edge.target]) for edge in graph.edges}
    drawn = {edge.link for edge in found.graph.edges}
    assert {link for link in links if link[0] != link[1]} == {link for link in drawn if link[0] != link[1]}
    if ways_back(len(graph.nodes), [edge.link for edge in graph.edges]) or "back" in {one.kind for one in graph.edges}:
        return
    order: TopologicalSorter[int] = TopologicalSorter()
    for edge in found.graph.edges:
        if edge.kind not in ("back", "cancel"):
            order.add(edge.target, edge.source)
    order.prepare()
