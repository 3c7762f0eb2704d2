"""Which places an agent takes, as it sees others live and die."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from solvent.runs.agents.hosted_run import HostedRun
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.placement import Shares
from solvent.runs.agents.shards import submit
from solvent.runs.holders import this_process
from solvent.runs.registry import FORMAT
from solvent.store.leases import AGENTS, Heartbeats
from solvent.workflows.model import Task, Value
from tests.unit.runs.agents.flows import store_at, workflow

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.store import Store

TTL = 8.0


def beat(store: Store, agent: str, count: int, **odd: Any) -> None:
    """Let an agent's heartbeat beat."""
    said = {"count": count, "ttl": TTL, "format": FORMAT, "process": to_builtins(this_process()), **odd}
    store.put(AGENTS + agent, msgspec.msgpack.encode(said))


@pytest.mark.parametrize("is_alive, wanted", [(False, 4), (True, 1)])
def test_places_are_shared_with_those_whose_heartbeat_moves(tmp_path: Path, *, is_alive: bool, wanted: int) -> None:
    """Free places are shared with the agents whose heartbeats move, and not with those whose have stopped."""
    flow, now = workflow(*(Task(f"t{k}", "add", (Value(k),)) for k in range(4))), [0.0]
    with store_at(tmp_path) as store:
        hosted = HostedRun(store, "me", submit(store, "r1", flow, {}, max_shards=4), offers_of([flow]), jobs=1)
        shares, taken = Shares(store, "me", TTL), []
        shares.heartbeats = Heartbeats(store, ttl=TTL, clock=lambda: now[0])
        for look in range(4):
            now[0] = 1 + look * TTL / 4
            for agent in ("one", "two", "three"):
                if is_alive or not look:
                    beat(store, agent, look)
            shares.look({"r1": hosted})
            for number in shares.wanted(hosted):
                shares.took(hosted, number)
                hosted.here[number] = None  # type: ignore[assignment]
            taken.append(len(hosted.here))
        assert taken == [1, 1, 1, wanted]


GONE = to_builtins(replace(this_process(), started="never"))


@pytest.mark.parametrize(
    "odd,wanted", [({}, 2), ({"format": FORMAT + 1}, 4), ({"process": GONE}, 4), ({"run": "its own"}, 4)]
)
def test_agents_that_cannot_help_get_no_share(tmp_path: Path, odd: dict[str, Any], wanted: int) -> None:
    """Nothing is left to an agent that must not have a part in the run, is seen to be dead, or has its own run only."""
    flow = workflow(*(Task(f"t{k}", "add", (Value(k),)) for k in range(4)))
    with store_at(tmp_path) as store:
        hosted = HostedRun(store, "me", submit(store, "r1", flow, {}, max_shards=4), offers_of([flow]), jobs=1)
        beat(store, "other", 1, **odd)
        shares, taken = Shares(store, "me", TTL), list[int]()
        shares.look({"r1": hosted})
        for number in shares.wanted(hosted):
            shares.took(hosted, number)
            taken.append(number)
    assert len(taken) == wanted


def test_the_heartbeat_of_one_that_was_killed_is_removed(tmp_path: Path) -> None:
    """Some time after it was presumed dead nothing is left of it; one that moves stays, however slowly time goes."""
    now = [0.0]
    with store_at(tmp_path) as store:
        shares = Shares(store, "me", TTL)
        shares.heartbeats = Heartbeats(store, ttl=TTL, clock=lambda: now[0])
        beat(store, "killed", 0)
        for look in range(4 * 61):
            now[0] = 1 + look * TTL / 4
            beat(store, "alive", look)
            assert look > 200 or AGENTS + "killed" in store.keys(AGENTS)
            shares.look({})
        assert list(store.keys(AGENTS)) == [AGENTS + "alive"]
