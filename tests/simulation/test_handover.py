"""The benchmark of data handover in our simulator: what must come out whatever the seed."""

from __future__ import annotations

from typing import Any

import pytest

from solvent_lab.simulator.handover import Outcome, Setup, simulate
from solvent_lab.simulator.handover_network import LATENCY_FACTOR, PLATFORMS

MIB = 1 << 20
SITE = PLATFORMS["site"]
MESSAGE = LATENCY_FACTOR * SITE.latency_within


def seen(seed: int = 1, **changes: Any) -> Outcome:
    """Run a small benchmark on one site."""
    usual = {"peers": 10, "bytes": 10 * MIB, "locked": 1.0, "cycles": 5, "platform": "site"}
    return simulate(Setup(**(usual | changes)), seed)


@pytest.mark.parametrize("size", [1, MIB, 100 * MIB])
@pytest.mark.parametrize("locked", [0.0, 2.0])
def test_a_cycle_is_a_round_of_holds_transfers_and_three_messages(size: int, locked: float) -> None:
    """Formula (4): N (T_locked + T_fetch + hand-off); the hand-off is token, wish and the data's own latency."""
    slot = locked + SITE.seconds_for(size) + 3 * MESSAGE
    found = seen(bytes=size, locked=locked)
    assert found.settled == pytest.approx(10 * slot, rel=5e-3)
    assert found.transfers_per_cycle == pytest.approx(1, abs=0.05)


def test_with_a_server_data_moves_twice() -> None:
    """Once to the server and once to the next client, each with the message that says so."""
    slot = 1 + 2 * (SITE.seconds_for(10 * MIB) + MESSAGE)
    found = seen(mode="server")
    assert found.settled == pytest.approx(10 * slot, rel=5e-3)
    assert found.transfers_per_cycle == pytest.approx(2, abs=0.1)
    assert found.messages_per_cycle == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize("mode", ["peer", "server"])
def test_times_add_up(mode: str) -> None:
    """T_DHO = T_idle + T_wait + T_locked, and who goes on while it waits is blocked for the rest."""
    found = seen(mode=mode, idle=0.5, wblocked=2.0)
    assert found.cycle == pytest.approx(0.5 + found.wait + 1.0)
    assert found.blocking == pytest.approx(found.wait - 2.0)


def test_data_that_comes_early_blocks_nobody() -> None:
    """Who goes on for longer than a round has the data when it wants it, or fetches it then, as the paper does."""
    early, late = (seen(peers=3, wblocked=60.0, fetch=fetch) for fetch in ("grant", "acquire"))
    assert early.blocking < 2 * (1 + SITE.seconds_for(10 * MIB))
    assert late.blocking >= SITE.seconds_for(10 * MIB)
    assert early.cycle < late.cycle


@pytest.mark.parametrize("leavers", ["use", "drop"])
@pytest.mark.parametrize("mode", ["peer", "server"])
def test_who_leaves_does_not_hold_up_the_others(leavers: str, mode: str) -> None:
    """Cycles of those who stay are as long as without departures: of as many who use the resource."""
    found = seen(leaving=0.4, leavers=leavers, mode=mode, pause=0.5, cycles=8)
    assert found.departures >= 8
    assert found.uses_of_leavers == 0 if leavers == "drop" else found.uses_of_leavers >= 24
    without = seen(peers=10 if leavers == "use" else 6, mode=mode, cycles=8)
    assert found.settled == pytest.approx(without.settled, rel=0.02)


@pytest.mark.parametrize("changes", [{"is_lazy": True}, {"order": 4}, {"exchange_every": 16}, {"platform": "grid5000"}])
@pytest.mark.parametrize("seed", [1, 2])
def test_all_sorts_of_trees_survive_departures(changes: dict[str, Any], seed: int) -> None:
    """All cycles are done and the data has counted every use: the run says so itself if not."""
    found = seen(seed, leaving=0.5, locked=0.0, bytes=MIB, pause=0.05, **changes)
    assert found.cycles == 25
