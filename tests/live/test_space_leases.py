"""Leases without clocks: who is presumed dead, who takes over, and that nobody is wronged by being watched badly."""

from __future__ import annotations

import os
import signal
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from solvent.live.space import Conflict, Space, SpaceError, beats
from solvent.live.space.leases import (
    AGENTS,
    BEATS_PER_TTL,
    Holder,
    Lease,
    Pulse,
    Pulses,
    holder_from_entry,
    pulse_from_value,
)
from tests.live.space_backends import BACK_ENDS, fresh_space
from tests.live.space_stores import SECONDS_MAX, Fresh, fresh_part

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TTL = 0.6
#: Of one that must not be taken for dead, however busy the machine is.
LONG_TTL = 3.0


@pytest.fixture(scope="module", params=BACK_ENDS)
def fresh(request: pytest.FixtureRequest) -> Iterator[Fresh]:
    """Give a space of each back end in turn."""
    with fresh_space(request.param) as made:
        yield made


@pytest.fixture
def space(fresh: Fresh) -> Iterator[Space]:
    """Give the space, open."""
    with fresh.open() as opened:
        yield opened


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Tell the time."""
        return self.now


class Watched:
    """Pulses that are looked at regularly, by a clock of the test."""

    def __init__(self, space: Space, ttl: float = 4.0, own: str = "") -> None:
        self.clock = Clock()
        self.pulses = Pulses(space, ttl=ttl, own=own, clock=self.clock)
        self.pulses.look()

    def pass_time(self, seconds: float, pause: float = 1.0) -> None:
        """Let time pass, and look now and then."""
        for _ in range(round(seconds / pause)):
            self.clock.now += pause
            self.pulses.look()


def test_a_pulse_that_is_still_for_long_means_dead(space: Space) -> None:
    """Not before the time to live is over, by the clock of who watches, is an agent presumed dead."""
    agent = fresh_part()
    space.put(AGENTS + agent, b"1")
    watched = Watched(space)
    watched.pass_time(4)
    assert not watched.pulses.is_presumed_dead(agent)
    assert agent in watched.pulses.alive()
    watched.pass_time(1)
    assert watched.pulses.is_presumed_dead(agent)
    assert agent in watched.pulses.dead()
    space.put(AGENTS + agent, b"2")
    watched.pass_time(1)
    assert not watched.pulses.is_presumed_dead(agent)


def test_a_pulse_that_beats_means_alive(space: Space) -> None:
    """Whoever changes its key is alive, for as long as it does."""
    agent = fresh_part()
    watched = Watched(space)
    for beat in range(20):
        space.put(AGENTS + agent, str(beat).encode())
        watched.pass_time(3)
        assert not watched.pulses.is_presumed_dead(agent)


def test_the_same_value_again_is_a_beat(space: Space) -> None:
    """A revision that grows is a sign of life, whatever the value says."""
    agent = fresh_part()
    watched = Watched(space)
    for _ in range(5):
        space.put(AGENTS + agent, b"the same")
        watched.pass_time(2)
    assert not watched.pulses.is_presumed_dead(agent)


def test_time_in_which_the_watcher_did_not_run_does_not_count(space: Space) -> None:
    """One that was stopped itself presumes nobody dead, before it has watched for the whole time."""
    agent = fresh_part()
    space.put(AGENTS + agent, b"1")
    watched = Watched(space)
    watched.pass_time(2)
    watched.clock.now += 1000
    watched.pulses.look()
    assert not watched.pulses.is_presumed_dead(agent)
    watched.pass_time(3)
    assert watched.pulses.is_presumed_dead(agent)


def test_time_in_which_ones_own_pulse_is_not_heard_does_not_count(space: Space) -> None:
    """When nobody can write, nobody is presumed dead for it; who is silent while others are heard is."""
    agent, own = fresh_part(), fresh_part()
    space.put(AGENTS + agent, b"1")
    space.put(AGENTS + own, b"1")
    watched = Watched(space, own=own)
    watched.pass_time(100)
    assert not watched.pulses.is_presumed_dead(agent)
    for beat in range(4):
        space.put(AGENTS + own, str(beat).encode())
        watched.pass_time(1)
    assert watched.pulses.is_presumed_dead(agent)


def test_an_agent_that_never_had_a_pulse_is_waited_for(space: Space) -> None:
    """A name that a lease tells of, and that has no pulse, is presumed dead after the same time."""
    agent = fresh_part()
    watched = Watched(space)
    assert not watched.pulses.is_presumed_dead(agent)
    watched.pass_time(5)
    assert watched.pulses.is_presumed_dead(agent)


def test_who_says_goodbye_is_not_waited_for(space: Space) -> None:
    """An agent that stops takes its pulse away, and is dead for others at once."""
    agent = fresh_part()
    watched = Watched(space)
    with Pulse(space, agent, about={"services": ["a"]}) as pulse:
        watched.pass_time(1)
        (entry,) = [entry for name, entry in watched.pulses.alive().items() if name == agent]
        about = pulse_from_value(entry.value)
        assert (about["pid"], about["services"], about["count"]) == (os.getpid(), ["a"], 1)
        assert pulse.is_fresh()
    watched.pass_time(1)
    assert watched.pulses.is_presumed_dead(agent)
    assert agent not in watched.pulses.alive()


def test_a_lease_is_taken_once(space: Space) -> None:
    """Who comes second gets nothing; after a release the next epoch begins."""
    key = f"{fresh_part()}/lease"
    one, two = Lease(space, key, "one"), Lease(space, key, "two")
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


def test_a_lease_of_the_dead_is_taken_over(space: Space) -> None:
    """Only of a holder that is presumed dead a lease is taken, with the next epoch; the old one cannot release it."""
    key, agent = f"{fresh_part()}/lease", fresh_part()
    old, new = Lease(space, key, agent), Lease(space, key, "new")
    space.put(AGENTS + agent, b"1")
    watched = Watched(space)
    old.take()
    watched.pass_time(3)
    assert new.take(watched.pulses) is None
    watched.pass_time(2)
    known = new.holder()
    assert new.take(watched.pulses, known=known) == 2
    assert not old.release()
    assert new.holder() == Holder("new", 2, new.holder().revision)  # type: ignore[union-attr]
    third = Lease(space, key, "third")
    # What it knows is old, so that the compare-and-set fails.
    assert third.take(watched.pulses, known=known) is None


def test_what_is_no_lease_or_pulse_is_said(space: Space) -> None:
    """A key with another value raises E406; a time that cannot be is refused."""
    key = fresh_part()
    space.put(key, b"nonsense")
    with pytest.raises(SpaceError, match="E406"):
        Lease(space, key, "one").take()
    with pytest.raises(SpaceError, match="E406"):
        pulse_from_value(b"\xc1")
    for ttl in (0, -1, 3601, float("inf"), float("nan")):
        with pytest.raises(SpaceError, match="E401"):
            Pulses(space, ttl=ttl)
    assert holder_from_entry  # Used above, by `take`.


def test_a_pulse_outlives_trouble(space: Space, fresh: Fresh) -> None:
    """A pulse that cannot be written is tried again; meanwhile it is known what is wrong, and that it is not fresh."""
    agent = fresh_part()
    own = fresh.open()
    pulse = Pulse(own, agent, ttl=0.2).start()
    own.close()
    until = time.monotonic() + SECONDS_MAX
    while (pulse.error is None or pulse.is_fresh()) and time.monotonic() < until:
        time.sleep(0.02)
    assert pulse.error is not None
    assert pulse.error.code == "E408"
    pulse.stop()
    assert AGENTS + agent in space.keys(AGENTS)


def _agent(name: str, part: str, ttl: float) -> Callable[[Space, Callable[[str], None]], None]:
    """Give a process that takes a lease when it may, and appends to a log while it may."""

    def work(space: Space, say: Callable[[str], None]) -> None:
        pulses, lease = Pulses(space, ttl=ttl), Lease(space, f"{part}/lease", name)
        until = time.monotonic() + SECONDS_MAX
        with Pulse(space, name, ttl=ttl):
            while time.monotonic() < until:
                time.sleep(ttl / BEATS_PER_TTL / 2)
                pulses.look()
                epoch = lease.take(pulses)
                if epoch is None:
                    continue
                last = space.append(f"{part}/log", f"{name} {epoch}".encode(), expected=space.last(f"{part}/log"))
                say(f"took {epoch}")
                try:
                    while time.monotonic() < until:
                        time.sleep(0.01)
                        last = space.append(f"{part}/log", f"{name} {epoch}".encode(), expected=last)
                except Conflict:
                    say("fenced")
                    return

    return work


def test_one_that_is_stopped_is_replaced_and_fenced(fresh: Fresh, space: Space) -> None:
    """An agent stopped for longer than its lease is replaced; when it goes on, it writes nothing more."""
    part, old, new = fresh_part(), fresh_part(), fresh_part()
    first = fresh.start(_agent(old, part, LONG_TTL))
    assert first.hear() == "took 1"
    second = fresh.start(_agent(new, part, TTL))
    time.sleep(2 * TTL)
    assert {record.data for record in space.read(f"{part}/log")} == {f"{old} 1".encode()}
    os.kill(first.number, signal.SIGSTOP)
    assert second.hear() == "took 2"
    os.kill(first.number, signal.SIGCONT)
    assert first.hear() == "fenced"
    first.end()
    second.kill()
    writers = [record.data.decode() for record in space.read(f"{part}/log")]
    change = writers.index(f"{new} 2")
    assert set(writers[:change]) == {f"{old} 1"}
    assert set(writers[change:]) == {f"{new} 2"}


def test_a_killed_holder_is_replaced(fresh: Fresh) -> None:
    """After a kill, the next agent has the lease and goes on with the log."""
    part = fresh_part()
    first = fresh.start(_agent(fresh_part(), part, TTL))
    assert first.hear() == "took 1"
    second = fresh.start(_agent(fresh_part(), part, TTL))
    first.kill()
    assert second.hear() == "took 2"
    second.kill()


def test_one_that_begins_anew_takes_what_it_had(space: Space) -> None:
    """An agent that has lost its connection knows nothing of its leases, and its own pulse must not keep it away."""
    part = fresh_part()
    with Pulse(space, part, ttl=TTL):
        pulses = Pulses(space, ttl=TTL)
        assert Lease(space, f"{part}/lease", part).take(pulses) == 1
        assert Lease(space, f"{part}/lease", part).take(pulses) == 2


def test_a_pulse_knows_when_it_may_have_been_taken_for_dead(space: Space, monkeypatch: pytest.MonkeyPatch) -> None:
    """It counts the times at which it was not written for longer than a lease; being fresh again hides none."""
    clock = Clock()
    monkeypatch.setattr(beats, "time", SimpleNamespace(monotonic=clock))
    pulse = Pulse(space, fresh_part(), ttl=TTL)
    pulse._beats.write()
    assert (pulse.is_fresh(), pulse.lapses) == (True, 0)
    pulse._beats.write()
    assert pulse.lapses == 0
    clock.now += TTL
    assert not pulse.is_fresh()
    pulse._beats.write()
    assert (pulse.is_fresh(), pulse.lapses) == (True, 1)
