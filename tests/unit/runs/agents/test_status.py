"""How a run stands, who is there, and what a part of a run says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.runs.agents.membership import see_agents
from solvent.runs.agents.shards import submit
from solvent.runs.agents.store_outage import LOOK_SECONDS, Doubts
from solvent.runs.closed_shards import merged
from solvent.runs.events import ShardClosed
from solvent.runs.kept import keep
from solvent.store.leases import AGENTS, Heartbeat
from solvent.values import codec
from tests.unit.runs.agents.flows import adaptive, store_at

if TYPE_CHECKING:
    from pathlib import Path

    from solvent.store import Store


def test_who_has_a_heartbeat_is_alive(store: Store) -> None:
    """An agent is alive if its heartbeat changes, dead if it does not, and gone if it has left."""
    with Heartbeat(store, "beats", ttl=2.0, about={"services": {"add": "x"}}):
        entry = store.get(f"{AGENTS}beats")
        assert entry is not None
        store.put(f"{AGENTS}still", entry.value)
        # On a busy machine a heartbeat may be late.
        for _ in range(20):
            found = {one.name: one for one in see_agents(store)}
            if found["beats"].is_alive:
                break
        assert {name: one.is_alive for name, one in found.items()} == {"beats": True, "still": False}
        assert found["beats"].services == {"add": "x"}
        store.delete(f"{AGENTS}still")
    assert see_agents(store) == []


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


def test_the_only_shard_is_the_report(store: Store) -> None:
    """The only shard of a run says everything; its result may be in a blob."""
    record = submit(store, "r1", adaptive(), {})
    results = {"a": keep(store, codec.encode(bytes(100_000)))}
    closed = ShardClosed(1.0, {"a": "done"}, {"a": 1}, results, stuck=["b waits for ever"])
    report = merged(store, record, adaptive(), [closed])
    assert (report.results, report.stuck, report.succeeded) == ({"a": bytes(100_000)}, ["b waits for ever"], False)
