"""Runs on a clock, without faults but those the tests ask for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.simulator.environment import Ending, Environment
from solvent_lab.simulator.network import Faults
from solvent_lab.simulator.timed import TimedRun
from tests.property.amounts import examples
from tests.simulation.machines import Diary, Player, Script, Sender

if TYPE_CHECKING:
    from random import Random

A, B, C = NodeId(0), NodeId(1), NodeId(2)


class Town(Environment):
    """Answers with a number that grows, and hears everything."""

    def __init__(self) -> None:
        self.heard: list[Any] = []
        self.asked = 0

    def answer(self, _node: NodeId, _question: Any, _chance: Random) -> Any:
        """Count questions."""
        self.asked += 1
        return self.asked

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Write it down."""
        self.heard.append((node, outcome, at))

    def crashed(self, node: NodeId, at: int) -> None:
        """Write it down."""
        self.heard.append((node, "crashed", at))

    def restarted(self, node: NodeId, at: int) -> None:
        """Write it down."""
        self.heard.append((node, "restarted", at))


def timed(*machines: Any, seed: int = 1, faults: Faults | None = None, **options: Any) -> TimedRun:
    """Give a run of machines."""
    return TimedRun(machines, Town(), seed=seed, faults=faults or Faults(), **options)


def test_a_ball_takes_the_latency_each_way() -> None:
    """Five throws of two milliseconds each take ten."""
    run = timed(Player(1, 5), Player(), faults=Faults(min_latency_ms=2.0, max_latency_ms=2.0))
    assert run.run() is Ending.QUIET
    assert (run.now, run.counts.sent, run.counts.received, run.counts.events) == (10.0, 5, 5, 5)


def test_timers_renewed_and_cancelled() -> None:
    """Only the last setting of a timer counts; one that is cancelled does not fire."""
    run = timed(Script(SetTimer("a", 2), SetTimer("a", 4), SetTimer("b", 3), CancelTimer("b"), CancelTimer("c")))
    run.run()
    assert run.nodes[A].state == (TimerFired("a", 4),)


@pytest.mark.parametrize("limits, events", [({"max_ms": 7.5}, 7), ({"max_events": 3}, 3)], ids=str)
def test_limits(limits: dict[str, float], events: int) -> None:
    """A run stops at its limit of milliseconds or of events, and goes on where it stopped."""
    run = timed(Player(1, 50), Player())
    assert (run.run(**limits), run.counts.events) == (Ending.LIMIT, events)
    assert (run.run(), run.counts.events) == (Ending.QUIET, 50)


def test_answers_come_at_once() -> None:
    """Without latency of answers, nothing comes between question and answer."""
    run = timed(Script(Send(A, "note"), Ask("a"), Choose(1), Ask("b")))
    run.run()
    first, chosen, second, note = run.nodes[A].state
    assert (first, second, note) == (Answered(1), Answered(2), Received(A, "note", 1))
    assert chosen.option == 0


@given(seed=st.integers())
def test_answers_may_take_time(seed: int) -> None:
    """Answers that take time come in the order of the questions, and other events come between."""
    faults = Faults(min_answer_ms=5.0, max_answer_ms=50.0)
    run = timed(Script(Ask("a"), Ask("b"), Ask("c"), Send(A, "note")), faults=faults, seed=seed)
    run.run()
    assert run.nodes[A].state == (Received(A, "note", 1), Answered(1), Answered(2), Answered(3))
    assert 5.0 <= run.now <= 50.0


@examples(40)
@given(seed=st.integers(), batches=st.integers(1, 8))
def test_channels_keep_their_order(seed: int, batches: int) -> None:
    """Without reordering, what one node sends to another arrives in the order sent, all of it."""
    faults = Faults(min_latency_ms=0.0, max_latency_ms=40.0)
    run = timed(*[Sender(4, batches, size=3)] * 4, faults=faults, seed=seed)
    assert run.run() is Ending.QUIET
    for node in run.nodes:
        for sender in range(4):
            numbers = [number for one, number, _ in node.state[1] if one == sender]
            assert numbers == sorted(set(numbers))
    assert run.counts.received == run.counts.sent == 12 * batches


# --- Crashes.


def test_a_crash_loses_what_was_not_saved() -> None:
    """A restarted node has what it saved and a new life; what it counted after that is gone."""
    run = timed(Diary())
    for _ in range(5):
        run.request(A, "count")
    run.run()
    assert run.nodes[A].state == (5, 0, ())
    run.crash(A, 10.0)
    assert (run.nodes[A].state, run.nodes[A].is_up) == (None, False)
    run.run()
    assert (run.nodes[A].state, run.nodes[A].saved, run.nodes[A].is_up) == ((4, 1, ()), [2, 4], True)
    assert run.environment.heard == [
        (A, ("begins", ()), 0),
        (A, "crashed", 0),
        (A, "restarted", 10),
        (A, ("begins", (2, 4)), 10),
    ]


def test_a_crash_loses_timers_answers_and_what_is_under_way() -> None:
    """Nothing that was on its way to a life reaches the next one."""
    faults = Faults(min_latency_ms=20.0, max_latency_ms=20.0, max_answer_ms=30.0)
    run = timed(Script(SetTimer("bell", 40), Ask("a")), Script(Send(A, "hello")), faults=faults)
    run.run(max_ms=0.0)
    run.crash(A, 1.0)
    assert list(run.world.messages()) == []
    run.run(max_ms=1.5)
    run.machines[A].effects = ()
    before = run.counts.received
    run.run()
    assert (run.counts.received, run.counts.lost) == (before, 1)
    # Only what the new life asked for itself.
    assert [type(event) for event in run.nodes[A].state] == [Answered, TimerFired]
    assert run.environment.asked == 2


def test_what_is_sent_to_a_node_that_is_down_is_lost() -> None:
    """A message to a node that is down never arrives, and a request to it neither."""
    run = timed(Script(), Script(SetTimer("bell", 5)))
    run.run(max_ms=0.0)
    run.crash(A, 10.0)
    run.request(B, (Send(A, "hello"),))
    run.request(A, ())
    run.run()
    assert (run.nodes[A].state, run.counts.lost) == ((), 1)


def test_a_request_from_within_dies_with_its_node() -> None:
    """What a program in a node was going to ask for, its next life does not hear; what others ask for, it does."""
    run = timed(Script(), Script())
    for node in (A, B):
        run.request(node, (Report("within"),), after_ms=20.0, is_from_within=True)
        run.request(node, (Report("outside"),), after_ms=20.0)
    run.run(max_ms=0.0)
    run.crash(A, 10.0)
    run.run()
    heard = [(node, outcome) for node, outcome, at in run.environment.heard if at == 20]
    assert heard == [(A, "outside"), (B, "within"), (B, "outside")]


@given(seed=st.integers(0, 50))
def test_of_what_a_crashed_node_had_sent_all_is_lost_or_nothing(seed: int) -> None:
    """Chance decides whether what is under way from a crashed node still arrives."""
    run = timed(Script(Send(B, 1), Send(B, 2)), Script(), seed=seed)
    run.run(max_ms=0.0)
    run.machines[A].effects = ()
    run.crash(A, 10.0)
    run.run()
    assert len(run.nodes[B].state) in (0, 2)


class Saver(Script):
    """Does three things at every message; what it has saved and said can be compared."""

    def step(self, state: Any, _event: Any) -> Any:
        """Save, say, save."""
        return state, (Save("one"), Send(B, "said"), Save("two"))


def test_a_crash_may_strike_between_effects() -> None:
    """A node may crash when it has carried out some of its effects, the first ones, and not the others."""
    seen = set()
    for seed in range(60):
        faults = Faults(crashes_every_ms=5.0, max_crashes=1, until_ms=10.0)
        run = timed(Saver(), Script(), seed=seed, faults=faults)
        for time in range(12):
            run.request(A, (), after_ms=float(time))
        run.run()
        saved = run.nodes[A].saved
        odd = next((place for place in range(0, len(saved) - 1, 2) if saved[place] == saved[place + 1]), None)
        seen.add(odd is None and len(saved) % 2 == 0)
        assert run.counts.crashes == run.counts.restarts <= 1
    assert seen == {False, True}


# --- News of restarts.


def test_nobody_is_told_of_restarts_unless_asked_for() -> None:
    """Machines with a link find out themselves."""
    run = timed(Diary(), Diary())
    run.run()
    run.crash(A, 10.0)
    run.run()
    assert run.nodes[B].state == (0, 0, ())


@given(seed=st.integers(), may_reorder=st.booleans())
def test_the_news_of_a_restart_comes_first(seed: int, may_reorder: bool) -> None:  # noqa: FBT001
    """The first thing that a peer hears from a new life is that it is new, and nothing of the old one comes after."""
    faults = Faults(min_latency_ms=0.0, max_latency_ms=50.0, may_reorder=may_reorder)
    run = timed(Script(*(Send(B, "old") for _ in range(5))), Script(), faults=faults, seed=seed, tells_restarts=True)
    run.run(max_ms=20.0)
    run.machines[A].effects = tuple(Send(B, "new") for _ in range(5))
    run.crash(A, 5.0)
    run.run()
    heard = [event.message if isinstance(event, Received) else event for event in run.nodes[B].state]
    news = heard.index(PeerRestarted(A))
    assert set(heard[:news]) <= {"old"}
    assert heard[news + 1 :] == ["new"] * 5


def test_what_is_meant_for_a_former_life_does_not_reach_the_next() -> None:
    """What a peer sends before it has heard of a restart is lost; after that it arrives."""
    faults = Faults(min_latency_ms=10.0, max_latency_ms=10.0)
    run = timed(Script(), Script(), faults=faults, tells_restarts=True)
    run.run()
    run.crash(A, 5.0)
    run.request(B, (Send(A, "too early"),), after_ms=7.0)
    run.request(B, (Send(A, "in time"),), after_ms=16.0)
    run.run()
    assert [event.message for event in run.nodes[A].state] == ["in time"]


def test_who_was_down_hears_of_restarts_later() -> None:
    """A node that was down while another restarted is told when it is back; so is one that was cut off."""
    run = timed(Diary(), Diary(), Diary(), tells_restarts=True)
    run.run()
    run.crash(A, 100.0)
    run.crash(B, 10.0)
    run.part([C], 50.0)
    run.run()
    assert [node.state[2] for node in run.nodes] == [(B,), (A,), (B, A)]


# --- Partitions.


@pytest.mark.parametrize("loses, heard", [(True, ["later"]), (False, ["first", "second", "later"])])
def test_a_partition_loses_or_keeps_what_crosses_it(loses: bool, heard: list[str]) -> None:  # noqa: FBT001
    """What would arrive across a partition is lost, or arrives in order when it has healed."""
    run = timed(Script(Send(B, "first"), Send(B, "second")), Script(), faults=Faults(partitions_lose=loses))
    run.part([A], 20.0)
    run.request(A, (Send(B, "later"),), after_ms=20.0)
    run.run()
    assert [event.message for event in run.nodes[B].state] == heard
    assert run.counts.lost == (2 if loses else 0)
