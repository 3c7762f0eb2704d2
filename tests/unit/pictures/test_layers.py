"""Layers, orders and positions of the nodes of a graph."""

from __future__ import annotations

from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from solvent.pictures import Edge, Graph, Node
from solvent.pictures.graph import ways_back
from solvent.pictures.layers import Layout, arrange, crossings, layers_of, ordered, positions
from tests.growth import executed_lines
from tests.unit.pictures.strategies import graphs, straight


def _graph(count: int, *links: tuple[int, int], label: str = "") -> Graph:
    return Graph(tuple(Node(f"t{n}") for n in range(count)), tuple(Edge(*link, label=label) for link in links))


def test_a_layer_is_the_longest_way() -> None:
    """A node lies below all that lead to it."""
    assert layers_of(_graph(4, (0, 1), (1, 2), (0, 2), (2, 3))) == [0, 1, 2, 3]


def test_a_node_to_which_nothing_leads_lies_above_its_first_use() -> None:
    """It is drawn where it is needed, not at the top."""
    assert layers_of(_graph(4, (0, 1), (1, 2), (3, 2))) == [0, 1, 2, 1]


def test_edges_over_layers_share_waypoints() -> None:
    """An edge that passes layers gets a waypoint in each, shared by the edges of one node."""
    layout = arrange(_graph(4, (0, 1), (1, 2), (2, 3), (0, 2), (0, 3)))
    assert [len(layer) for layer in layout.layers] == [1, 2, 2, 1]
    assert layout.routes[3][:2] == layout.routes[4][:2]


def test_a_label_stands_at_a_waypoint_of_its_own() -> None:
    """Where an edge has a label there is a layer for it."""
    layout = arrange(_graph(2, (0, 1), label="if"))
    assert (layout.layers, layout.routes, layout.labels) == (((0,), (2,), (1,)), ((0, 2, 1),), {2: "if"})


def test_an_edge_that_leads_back_leads_up() -> None:
    """It begins below and ends above; without ways back it is left out."""
    graph = _graph(2, (0, 1), (1, 0))
    assert arrange(graph).routes == ((0, 2, 1), (1, 3, 0))
    assert arrange(graph, has_back=False).routes == ((0, 1), ())


def test_crossings_are_avoided() -> None:
    """Nodes are ordered so that lines cross as little as possible."""
    upper, lower = arrange(_graph(4, (0, 3), (1, 2))).layers
    assert lower == tuple({0: 3, 1: 2}[node] for node in upper)


def test_the_longest_edges_go_without_waypoints() -> None:
    """In a chain whose nodes all lead to its end the waypoints stay within a bound, and all edges are there."""
    count = 400
    layout = arrange(_graph(count, *pairwise(range(count)), *((n, count - 1) for n in range(count - 2))))
    assert len(layout.layer_of) < count + 60_000
    assert all(route[0] == at for at, route in enumerate(layout.routes[: count - 1]))
    assert min(map(len, layout.routes)) == 2


@given(graphs())
def test_edges_lead_from_layer_to_layer(graph: Graph) -> None:
    """Every node has one place, and every edge a way, downwards unless it leads back."""
    layout = arrange(graph)
    layer_of = layout.layer_of
    assert sorted(item for layer in layout.layers for item in layer) == list(range(len(layer_of)))
    drawn = straight(graph)
    links = [graph.edges[number].link for number in drawn]
    back = ways_back(len(graph.nodes), links, {one.link for one in graph.edges if one.kind == "back"} & {*links})
    for number in drawn:
        edge, route = graph.edges[number], layout.routes[number]
        assert (route[0], route[-1]) == edge.link
        steps = {layer_of[later] - layer_of[earlier] for earlier, later in pairwise(route)}
        assert steps == {1} or (steps == {-1} and edge.link in back)
        assert not edge.label or edge.label in {layout.labels.get(item) for item in route[1:-1]}
    assert not any(route for at, route in enumerate(layout.routes) if at not in drawn)


@given(graphs())
def test_neighbours_keep_apart(graph: Graph) -> None:
    """Items of one layer are as far from each other as asked for."""
    layout: Layout = arrange(graph)
    centre = positions(layout, lambda left, right: 10 + (left + right) % 3)
    for layer in layout.layers:
        assert all(centre[b] - centre[a] > 9.99 + (a + b) % 3 for a, b in pairwise(layer))
    assert min(centre, default=0) == 0


def test_growth() -> None:
    """Ten times the nodes take about ten times the work, not a hundred times."""

    def lines(count: int) -> int:
        links = [(max(0, n - 1 - n * step % 97), n) for n in range(1, count) for step in (7, 31)]
        graph = _graph(count, *links)
        return executed_lines(lambda: positions(arrange(graph), lambda _left, _right: 10))

    assert lines(1_000) < 20 * lines(100)


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(6, 11)), max_size=20))
def test_crossings_are_counted_as_one_would_by_hand(lines: set[tuple[int, int]]) -> None:
    """Two lines cross if one begins before the other and ends behind it."""
    below = [[lower for upper, lower in sorted(lines) if upper == item] for item in range(12)]
    by_hand = sum((a - c) * (b - d) < 0 for (a, b), (c, d) in combinations(lines, 2))
    assert crossings([[*range(6)], [*range(6, 12)]], below) == by_hand


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(6, 11)), max_size=20))
def test_an_order_is_never_worse_than_the_first(lines: set[tuple[int, int]]) -> None:
    """Of all orders seen the best is kept, and each layer keeps its items."""
    below = [[lower for upper, lower in sorted(lines) if upper == item] for item in range(12)]
    layers = [[*range(6)], [*range(6, 12)]]
    found = ordered(layers, sorted(lines))
    assert [sorted(layer) for layer in found] == layers
    assert crossings(found, below) <= crossings(layers, below)
