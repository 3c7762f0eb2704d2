"""Ports that are asked for before they are used."""

from __future__ import annotations

import random

import pytest

from solvent.net import ports
from solvent.net.ports import free_ports


@pytest.mark.skipif(not ports._GIVEN.exists(), reason="only Linux tells which ports it gives to others")
def test_no_port_is_one_that_the_system_gives_to_others() -> None:
    """Nobody who listens at any port, or connects to somebody, is given it meanwhile."""
    lowest = int(ports._GIVEN.read_text().split()[0])
    assert max(free_ports(20)) < lowest


def test_processes_that_are_seeded_alike_get_others() -> None:
    """A seed decides nothing about ports."""
    found = list[list[int]]()
    for _ in range(2):
        random.seed(1)
        found.append(free_ports(6))
    assert found[0] != found[1]


def test_ports_are_found_where_the_system_tells_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are any that are free."""
    monkeypatch.setattr(ports, "_drawn", lambda _count: [])
    assert len(set(free_ports(3))) == 3


def test_a_host_that_is_none_of_this_machine_is_refused() -> None:
    """Nothing can listen there."""
    with pytest.raises(OSError, match="assign"):
        free_ports(1, "192.0.2.1")
