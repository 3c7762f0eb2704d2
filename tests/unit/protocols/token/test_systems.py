"""The texts of the token paper's systems: what they begin with, and what belongs to each."""

from __future__ import annotations

import pytest

from solvent_lab.token_systems import SYSTEMS, Bounds, first_state, mapping, never, program


def test_first_state_of_the_specification() -> None:
    """S begins with nodes that want nothing, an empty history and what will be said; the nodes take turns."""
    said = ["Q:0:()", "Q:1:()", "H:()", "NEW:0:A1", "NEW:1:B1", "NEW:0:A2"]
    assert first_state("s", Bounds(2, data=3)) == said


def test_first_state_of_the_protocol() -> None:
    """BinarySearch begins at node 0, which the token has visited, with so many searches and passes to come."""
    said = ["Q:0:()", "Q:1:()", "P:0:():1", "P:1:():0", "NODES:2", "PASS^3", "T:0", "SEARCH^2"]
    assert first_state("binary_search", Bounds(2, searches=2, passes=3)) == said


def test_ring_has_an_order() -> None:
    """Of the systems before BinarySearch only the ring knows who comes next."""
    assert [one for one in first_state("ring", Bounds(3)) if "NEXT" in one] == ["NEXT:0:1", "NEXT:1:2", "NEXT:2:0"]


def test_data_of_many_nodes_have_names() -> None:
    """Where the letters end, data are named by the numbers of their nodes."""
    assert first_state("s", Bounds(28, data=28))[-2:] == ["NEW:26:Node26_1", "NEW:27:Node27_1"]


def test_rule_can_be_left_out() -> None:
    """A rule that is left out is still written, and in no solution."""
    text = program("message_passing", Bounds(2), without={"mp_rule5"})
    assert "let mp_rule5 =" in text
    assert text.endswith("mp_rule1, mp_rule2, mp_rule3, mp_rule4>\n")


@pytest.mark.parametrize("system", [name for name, one in SYSTEMS.items() if one.refines is not None])
def test_system_that_refines_has_a_mapping(system: str) -> None:
    """Where a system refines another, there are rules to turn its states into the other's."""
    assert "replace" in mapping(system)


def test_every_system_but_the_first_has_states_that_must_not_be() -> None:
    """S has no local histories; all others have something that could be wrong in one state."""
    assert [name for name in SYSTEMS if never(name) is None] == ["s"]
    assert never("search", printed=True) != never("search")
    assert never("token", printed=True) == never("token") == never("s1")
