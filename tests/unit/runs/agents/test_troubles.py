"""What who only watches a run finds out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.agents.troubles import LOOK_SECONDS, Doubts
from solvent.store.leases import AGENTS
from tests.unit.runs.agents.flows import store_at

if TYPE_CHECKING:
    from pathlib import Path


def test_who_watches_finds_out_that_nobody_is_there(tmp_path: Path) -> None:
    """As long as the heartbeat of an agent moves somebody is there; some looks after its last beat nobody is."""
    now, found = [0.0], list[bool]()
    with store_at(tmp_path) as store:
        doubts = Doubts(store, clock=lambda: now[0])
        for look in range(8):
            now[0] = 1 + look * LOOK_SECONDS
            if look < 4:
                store.put(f"{AGENTS}one", b"%d" % look)
            doubts._look()
            found.append(doubts.is_nobody_there)
    assert found == [False] * 6 + [True] * 2
