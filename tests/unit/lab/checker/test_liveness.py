"""Dead ends and fair loops are found; loops that only an unfair run goes round are not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from solvent.protocols.machine import (
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Event,
    Message,
    NodeId,
    Received,
    Report,
    Send,
    SetTimer,
    Step,
    TimerFired,
)
from solvent_lab.checker import Asking, Crashes, Model, Network, Verdict, check
from tests.unit.lab.checker.worlds import door, promise, query


class Ping(Message, frozen=True, gc=False):
    """Goes to and fro."""


class Player:
    """Sends a ball back for ever; a timer ends the game."""

    def __init__(self, node: int, *, is_timed: bool) -> None:
        self._peer = NodeId(1 - node)
        self._serves = node == 0
        self._is_timed = is_timed

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin; the first serves."""
        del saved, life
        timer = (SetTimer("end", 1),) if self._serves and self._is_timed else ()
        return "playing", ((Send(self._peer, Ping()),) if self._serves else ()) + timer

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        match event:
            case Received():
                return state, (Send(self._peer, Ping()),)
            case TimerFired():
                return "over", (Report("over"),)
        return state, ()


class Clock:
    """Ticks for ever, and starts or stops a second timer with every tick."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin."""
        del saved, life
        return "even", (SetTimer("tick", 1),)

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        match event:
            case TimerFired("tick") if state == "even":
                return "odd", (Report("tick"), SetTimer("tick", 1), SetTimer("end", 1))
            case TimerFired("tick"):
                return "even", (Report("tick"), SetTimer("tick", 1), CancelTimer("end"))
        return "over", (CancelTimer("tick"), Report("over"))


class Dice:
    """Throws until it has a six; the wrong one waits for a seven."""

    def __init__(self, wanted: int) -> None:
        self._wanted = wanted

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[int]:
        """Begin by throwing."""
        del saved, life
        return 0, (Choose(6),)

    def step(self, state: int, event: Event) -> Step[int]:
        """Take one event."""
        del state
        assert isinstance(event, Chosen)
        thrown = event.option + 1
        return thrown, () if thrown == self._wanted else (Choose(6),)


def _game(*, is_timed: bool) -> Model:
    players = (Player(0, is_timed=is_timed), Player(1, is_timed=is_timed))
    return Model(machines=players, goal=lambda world: world.states[0] == "over")


def test_timer_that_is_always_running_fires_at_last() -> None:
    """A loop beside which a timer could fire at every moment is not fair without it."""
    assert check(_game(is_timed=True)).verdict is Verdict.HOLDS


def test_loop_that_nothing_ends_is_a_dead_end() -> None:
    """Without the timer no goal can be reached."""
    assert check(_game(is_timed=False)).violations[0].property == "a goal can always be reached"


def test_timer_that_is_stopped_again_and_again_need_not_fire() -> None:
    """What is possible only now and then may be missed for ever: weak fairness asks no more."""
    (violation,) = check(Model(machines=(Clock(),), goal=lambda world: world.states[0] == "over")).violations
    assert violation.property == "every fair run makes progress or reaches a goal"
    assert violation.trace.drawn().split("\n") == [
        "   n0",
        "   from here on, again and again:",
        " 1 * timer tick",
        "   | reports 'tick'",
        " 2 * timer tick",
        "   | reports 'tick'",
    ]


def test_choices_may_be_hostile() -> None:
    """Two polite ones may choose to be polite for ever, unless choices are fair."""
    (violation,) = check(door(chooses=True)).violations
    assert violation.message == "this goes on for ever, fairly, and gets nowhere"
    assert violation.trace.drawn(width=60).split("\n") == [
        "   Ann                         Bob",
        "   from here on, again and again:",
        " 1 |----------After()--------->|",
        " 2 |                           ? chooses 0 of 2",
        " 3 |<---------After()----------|",
        " 4 ? chooses 0 of 2            |",
        "   under way from Ann to Bob: After() (4)",
    ]
    assert check(door(chooses=True, fair_choices=True)).verdict is Verdict.HOLDS


def test_fair_dice_show_a_six_at_last() -> None:
    """An option that is possible again and again is chosen some time, where choices are fair."""
    goal = lambda world: world.states[0] == 6 and not world.nodes[0].questions  # noqa: E731
    assert check(Model(machines=(Dice(6),), goal=goal)).verdict is Verdict.VIOLATED
    assert check(Model(machines=(Dice(6),), goal=goal, fair_choices=True)).verdict is Verdict.HOLDS
    assert check(Model(machines=(Dice(7),), goal=goal, fair_choices=True)).violations[0].message == (
        "whatever happens leads to no goal"
    )


def test_livelocks_are_sought_only_if_asked_for() -> None:
    """A model may do without: its goal must only stay reachable."""
    assert check(door(chooses=True, has_no_livelock=False)).verdict is Verdict.HOLDS


def test_loop_that_makes_progress_is_none() -> None:
    """A loop that changes the ghost is progress, unless the model measures progress otherwise."""
    ticking = {
        "machines": (Clock(),),
        "ghost": 0,
        "observe": lambda ghost, _node, _outcome: 1 - ghost,
        "goal": lambda world: world.states[0] == "over",
    }
    assert check(Model(**ticking)).verdict is Verdict.HOLDS
    assert check(Model(**ticking, progress=lambda _ghost: "none")).verdict is Verdict.VIOLATED


def test_crash_is_no_way_out() -> None:
    """A goal that only a crash leads to is out of reach."""
    model = Model(
        machines=(Player(0, is_timed=False), Player(1, is_timed=False)),
        crashes=Crashes(count=1),
        goal=lambda world: world.budget.crashes == 0,
    )
    assert check(model).violations[0].property == "a goal can always be reached"


def test_loss_is_no_way_out_either() -> None:
    """A goal that only a lost message leads to is out of reach."""
    stubborn = replace(query(network=Network(losses=1)), goal=lambda world: world.budget.losses == 0)
    assert check(stubborn).violations[0].property == "a goal can always be reached"


def test_node_that_is_down_is_started_at_last() -> None:
    """Waiting for ever with a node down is not fair."""
    assert check(promise(crashes=2)).verdict is Verdict.HOLDS


class Asker:
    """Asks again and again, by a timer; the message it sends in the beginning goes to a node of its choice."""

    def __init__(self, to: int) -> None:
        self._to = NodeId(to)

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin."""
        del saved, life
        return "asking", (Send(self._to, Ping()), Ask("what"))

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        match event:
            case TimerFired():
                return state, (Ask("what"),)
            case Received():
                return "told", (Report("told"),)
        return state, (SetTimer("again", 1),)


@pytest.mark.parametrize("asking", list(Asking))
@pytest.mark.parametrize("to", [0, 1])
def test_questions_do_not_keep_messages_for_ever(asking: Asking, to: int) -> None:
    """A message that could be delivered but for a question that is answered is delivered some time."""
    model = Model(
        machines=(Asker(to), Listener()),
        asking=asking,
        answers=lambda _world, _node, _question: ("that",),
        goal=lambda world: "told" in world.states,
    )
    assert check(model).verdict is Verdict.HOLDS


class Listener:
    """Waits until it is told."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[str]:
        """Begin."""
        del saved, life
        return "waiting", ()

    def step(self, state: str, event: Event) -> Step[str]:
        """Take one event."""
        del state, event
        return "told", (Report("told"),)


def test_question_without_answer_does_keep_messages() -> None:
    """What only a node could take that waits for an answer it never gets is not owed by anybody."""
    model = Model(
        machines=(Clock(), Asker(1)),
        answers=lambda world, _node, _question: ("that",) if world.states[0] == "over" else (),
        goal=lambda world: world.states[1] == "told",
    )
    assert check(model).violations[0].property == "every fair run makes progress or reaches a goal"
