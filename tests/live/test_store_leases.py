"""Leases without clocks: who is presumed dead, who takes over, and that nobody is wronged by being watched badly."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from solvent.store import Conflict, Store, StoreError
from solvent.store import heartbeat as heartbeat_module
from solvent.store.leases import (
    AGENTS,
    HEARTBEATS_PER_TTL,
    Heartbeat,
    Heartbeats,
    Holder,
    Lease,
    heartbeat_from_value,
    holder_from_entry,
)
from tests.live.fresh_stores import MAX_SECONDS, Fresh, fresh_part

if TYPE_CHECKING:
    from collections.abc import Callable

TTL = 0.6
#: Of one that must not be taken for dead, however busy the machine is.
LONG_TTL = 3.0


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


class Watched:
    """Heartbeats that are looked at regularly, by a clock of the test."""

    def __init__(self, store: Store, ttl: float = 4.0, own: str = "") -> None:
        self.clock = Clock()
        self.heartbeats = Heartbeats(store, ttl=ttl, own=own, clock=self.clock)
        self.heartbeats.look()

    def pass_time(self, seconds: float, pause: float = 1.0) -> None:
        """Let time pass, and look now and then."""
        for _ in range(round(seconds / pause)):
            self.clock.now += pause
            self.heartbeats.look()


def test_a_heartbeat_that_is_still_for_long_means_dead(store: Store) -> None:
    """Not before the time to live is over, by the clock of who watches, is an agent presumed dead."""
    agent = fresh_part()
    store.put(AGENTS + agent, b"1")
    watched = Watched(store)
    watched.pass_time(4)
    assert not watched.heartbeats.is_presumed_dead(agent)
    assert agent in watched.heartbeats.alive()
    watched.pass_time(1)
    assert watched.heartbeats.is_presumed_dead(agent)
    assert agent in watched.heartbeats.dead()
    store.put(AGENTS + agent, b"2")
    watched.pass_time(1)
    assert not watched.heartbeats.is_presumed_dead(agent)


def test_a_heartbeat_that_beats_means_alive(store: Store) -> None:
    """Whoever changes its key is alive, for as long as it does."""
    agent = fresh_part()
    watched = Watched(store)
    for beat in range(20):
        store.put(AGENTS + agent, str(beat).encode())
        watched.pass_time(3)
        assert not watched.heartbeats.is_presumed_dead(agent)


def test_time_in_which_the_watcher_did_not_run_does_not_count(store: Store) -> None:
    """One that was stopped itself presumes nobody dead, before it has watched for the whole time."""
    agent = fresh_part()
    store.put(AGENTS + agent, b"1")
    watched = Watched(store)
    watched.pass_time(2)
    watched.clock.now += 1000
    watched.heartbeats.look()
    assert not watched.heartbeats.is_presumed_dead(agent)
    watched.pass_time(3)
    assert watched.heartbeats.is_presumed_dead(agent)


def test_time_in_which_ones_own_heartbeat_is_not_heard_does_not_count(store: Store) -> None:
    """When nobody can write, nobody is presumed dead for it; who is silent while others are heard is."""
    agent, own = fresh_part(), fresh_part()
    store.put(AGENTS + agent, b"1")
    store.put(AGENTS + own, b"1")
    watched = Watched(store, own=own)
    watched.pass_time(100)
    assert not watched.heartbeats.is_presumed_dead(agent)
    for beat in range(4):
        store.put(AGENTS + own, str(beat).encode())
        watched.pass_time(1)
    assert watched.heartbeats.is_presumed_dead(agent)


def test_an_agent_that_never_had_a_heartbeat_is_waited_for(store: Store) -> None:
    """A name that a lease tells of, and that has no heartbeat, is presumed dead after the same time."""
    agent = fresh_part()
    watched = Watched(store)
    assert not watched.heartbeats.is_presumed_dead(agent)
    watched.pass_time(5)
    assert watched.heartbeats.is_presumed_dead(agent)


def test_who_says_goodbye_is_not_waited_for(store: Store) -> None:
    """An agent that stops takes its heartbeat away, and is dead for others at once."""
    agent = fresh_part()
    watched = Watched(store)
    with Heartbeat(store, agent, about={"services": ["a"]}) as heartbeat:
        watched.pass_time(1)
        (entry,) = [entry for name, entry in watched.heartbeats.alive().items() if name == agent]
        about = heartbeat_from_value(entry.value)
        assert (about["pid"], about["services"], about["count"]) == (os.getpid(), ["a"], 1)
        assert heartbeat.is_fresh()
    watched.pass_time(1)
    assert watched.heartbeats.is_presumed_dead(agent)
    assert agent not in watched.heartbeats.alive()


def test_a_lease_is_taken_once(store: Store) -> None:
    """Who comes second gets nothing; after a release the next epoch begins."""
    key = f"{fresh_part()}/lease"
    one, two = Lease(store, key, "one"), Lease(store, key, "two")
    assert one.holder() is None
    assert one.take() == 1
    assert one.take() == 1
    assert two.take() is None
    assert two.holder() == Holder("one", 1, one.holder().revision)  # type: ignore[union-attr]
    assert not two.release()
    assert one.release()
    assert not one.release()
    assert two.take() == 2
    assert one.take() is None


def test_a_lease_of_the_dead_is_taken_over(store: Store) -> None:
    """Only of a holder that is presumed dead a lease is taken, with the next epoch; the old one cannot release it."""
    key, agent = f"{fresh_part()}/lease", fresh_part()
    old, new = Lease(store, key, agent), Lease(store, key, "new")
    store.put(AGENTS + agent, b"1")
    watched = Watched(store)
    old.take()
    watched.pass_time(3)
    assert new.take(watched.heartbeats) is None
    watched.pass_time(2)
    known = new.holder()
    assert new.take(watched.heartbeats, known=known) == 2
    assert not old.release()
    assert new.holder() == Holder("new", 2, new.holder().revision)  # type: ignore[union-attr]
    third = Lease(store, key, "third")
    # What it knows is old, so that the compare-and-set fails.
    assert third.take(watched.heartbeats, known=known) is None


def test_what_is_no_lease_or_heartbeat_is_said(store: Store) -> None:
    """A key with another value raises E406; a time that cannot be is refused."""
    key = fresh_part()
    store.put(key, b"nonsense")
    with pytest.raises(StoreError, match="E406"):
        Lease(store, key, "one").take()
    with pytest.raises(StoreError, match="E406"):
        heartbeat_from_value(b"\xc1")
    for ttl in (0, -1, 3601, float("inf"), float("nan")):
        with pytest.raises(StoreError, match="E401"):
            Heartbeats(store, ttl=ttl)
    assert holder_from_entry  # Used above, by `take`.


def test_a_heartbeat_outlives_trouble(store: Store, fresh: Fresh) -> None:
    """A heartbeat cannot be written is tried again; meanwhile it is known what is wrong and that it is not fresh."""
    agent = fresh_part()
    own = fresh.open()
    heartbeat = Heartbeat(own, agent, ttl=0.2).start()
    own.close()
    until = time.monotonic() + MAX_SECONDS
    while (heartbeat.error is None or heartbeat.is_fresh()) and time.monotonic() < until:
        time.sleep(0.02)
    assert heartbeat.error is not None
    assert heartbeat.error.code == "E408"
    heartbeat.stop()
    assert AGENTS + agent in store.keys(AGENTS)


def _agent(name: str, part: str, ttl: float) -> Callable[[Store, Callable[[str], None]], None]:
    """Give a process that takes a lease when it may, and appends to a log while it may."""

    def work(store: Store, say: Callable[[str], None]) -> None:
        heartbeats, lease = Heartbeats(store, ttl=ttl), Lease(store, f"{part}/lease", name)
        until = time.monotonic() + MAX_SECONDS
        with Heartbeat(store, name, ttl=ttl):
            while time.monotonic() < until:
                time.sleep(ttl / HEARTBEATS_PER_TTL / 2)
                heartbeats.look()
                epoch = lease.take(heartbeats)
                if epoch is None:
                    continue
                last = store.append(f"{part}/log", f"{name} {epoch}".encode(), expected=store.last(f"{part}/log"))
                say(f"took {epoch}")
                try:
                    while time.monotonic() < until:
                        time.sleep(0.01)
                        last = store.append(f"{part}/log", f"{name} {epoch}".encode(), expected=last)
                except Conflict:
                    say("fenced")
                    return

    return work


def test_one_that_is_stopped_is_replaced_and_fenced(fresh: Fresh, store: Store) -> None:
    """An agent stopped for longer than its lease is replaced; when it goes on, it writes nothing more."""
    part, old, new = fresh_part(), fresh_part(), fresh_part()
    first = fresh.start(_agent(old, part, LONG_TTL))
    assert first.hear() == "took 1"
    second = fresh.start(_agent(new, part, TTL))
    time.sleep(2 * TTL)
    assert {record.data for record in store.read(f"{part}/log")} == {f"{old} 1".encode()}
    os.kill(first.number, signal.SIGSTOP)
    assert second.hear() == "took 2"
    os.kill(first.number, signal.SIGCONT)
    assert first.hear() == "fenced"
    first.end()
    second.kill()
    writers = [record.data.decode() for record in store.read(f"{part}/log")]
    change = writers.index(f"{new} 2")
    assert set(writers[:change]) == {f"{old} 1"}
    assert set(writers[change:]) == {f"{new} 2"}


def test_one_that_begins_anew_takes_what_it_had(store: Store) -> None:
    """An agent that has lost its connection knows nothing of its leases, and its heartbeat must not keep it away."""
    part = fresh_part()
    with Heartbeat(store, part, ttl=TTL):
        heartbeats = Heartbeats(store, ttl=TTL)
        assert Lease(store, f"{part}/lease", part).take(heartbeats) == 1
        assert Lease(store, f"{part}/lease", part).take(heartbeats) == 2


def test_a_heartbeat_knows_when_it_may_have_been_taken_for_dead(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts the times at which it was not written for longer than a lease; being fresh again hides none."""
    clock = Clock()
    monkeypatch.setattr(heartbeat_module, "time", SimpleNamespace(monotonic=clock))
    heartbeat = Heartbeat(store, fresh_part(), ttl=TTL)
    heartbeat._writer.write()
    assert (heartbeat.is_fresh(), heartbeat.lapses) == (True, 0)
    heartbeat._writer.write()
    assert heartbeat.lapses == 0
    clock.now += TTL
    assert not heartbeat.is_fresh()
    heartbeat._writer.write()
    assert (heartbeat.is_fresh(), heartbeat.lapses) == (True, 1)
