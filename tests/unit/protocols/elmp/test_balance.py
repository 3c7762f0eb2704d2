"""The shape of the tree: sizes, the scapegoat, and the lowest tree."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.elmp.state import ElmpConfig
from solvent.protocols.elmp.tree import arranged, is_too_high
from solvent.protocols.elmp.vocabulary import Join, Request
from solvent.protocols.machine import NodeId
from tests.unit.protocols.elmp.acting import Company


@given(count=st.integers(1, 200), order=st.integers(2, 5))
def test_arranged_tree_is_the_lowest(count: int, order: int) -> None:
    """Everybody has one parent, nobody too many children, and no tree is lower."""
    nodes = tuple(map(NodeId, range(count)))
    found = arranged(nodes, order)
    children = [one[0] for _, below in found for one in below]
    assert sorted(children) == list(nodes[1:])
    assert max((len(below) for _, below in found), default=0) <= order
    assert all(nodes[node] in [one[0] for one in found[parent][1]] for node, (parent, _) in enumerate(found) if node)
    height = 1 + max((one[1] for one in found[0][1]), default=-1)
    assert order**height <= (count - 1) * (order - 1) + 1


@given(weight=st.integers(1, 100_000))
def test_lowest_tree_is_never_too_high(weight: int) -> None:
    """Rebuilding helps: the lowest binary tree of any weight is low enough."""
    assert not is_too_high(weight.bit_length() - 1, weight, 1.0)


@pytest.mark.parametrize("height,weight,is_high", [(2, 3, False), (3, 4, True), (1, 2, False), (3, 5, False)])
def test_threads_are_too_high(height: int, weight: int, *, is_high: bool) -> None:
    """Three in a thread are let be, four are not."""
    assert is_too_high(height, weight, 1.2) is is_high


def test_thread_of_newcomers_is_straightened() -> None:
    """Processes that join each through the last one get a low tree, and anybody can then have the token."""
    company = Company(1, outside=14, config=ElmpConfig(is_lazy=True))
    for node in range(1, 15):
        company.want(node, Join(NodeId(node - 1)))
    (top,) = [state for state in company.states if state.parent is None]
    assert 1 + max(one[1] for one in top.children) <= 4
    company.want(14, Request())
    assert company.states[14].uses[0].is_held
