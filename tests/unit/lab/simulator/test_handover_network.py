"""The network of the handover benchmark: ways between hosts, and transfers that share links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent_lab.simulator.handover_network import Flows, shared

CAPACITIES = {0: 10.0, 1: 6.0, 2: 4.0, 3: 1.0}
WAYS = st.dictionaries(
    st.integers(0, 9), st.lists(st.sampled_from(sorted(CAPACITIES)), min_size=1, max_size=3, unique=True), min_size=1
)


@given(WAYS)
def test_nobody_can_have_more_without_taking_it_from_who_has_no_more(ways: dict[int, list[int]]) -> None:
    """No link carries too much, and each transfer has a full link on which nobody is faster."""
    rates = shared(ways, CAPACITIES.__getitem__)
    loads = {link: sum(rates[number] for number, on in ways.items() if link in on) for link in CAPACITIES}
    for link, load in loads.items():
        assert load <= CAPACITIES[link] + 1e-9
    for number, on in ways.items():
        assert any(
            loads[link] == pytest.approx(CAPACITIES[link])
            and rates[number] >= max(rates[other] for other, links in ways.items() if link in links) - 1e-9
            for link in on
        )


def test_a_second_transfer_slows_the_first_down() -> None:
    """Two of 100 bytes on a link of 10, the second after 5 seconds: they end after 15 and 20."""
    flows = Flows(CAPACITIES.__getitem__)
    flows.begin(0.0, (0,), 100.0, "first")
    assert flows.next_end() == pytest.approx(10.0)
    flows.begin(5.0, (0,), 100.0, "second")
    assert flows.next_end() == pytest.approx(15.0)
    assert flows.ended(15.0) == ["first"]
    assert flows.next_end() == pytest.approx(20.0)
    assert flows.ended(20.0) == ["second"]
    assert (len(flows), flows.next_end()) == (0, None)
