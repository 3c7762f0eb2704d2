"""Runs in discrete steps."""

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
    Chosen,
    NodeId,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)
from solvent_lab.simulator.discrete import DiscreteRun, Ending
from solvent_lab.simulator.environment import Environment
from tests.property.amounts import examples
from tests.simulation.machines import Ball, Player, Script, Sender

if TYPE_CHECKING:
    from random import Random

A, B = NodeId(0), NodeId(1)


class Town(Environment):
    """Answers with the question, hears everything, and ends after so many reports."""

    def __init__(self, max_reports: int = 1_000) -> None:
        self.heard: list[Any] = []
        self.max_reports = max_reports

    def answer(self, node: NodeId, question: Any, _chance: Random) -> Any:
        """Give the question back."""
        return (node, question)

    def told(self, node: NodeId, outcome: Any, at: int) -> None:
        """Write it down."""
        self.heard.append((node, outcome, at))

    def is_over(self) -> bool:
        """End after so many reports."""
        return len(self.heard) >= self.max_reports


def scripted(*effects: Any, nodes: int = 1, seed: int = 0, **options: Any) -> DiscreteRun:
    """Give a run in which node 0 begins with effects and the others with nothing."""
    return DiscreteRun([Script(*effects), *(Script() for _ in range(nodes - 1))], Town(), seed=seed, **options)


@given(throws=st.integers(0, 60))
def test_ping_pong(throws: int) -> None:
    """A ball that is thrown n times takes n steps and n messages."""
    run = DiscreteRun([Player(1, throws), Player()], Environment(), seed=1)
    assert run.run(1_000) is Ending.QUIET
    assert (run.step, run.sent, run.received) == (throws, throws, throws)
    assert sum(run.states) == throws


@examples(50)
@given(nodes=st.integers(1, 6), batches=st.integers(1, 8), size=st.integers(1, 4), seed=st.integers())
def test_channels_keep_their_order(nodes: int, batches: int, size: int, seed: int) -> None:
    """Whatever the seed, what one node sends to another arrives in the order sent, all of it, once."""
    run = DiscreteRun([Sender(nodes, batches, size=size)] * nodes, Environment(), seed=seed)
    assert run.run(1_000) is Ending.QUIET
    arrived = 0
    for _, kept in run.states:
        arrived += len(kept)
        for sender in range(nodes):
            numbers = [number for one, number, _ in kept if one == sender]
            assert numbers == sorted(set(numbers))
    assert arrived == run.sent == nodes * batches * size


def test_senders_take_turns_by_lot() -> None:
    """Who is first depends on the seed, and nobody is always first."""
    firsts = set()
    for seed in range(20):
        run = DiscreteRun([Sender(1, 1)] * 4, Environment(), seed=seed)
        run.run(10)
        firsts.add(run.states[0][1][0][0])
    assert firsts == {0, 1, 2, 3}


def test_questions_are_answered_in_the_same_step() -> None:
    """Answers come at once, in the order of the questions, after the effects beside them."""
    run = scripted(Ask("first"), Send(A, "note"), Ask("second"))
    run.run(10)
    assert run.states[A] == (Answered((A, "first")), Answered((A, "second")), Received(A, "note", 1))


def test_chance_picks_one_of_the_options() -> None:
    """`Choose` gives every option sooner or later, and no other."""
    run = scripted(*(Choose(3) for _ in range(60)))
    run.run(1)
    assert {event.option for event in run.states[A]} == {0, 1, 2}
    assert all(type(event) is Chosen for event in run.states[A])


def test_timers_fire_after_so_many_steps() -> None:
    """A timer fires once, `after` steps later, and its event says when."""
    run = scripted(SetTimer("late", 5), SetTimer("soon", 2))
    assert run.run(100) is Ending.QUIET
    assert run.states[A] == (TimerFired("soon", 2), TimerFired("late", 5))


def test_a_timer_set_again_starts_anew() -> None:
    """Only the last setting of a timer counts; one that is cancelled does not fire."""
    run = scripted(SetTimer("a", 2), SetTimer("a", 4), SetTimer("b", 3), CancelTimer("b"), CancelTimer("never set"))
    run.run(100)
    assert run.states[A] == (TimerFired("a", 4),)


def test_a_timer_of_no_time_fires_in_the_next_step() -> None:
    """Nothing happens twice in one step because of a timer."""
    run = scripted(SetTimer("now", 0))
    run.run(100)
    assert run.states[A] == (TimerFired("now", 1),)


class Alarm(Script):
    """Stops its other timer when one fires."""

    def step(self, state: Any, event: Any) -> Any:
        """Cancel both."""
        return (*state, event), (CancelTimer("a"), CancelTimer("b"))


def test_a_timer_may_stop_another_of_the_same_step() -> None:
    """Of two timers that are due together and cancel each other only the first fires."""
    run = DiscreteRun([Alarm(SetTimer("a", 3), SetTimer("b", 3))], Environment(), seed=1)
    assert run.run(100) is Ending.QUIET
    assert len(run.states[A]) == 1


def test_timers_come_before_messages() -> None:
    """In one step a timer that is due comes first, then requests, then messages."""
    run = scripted(Send(A, "note"), SetTimer("bell", 1))
    run.request(A, ())
    run.run(10)
    assert run.states[A] == (TimerFired("bell", 1), Requested(()), Received(A, "note", 1))


def test_reports_reach_the_environment() -> None:
    """The environment hears who reports what, and in which step."""
    run = scripted(Report("here"))
    run.request(A, (Report("there"),))
    run.run(10)
    assert run.environment.heard == [(A, "here", 0), (A, "there", 1)]


@pytest.mark.parametrize("keeps", [False, True])
def test_saved_records_are_kept_if_wanted(keeps: bool) -> None:  # noqa: FBT001
    """`Save` adds to a node's records where the run keeps them."""
    run = scripted(Save(1), Send(A, "x"), Save(2), keeps_saved=keeps)
    run.run(10)
    assert run.saved == ([[1, 2]] if keeps else None)


def test_the_observer_sees_every_message() -> None:
    """The observer hears sender, recipient, message and the step of sending."""
    seen: list[Any] = []
    run = DiscreteRun([Player(1, 3), Player()], Environment(), seed=1, observe=lambda *what: seen.append(what))
    run.run(2)
    assert seen == [(A, B, Ball(2), 0), (B, A, Ball(1), 1), (A, B, Ball(0), 2)]


def test_the_limit_holds_in_a_long_wait() -> None:
    """A run never goes past its limit, and what was to come comes when it goes on."""
    run = scripted(SetTimer("next year", 10**9))
    assert (run.run(100), run.step) == (Ending.LIMIT, 100)
    assert (run.run(10**10), run.step) == (Ending.QUIET, 10**9)


def test_nodes_without_work_cost_nothing() -> None:
    """Of 10,000 nodes only those that have something to do take steps."""
    taken = 0

    class Counting(Player):
        def step(self, state: int, event: Any) -> Any:
            nonlocal taken
            taken += 1
            return super().step(state, event)

    machines = [Counting(1, 500), *(Counting() for _ in range(9_999))]
    run = DiscreteRun(machines, Environment(), seed=1)
    run.run(1_000)
    assert (taken, run.step) == (500, 500)


def test_what_is_no_effect_is_refused() -> None:
    """A machine that gives something else than effects is found out at once."""
    with pytest.raises(TypeError, match="which is no effect"):
        scripted("jump").run(1)


def test_an_unanswered_question_says_who_asks() -> None:
    """An environment that answers nothing names the node and the question."""
    with pytest.raises(NotImplementedError, match="node 0 asks 'why'"):
        DiscreteRun([Script(Ask("why"))], Environment(), seed=0).run(1)
