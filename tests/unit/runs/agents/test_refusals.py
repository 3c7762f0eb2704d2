"""Who may end a run, or note something in it: only those that have its places; and what agents say they cannot do."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest

from solvent.runs.agents.agent import Agent
from solvent.runs.agents.hosted_run import HostedRun
from solvent.runs.agents.log import Teller
from solvent.runs.agents.offers import offers_of
from solvent.runs.agents.shards import is_closed, standings, submit
from solvent.runs.agents.termination import Endings
from solvent.runs.registry import end, existing, journal_of, key_of, record_of
from solvent.store.leases import Heartbeats
from tests.unit.runs.agents.flows import adaptive, store_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from solvent.runs.execution import Execution
    from solvent.store import Store


class Rig:
    """A run of one shard, which agents take from each other."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.told: list[str] = []
        submit(store, "r1", adaptive(), {}, max_shards=1)
        self.hosted_runs: list[HostedRun] = []

    def hosted(self, agent: str) -> HostedRun:
        """Give the run, as an agent has it."""
        plan = record_of(self.store, "r1")
        assert plan is not None
        self.hosted_runs.append(HostedRun(self.store, agent, plan, offers_of([adaptive()]), jobs=1))
        return self.hosted_runs[-1]

    def take(self, hosted: HostedRun) -> Execution:
        """Let an agent take the shard, as if who has it were dead."""
        self.store.delete(key_of("r1", "lease", 0))
        shard = hosted.take(0, Heartbeats(self.store), SimpleQueue[Any]())
        assert shard is not None
        return shard


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """Give a run of one shard."""
    with store_at(tmp_path) as store:
        found = Rig(store)
        yield found
        for hosted in found.hosted_runs:
            hosted.close()


@pytest.mark.parametrize("is_taken", [True, False])
def test_only_who_has_a_place_ends_its_run(rig: Rig, *, is_taken: bool) -> None:
    """One that was stopped, and finds something wrong at a shard that another agent has by now, ends nothing."""
    hosted = rig.hosted("old")
    shard = rig.take(hosted)
    if is_taken:
        # Its journal has what the other one opened it with, and its lease is the other's.
        rig.store.append(journal_of("r1", 0), b"\x90")
    Endings(rig.store, Teller(rig.told.append)).fail(hosted, shard, ZeroDivisionError("odd"))
    assert (not existing(rig.store, "r1").has_ended) == is_taken
    assert not hosted.here
    assert ("is another agent's now" in rig.told[0]) == is_taken


def test_a_place_that_was_taken_again_is_not_dropped_with_what_was_before(rig: Rig) -> None:
    """What an agent lost, and has taken anew since, stays when the old one is dropped."""
    hosted = rig.hosted("one")
    old = rig.take(hosted)
    hosted.drop(old)
    new = hosted.take(0, Heartbeats(rig.store), SimpleQueue[Any]())
    hosted.drop(old)
    assert hosted.here == {0: new}


def test_what_is_opened_again_is_opened_in_a_new_epoch(rig: Rig) -> None:
    """An agent that drops a shard, and has the lease still, takes it with the next epoch."""
    hosted = rig.hosted("one")
    shard = rig.take(hosted)
    before = rig.store.get(key_of("r1", "lease", 0))
    hosted.drop(shard)
    assert hosted.take(0, Heartbeats(rig.store), SimpleQueue[Any]()) is not None
    assert rig.store.get(key_of("r1", "lease", 0)) != before


def test_a_place_whose_lease_is_another_s_is_lost(rig: Rig) -> None:
    """Who looks which places it still has sees it by the lease, also if the journal is not opened yet."""
    hosted = rig.hosted("old")
    shard = rig.take(hosted)
    assert hosted.lost() == []
    rig.store.put(key_of("r1", "lease", 0), b"\x82\xa6holder\xa3new\xa5epoch\x02")
    assert hosted.lost() == [shard]


def test_a_place_that_is_closed_stays_so(rig: Rig) -> None:
    """Whatever is told of it later, and whoever takes it: a run that is over ends when all its places are closed."""
    hosted = rig.hosted("one")
    shard = rig.take(hosted)
    hosted.publish()
    hosted.tell(shard)
    assert is_closed(standings(rig.store, "r1"), 1)
    hosted.release(0)
    other = rig.hosted("two")
    assert other.take(0, Heartbeats(rig.store), SimpleQueue[Any]()) is not None
    other.publish()
    assert is_closed(standings(rig.store, "r1"), 1)


def test_who_has_lost_a_place_does_not_close_it(rig: Rig) -> None:
    """The one that another agent has taken is dropped, and nothing is said of it."""
    hosted = rig.hosted("one")
    rig.take(hosted)
    rig.store.append(journal_of("r1", 0), b"\x90")
    hosted.publish()
    assert not hosted.here
    assert not is_closed(standings(rig.store, "r1"), 1)


def test_nothing_is_noted_of_a_run_that_is_over(rig: Rig) -> None:
    """An answer that comes together with the news of the end is not in the journal: what follows it did not happen."""
    agent = Agent(rig.store, "one", offers_of([adaptive()]))
    hosted = rig.hosted("one")
    shard = rig.take(hosted)
    before = rig.store.last(journal_of("r1", 0))
    end(rig.store, "r1", "cancelled")
    agent.runs["r1"] = hosted
    agent._read({})
    assert not hosted.here
    agent._do({shard: None})
    assert rig.store.last(journal_of("r1", 0)) == before
