"""A link around a machine: its lines, its limits, and what it says as bytes."""

from __future__ import annotations

from typing import Any

from solvent.protocols.link import Congested, Linked, LinkFault, LinkState
from solvent.protocols.link.desk import MAX_OWED, MAX_WAITING
from solvent.protocols.link.line import (
    MAX_PATIENCE,
    MAX_RESENT,
    MAX_WINDOW,
    Line,
    acknowledged,
    older,
)
from solvent.protocols.link.messages import Ack, Data
from solvent.protocols.link.state import ACK, MORE
from solvent.protocols.machine import (
    Answered,
    Ask,
    Effects,
    Event,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Send,
    SetTimer,
    TimerFired,
)
from solvent.protocols.maps import Map

A, B, C = NodeId(0), NodeId(1), NodeId(2)


class Scripted:
    """Remembers its events, and answers each with the effects that a script has for it."""

    def __init__(self, script: dict[Any, Effects] | None = None, first: Effects = ()) -> None:
        self.script = script or {}
        self.first = first

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[tuple[Any, ...], Effects]:
        """Begin with what was saved."""
        return (saved, life), self.first

    def step(self, state: tuple[Any, ...], event: Event) -> tuple[tuple[Any, ...], Effects]:
        """Look the event up."""
        match event:
            case Received(_, message):
                key = message
            case Requested(request):
                key = request
            case _:
                key = event
        return (*state, key), self.script.get(key, ())


def linked(script: dict[Any, Effects] | None = None, first: Effects = (), **options: Any) -> Linked[Any]:
    """Make node A of three, around a scripted machine."""
    return Linked(Scripted(script, first), me=A, peers=(A, B, C), **options)


def after(link: Linked[Any], *events: Event, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[LinkState, Effects]:
    """Start a link and let it take events; give the last step."""
    state, effects = link.start(saved, life)
    for event in events:
        state, effects = link.step(state, event)
    return state, effects


def test_many_messages_are_acknowledged_at_once() -> None:
    """The sender's window must not stand still because nothing goes back."""
    events = [Received(B, Data(0, 0, number, 0, "x")) for number in range(MAX_OWED)]
    assert after(linked(), *events)[1] == (Send(B, Ack(0, 0, MAX_OWED)),)


def test_a_message_too_far_ahead_is_dropped() -> None:
    """No more is kept than a peer may have under way."""
    state, effects = after(linked(), Received(B, Data(0, 0, MAX_WINDOW, 0, "x")))
    assert (state.lines.get(B, Line()).early, effects) == (Map(), ())


def test_the_window_holds_messages_back() -> None:
    """What does not fit the window goes out as the peer answers."""
    link = linked({"go": tuple(Send(B, number) for number in range(MAX_WINDOW + 2))})
    state, effects = after(link, Requested("go"))
    assert len(effects) == MAX_WINDOW + 1
    _, effects = link.step(state, Received(B, Ack(0, 0, 1)))
    assert effects == (Send(B, Data(0, 0, MAX_WINDOW, 0, MAX_WINDOW)),)


def test_a_machine_that_writes_to_itself_for_ever_lets_others_go_first() -> None:
    """A step ends; the rest goes on when a timer fires at once."""
    link = linked({"again": (Send(A, "again"),)})
    state, effects = after(link, Requested("again"))
    assert effects[-1] == SetTimer(MORE, 0)
    assert link.step(state, TimerFired(MORE))[1][-1] == SetTimer(MORE, 0)


def test_a_question_is_answered_before_the_next_message() -> None:
    """Messages that came early wait for the answer to a question that one before them raised."""
    link = linked({"m0": (Ask("q"),)})
    state, effects = after(link, Received(B, Data(0, 0, 1, 0, "m1")), Received(B, Data(0, 0, 0, 0, "m0")))
    assert state.inner[2:] == ("m0",)
    assert effects == (Ask("q"), SetTimer(ACK, 5), SetTimer(MORE, 0))
    state, _ = link.step(state, Answered("a"))
    assert state.inner[2:] == ("m0", Answered("a"), "m1")


def test_a_question_that_takes_long_holds_nothing_up() -> None:
    """If the host has other events before the answer, what waits goes on."""
    link = linked({"m0": (Ask("q"),)})
    frames = (Received(B, Data(0, 0, 1, 0, "m1")), Received(B, Data(0, 0, 0, 0, "m0")))
    state, _ = after(link, *frames, TimerFired(MORE), Answered("a"))
    assert state.inner[2:] == ("m0", "m1", Answered("a"))


# ------------------------------------------------------------------------------------------------------- faults


def test_nonsense_is_reported() -> None:
    """What no link says is dropped and reported."""
    said = {
        "without a frame": "bare",
        "it has taken 3 of 0": Ack(0, 0, 3),
        "was its journal lost?": Ack(0, 7, 0),
    }
    for reason, frame in said.items():
        state, effects = after(linked(), Received(B, frame))
        assert state.inner[2:] == ()
        (report,) = effects
        assert isinstance(report, Report)
        assert isinstance(report.outcome, LinkFault)
        assert reason in report.outcome.reason


def test_a_hosts_own_notice_is_ignored() -> None:
    """The link finds out about restarts by itself."""
    state, effects = after(linked(), PeerRestarted(B))
    assert (state.inner[2:], effects) == ((), ())


def test_congestion_is_reported() -> None:
    """A peer that takes nothing for too long is reported once."""
    full = Line(next=MAX_WAITING - 1, sent=MAX_WINDOW)
    link = linked({"go": (Send(B, "x"), Send(B, "y"))})
    state = LinkState(((), 0), lines=Map({B: full}), is_resending=True)
    _, effects = link.step(state, Requested("go"))
    assert effects == (Report(Congested(B, MAX_WAITING)),)


def test_patience_grows_up_to_a_limit() -> None:
    """Attempts are made after longer and longer pauses, but never given up."""
    line, pauses = Line(next=1, sent=1), []
    for _ in range(7):
        ticks, is_due = 0, False
        while not is_due:
            line, is_due = older(line)
            ticks += 1
        pauses.append(ticks - 1)
    assert pauses == [1, 2, 4, 8, MAX_PATIENCE, MAX_PATIENCE, MAX_PATIENCE]


def test_an_answer_restores_patience_and_widens_the_window() -> None:
    """When the peer takes something again, more may be under way and the next attempt comes soon."""
    line = Line(queue=Map({0: "a", 1: "b"}), next=2, sent=1, window=MAX_RESENT, age=3, patience=8)
    assert acknowledged(line, 1) == Line(
        queue=Map({1: "b"}), next=2, sent=1, acked=1, window=2 * MAX_RESENT, age=0, patience=1
    )
