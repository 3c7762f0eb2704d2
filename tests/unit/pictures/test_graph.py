"""Which edges of a graph lead back."""

from __future__ import annotations

from graphlib import TopologicalSorter

from hypothesis import given

from solvent.pictures.graph import Graph, ways_back
from tests.unit.pictures.strategies import graphs


def test_the_link_that_closes_a_cycle_leads_back() -> None:
    """The walk begins where nothing leads to, so that a loop is entered where its way in is."""
    assert ways_back(4, [(3, 1), (1, 2), (2, 1), (2, 0)]) == {(2, 1)}


def test_what_is_said_to_lead_back_does() -> None:
    """A link that is said to lead back does, and no other of its cycle then."""
    assert ways_back(2, [(0, 1), (1, 0)], {(0, 1)}) == {(0, 1)}


@given(graphs())
def test_without_the_ways_back_there_are_no_cycles(graph: Graph) -> None:
    """Whatever the graph is, what is left can be put in an order."""
    links = {edge.link for edge in graph.edges}
    order: TopologicalSorter[int] = TopologicalSorter()
    for source, target in links - ways_back(len(graph.nodes), links):
        order.add(target, source)
    order.prepare()
