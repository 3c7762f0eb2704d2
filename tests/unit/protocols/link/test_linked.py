"""A link around a machine, step by step."""

from __future__ import annotations

from typing import Any

from immutables import Map

from solvent.protocols.link import AllTaken, Cheap, Congested, Linked, LinkFault, LinkState
from solvent.protocols.link.desk import MAX_OWED, MAX_WAITING
from solvent.protocols.link.line import MAX_WINDOW, Line
from solvent.protocols.link.messages import Ack, Announce, Data, Loose, PeerLife
from solvent.protocols.link.state import ACK, MORE, RESEND
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
    Save,
    Send,
    SetTimer,
    TimerFired,
)

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


def test_messages_are_numbered() -> None:
    """Messages to a peer are numbered, and a timer watches over them."""
    link = linked({"go": (Send(B, "x"), Send(B, "y"), Send(C, "z"))})
    state, effects = after(link, Requested("go"))
    assert effects == (
        Send(B, Data(0, 0, 0, 0, "x")),
        Send(B, Data(0, 0, 1, 0, "y")),
        Send(C, Data(0, 0, 0, 0, "z")),
        SetTimer(RESEND, 200),
    )
    assert state.unacknowledged == 3


def test_a_message_is_taken_and_acknowledged_later() -> None:
    """An acknowledgement that nothing carries waits for a timer, with those of other messages."""
    link = linked()
    state, effects = after(link, Received(B, Data(0, 0, 0, 0, "x")))
    assert (state.inner[2:], effects) == (("x",), (SetTimer(ACK, 5),))
    state, effects = link.step(state, Received(B, Data(0, 0, 1, 0, "y")))
    assert effects == ()
    _, effects = link.step(state, TimerFired(ACK))
    assert effects == (Send(B, Ack(0, 0, 2)),)


def test_a_reply_carries_the_acknowledgement() -> None:
    """A message to the peer acknowledges what was taken, and the timer finds nothing to do."""
    link = linked({"x": (Send(B, "reply"),)})
    state, effects = after(link, Received(B, Data(0, 0, 0, 0, "x")))
    assert effects[0] == Send(B, Data(0, 0, 0, 1, "reply"))
    assert link.step(state, TimerFired(ACK))[1] == ()


def test_a_reply_before_the_save_does_not_acknowledge() -> None:
    """What is sent before a record is safe must not say that the message was taken."""
    link = linked({"x": (Send(B, "early"), Save("record"), Send(B, "late"))})
    _, effects = after(link, Received(B, Data(0, 0, 0, 0, "x")))
    assert effects[:3] == (Send(B, Data(0, 0, 0, 0, "early")), Save("record"), Send(B, Data(0, 0, 1, 1, "late")))


def test_many_messages_are_acknowledged_at_once() -> None:
    """The sender's window must not stand still because nothing goes back."""
    events = [Received(B, Data(0, 0, number, 0, "x")) for number in range(MAX_OWED)]
    assert after(linked(), *events)[1] == (Send(B, Ack(0, 0, MAX_OWED)),)


def test_acknowledgements_may_be_sent_at_once() -> None:
    """Without a time to wait, the step itself acknowledges."""
    assert after(linked(ack_after=0), Received(B, Data(0, 0, 0, 0, "x")))[1] == (Send(B, Ack(0, 0, 1)),)


def test_a_doubled_message_is_taken_once() -> None:
    """A message that arrives again is dropped, and acknowledged again: the first may have been lost."""
    frame = Received(B, Data(0, 0, 0, 0, "x"))
    state, effects = after(linked(ack_after=0), frame, frame)
    assert (state.inner[2:], effects) == (("x",), (Send(B, Ack(0, 0, 1)),))


def test_messages_are_put_in_order() -> None:
    """A message that overtook others waits for them."""
    frames = [Received(B, Data(0, 0, number, 0, f"m{number}")) for number in (2, 1, 1, 0)]
    state, _ = after(linked(), *frames[:3])
    assert state.inner[2:] == ()
    state, _ = after(linked(), *frames)
    assert state.inner[2:] == ("m0", "m1", "m2")
    assert state.lines[B] == Line(taken=3, owed=4, is_listed=True)


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


def test_what_is_not_taken_is_sent_again() -> None:
    """A message without an answer is sent again with the latest acknowledgement, and the timer runs on."""
    link = linked({"go": (Send(B, "x"),)})
    state, _ = after(link, Requested("go"), TimerFired(RESEND), Received(B, Data(0, 0, 0, 0, "y")))
    _, effects = link.step(state, TimerFired(RESEND))
    assert effects == (Send(B, Data(0, 0, 0, 1, "x")), SetTimer(RESEND, 200))


def test_the_timer_stops_when_all_is_taken() -> None:
    """With nothing under way no timer runs."""
    link = linked({"go": (Send(B, "x"),)})
    state, effects = after(link, Requested("go"), Received(B, Ack(0, 0, 1)), TimerFired(RESEND))
    assert (state.unacknowledged, state.is_resending, effects) == (0, False, ())


def test_the_machine_hears_that_all_was_taken() -> None:
    """When the last message was taken the machine inside is told, once."""
    link = linked({"go": (Send(B, "x"), Send(C, "y"))}, tells_all_taken=True)
    state, _ = after(link, Requested("go"), Received(B, Ack(0, 0, 1)))
    assert AllTaken() not in state.inner
    state, _ = link.step(state, Received(C, Ack(0, 0, 1)))
    state, _ = link.step(state, Received(C, Ack(0, 0, 1)))
    assert state.inner.count(AllTaken()) == 1


def test_a_reply_keeps_all_from_being_taken() -> None:
    """A frame that takes the last message and brings one that is answered does not leave nothing under way."""
    link = linked({"go": (Send(B, "x"),), "y": (Send(B, "z"),)}, tells_all_taken=True)
    state, _ = after(link, Requested("go"), Received(B, Data(0, 0, 0, 1, "y")))
    assert (AllTaken() in state.inner, state.unacknowledged) == (False, 1)


def test_messages_to_oneself_stay_inside() -> None:
    """A node's messages to itself are taken in the same step, in order."""
    link = linked({"go": (Send(A, "x"), Send(A, Cheap("y"))), "x": (Save("record"),)}, tells_all_taken=True)
    state, effects = after(link, Requested("go"))
    assert (state.inner[2:], effects) == (("go", "x", "y", AllTaken()), (Save("record"),))
    assert state.unacknowledged == 0


def test_a_machine_that_writes_to_itself_for_ever_lets_others_go_first() -> None:
    """A step ends; the rest goes on when a timer fires at once."""
    link = linked({"again": (Send(A, "again"),)})
    state, effects = after(link, Requested("again"))
    assert effects[-1] == SetTimer(MORE, 0)
    assert link.step(state, TimerFired(MORE))[1][-1] == SetTimer(MORE, 0)


def test_cheap_messages_are_not_counted() -> None:
    """A cheap message is neither numbered nor watched over, and arrives as any other."""
    link = linked({"go": (Send(B, Cheap("x")),)})
    state, effects = after(link, Requested("go"))
    assert (effects, state.unacknowledged) == ((Send(B, Loose(0, 0, "x")),), 0)
    state, effects = link.step(state, Received(B, Loose(0, 0, "y"), at=7))
    assert (state.inner[-1], effects) == ("y", ())


def test_other_events_and_effects_pass() -> None:
    """Timers, questions and reports are between the machine inside and the host."""
    link = linked({TimerFired("mine"): (Report("r"), Ask("q"))})
    assert after(link, TimerFired("mine"))[1] == (Report("r"), Ask("q"))


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


# ------------------------------------------------------------------------------------------------------- lives


def test_a_restart_is_told_before_anything_of_the_new_life() -> None:
    """A frame of a later life saves that life, tells the machine, and only then is taken."""
    link = linked({"go": (Send(B, "x"),)}, ack_after=0, tells_all_taken=True)
    state, effects = after(link, Requested("go"), Received(B, Data(1, 0, 0, 0, "y")))
    assert state.inner[2:] == ("go", PeerRestarted(B), "y", AllTaken())
    assert effects == (Save(PeerLife(B, 1)), Send(B, Ack(0, 1, 1)))
    assert state.unacknowledged == 0


def test_what_the_machine_says_again_goes_to_the_new_life() -> None:
    """After a restart numbers begin at zero, for the new life."""
    link = linked({"go": (Send(B, "x"),), PeerRestarted(B): (Send(B, "x again"),)})
    _, effects = after(link, Requested("go"), Received(B, Announce(1, 0)))
    assert effects[:2] == (Save(PeerLife(B, 1)), Send(B, Data(0, 1, 0, 0, "x again")))


def test_frames_of_a_former_life_are_dropped() -> None:
    """Once a later life is known, nothing of the former is taken, cheap or not."""
    late = (Received(B, Data(0, 0, 0, 0, "x")), Received(B, Loose(0, 0, "y")), Received(B, Ack(0, 0, 0)))
    state, effects = after(linked(), Received(B, Announce(1, 0)), *late)
    assert (state.inner[2:], effects) == ((PeerRestarted(B),), ())


def test_frames_for_a_former_life_are_answered_with_this_one() -> None:
    """Who writes to a life that is over hears of the present one, and nothing is taken."""
    state, effects = after(linked(ack_after=0), Received(B, Data(0, 0, 0, 0, "x")), life=1)
    assert (state.inner[2:], effects) == ((), (Send(B, Ack(1, 0, 0)),))


def test_a_new_life_is_announced_until_it_is_known() -> None:
    """A restarted node tells every peer, and those again that have not shown that they know."""
    link = linked(first=(Send(C, "hello"),))
    state, effects = link.start((), 1)
    assert effects == (Send(C, Data(1, 0, 0, 0, "hello")), Send(B, Announce(1, 0)), SetTimer(RESEND, 200))
    for event in (Received(C, Ack(0, 1, 1)), TimerFired(RESEND)):
        state, _ = link.step(state, event)
    state, effects = link.step(state, TimerFired(RESEND))
    assert effects == (Send(B, Announce(1, 0)), SetTimer(RESEND, 200))
    state, _ = link.step(state, Received(B, Ack(0, 1, 0)))
    assert link.step(state, TimerFired(RESEND))[1] == ()


def test_an_announcement_is_answered_each_time() -> None:
    """The answer to the first one may have been lost."""
    for times in (1, 2, 3):
        _, effects = after(linked(ack_after=0), *[Received(B, Announce(1, 0))] * times)
        assert effects[-1] == Send(B, Ack(0, 1, 0))


def test_lives_of_peers_survive_a_restart() -> None:
    """A node that comes back writes to the lives it knew, and the machine inside gets its own records only."""
    link = linked(first=(Send(B, "x"),))
    state, effects = link.start((PeerLife(B, 1), "record", PeerLife(B, 2)), 1)
    assert effects[0] == Send(B, Data(1, 2, 0, 0, "x"))
    assert state.inner == (("record",), 1)


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
