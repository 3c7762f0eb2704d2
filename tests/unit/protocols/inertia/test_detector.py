"""One node's part in the detection of inertia, event by event."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from solvent.protocols.inertia.detector import ROUND, Detector, DetectorState, Lead
from solvent.protocols.inertia.messages import (
    NEVER,
    Active,
    Announce,
    Awake,
    Confirm,
    Inert,
    Passive,
    Probe,
    Resumed,
    Roused,
    Sent,
    Settled,
)
from solvent.protocols.machine import (
    CancelTimer,
    Effects,
    NodeId,
    Received,
    Report,
    Requested,
    Send,
    SetTimer,
    TimerFired,
)

NODES = (NodeId(0), NodeId(1), NodeId(2))
A, B, C = NODES
FIRST, SECOND = (0, 0, 1), (0, 0, 2)
LATER = (0, 1, 1)

initiator, middle, last = (Detector(node, NODES, pause=5, patience=50) for node in NODES)


def after(detector: Detector, *events: Any, life: int = 0) -> tuple[DetectorState, Effects]:
    """Give a node these requests, messages (with their sender) and timers, in order; and the effects of the last."""
    state, effects = detector.start(life=life)
    for event in events:
        match event:
            case str():
                state, effects = detector.step(state, TimerFired(event))
            case (sender, message):
                state, effects = detector.step(state, Received(sender, message))
            case _:
                state, effects = detector.step(state, Requested(event))
    return state, effects


def test_nodes_begin_active_and_the_initiator_with_a_timer() -> None:
    """A node is active until it is told otherwise, and only the lowest begins rounds."""
    state = DetectorState(0, is_active=True, since=NEVER)
    assert initiator.start() == (replace(state, lead=Lead()), (SetTimer(ROUND, 5),))
    assert middle.start() == (state, ())


def test_a_restarted_node_is_black_and_tells_everybody() -> None:
    """What a former life sent may still be under way, so nobody may miss that there is a new one."""
    state, effects = middle.start(life=2)
    assert state.since is None
    assert effects == (Send(A, Awake()), Send(C, Awake()))


def test_a_passive_initiator_begins_a_round_when_its_timer_fires() -> None:
    """The probe goes to the next node and relies on no earlier round."""
    _, effects = after(initiator, Passive(), ROUND)
    assert effects == (Send(B, Probe(FIRST, NEVER, is_black=False)), SetTimer(ROUND, 50))


def test_an_active_initiator_begins_its_round_once_it_is_passive() -> None:
    """The timer that fired meanwhile is not forgotten."""
    assert after(initiator, ROUND)[1] == ()
    _, effects = after(initiator, ROUND, Passive())
    assert effects == (Send(B, Probe(FIRST, NEVER, is_black=False)), SetTimer(ROUND, 50))


def test_an_active_node_holds_the_probe_until_it_is_passive() -> None:
    """A node that has never sent anything then passes it on as it came."""
    probe = Probe(FIRST, NEVER, is_black=False)
    assert after(middle, (A, probe))[1] == ()
    assert after(middle, (A, probe), Passive())[1] == (Send(C, probe),)


def test_a_node_that_has_sent_blackens_the_probe() -> None:
    """It does so once, and is white for a round that relies on the one it passed."""
    events = (Passive(), Sent(), (A, Probe(FIRST, NEVER, is_black=False)))
    assert after(middle, *events)[1] == (Send(C, Probe(FIRST, NEVER, is_black=True)),)
    probe = Probe(SECOND, FIRST, is_black=False)
    assert after(middle, *events, (A, probe))[1] == (Send(C, probe),)


def test_a_round_that_was_not_over_does_not_whiten() -> None:
    """A node that sent is black for a round that began before the one it passed was complete."""
    events = (Passive(), Sent(), (A, Probe(FIRST, NEVER, is_black=False)))
    overlapping = Probe(SECOND, NEVER, is_black=False)
    assert after(middle, *events, (A, overlapping))[1] == (Send(C, replace(overlapping, is_black=True)),)


def test_a_doubled_probe_is_dropped() -> None:
    """A round is passed on once."""
    probe = Probe(FIRST, NEVER, is_black=False)
    assert after(middle, Passive(), (A, probe), (A, probe))[1] == ()
    assert after(middle, (A, probe), (A, probe), Passive())[1] == (Send(C, probe),)


def test_the_later_of_two_probes_is_held() -> None:
    """An overdue round is replaced by the one that was begun in its stead."""
    later = Probe(SECOND, NEVER, is_black=False)
    events = ((A, later), (A, Probe(FIRST, NEVER, is_black=False)), Passive())
    assert after(middle, *events)[1] == (Send(C, later),)


def test_a_white_round_is_announced_to_all() -> None:
    """The initiator repeats it until all have confirmed."""
    white = (Passive(), ROUND, (C, Probe(FIRST, NEVER, is_black=False)))
    announced = (Send(B, Announce(FIRST)), Send(C, Announce(FIRST)), SetTimer(ROUND, 50))
    assert after(initiator, *white)[1] == (Report(Inert(FIRST)), *announced)
    assert after(initiator, *white, ROUND)[1] == announced
    assert after(initiator, *white, (B, Confirm(FIRST)), ROUND)[1] == announced[1:]
    settled = (CancelTimer(ROUND), Report(Settled(FIRST)))
    assert after(initiator, *white, (B, Confirm(FIRST)), (C, Confirm(FIRST)))[1] == settled
    assert after(initiator, *white, (B, Confirm(FIRST)), (B, Confirm(FIRST)))[1] == ()


def test_a_black_round_is_followed_by_another() -> None:
    """The next round relies on the one that came back, whatever its colour."""
    events = (Passive(), ROUND, (C, Probe(FIRST, NEVER, is_black=True)))
    assert after(initiator, *events)[1] == (SetTimer(ROUND, 5),)
    _, effects = after(initiator, *events, ROUND)
    assert effects == (Send(B, Probe(SECOND, FIRST, is_black=False)), SetTimer(ROUND, 50))


def test_an_initiator_that_has_sent_makes_its_own_round_void() -> None:
    """A white probe does not suffice: the initiator must be white too."""
    _, effects = after(initiator, Passive(), ROUND, Sent(), (C, Probe(FIRST, NEVER, is_black=False)))
    assert effects == (SetTimer(ROUND, 5),)


def test_an_overdue_round_that_comes_back_counts_all_the_same() -> None:
    """A slow ring is no reason to begin rounds for ever."""
    _, effects = after(initiator, Passive(), ROUND, ROUND, (C, Probe(FIRST, NEVER, is_black=False)))
    assert effects[0] == Report(Inert(FIRST))


def test_news_from_outside_ends_the_epoch() -> None:
    """Rounds under way are void, and an announcement is taken back."""
    probe = (C, Probe(FIRST, NEVER, is_black=False))
    assert after(initiator, Passive(), ROUND, (B, Awake()), probe)[1] == ()
    _, effects = after(initiator, Passive(), ROUND, probe, (B, Awake()))
    assert effects == (Report(Resumed(FIRST)), SetTimer(ROUND, 5))
    _, effects = after(initiator, Passive(), ROUND, probe, (B, Awake()), ROUND)
    assert effects == (Send(B, Probe(LATER, NEVER, is_black=False)), SetTimer(ROUND, 50))


def test_a_roused_node_tells_the_initiator() -> None:
    """It is black then, for it has sent a counted message; the initiator itself just begins a new epoch."""
    state, effects = after(middle, Passive(), Roused())
    assert effects == (Send(A, Awake()),)
    assert (state.is_active, state.since) == (True, None)
    state, effects = after(initiator, Passive(), Roused())
    assert effects == (SetTimer(ROUND, 5),)
    assert state.lead == Lead(epoch=1)


def test_a_message_that_wakes_the_initiator_takes_the_announcement_back() -> None:
    """Its sender was active, so the announcement holds no longer."""
    state, effects = after(initiator, Passive(), ROUND, (C, Probe(FIRST, NEVER, is_black=False)), Active())
    assert effects == (Report(Resumed(FIRST)), SetTimer(ROUND, 5))
    assert (state.is_active, state.inert, state.lead) == (True, None, Lead(epoch=1))


def test_an_announcement_is_reported_once_and_confirmed_each_time() -> None:
    """A confirmation may be lost."""
    passed = (Passive(), (A, Probe(FIRST, NEVER, is_black=False)))
    announced = (A, Announce(FIRST))
    assert after(middle, *passed, announced)[1] == (Report(Inert(FIRST)), Send(A, Confirm(FIRST)))
    assert after(middle, *passed, announced, announced)[1] == (Send(A, Confirm(FIRST)),)


def test_an_announcement_that_does_not_cover_what_happened_here_is_ignored() -> None:
    """Neither one from before the user came, nor one of an earlier epoch, nor one heard while active."""
    passed = (Passive(), (A, Probe(FIRST, NEVER, is_black=False)))
    announced = (A, Announce(FIRST))
    assert after(middle, *passed, Roused(), Passive(), announced)[1] == ()
    assert after(middle, *passed, (A, Probe(LATER, NEVER, is_black=False)), announced)[1] == ()
    assert after(middle, *passed, Active(), announced)[1] == ()
    assert after(middle, Passive(), announced, life=1)[1] == ()


def test_a_node_learns_from_a_later_epoch_that_inertia_ended() -> None:
    """The probe of the new epoch says so."""
    events = (Passive(), (A, Probe(FIRST, NEVER, is_black=False)), (A, Announce(FIRST)))
    probe = Probe(LATER, NEVER, is_black=False)
    assert after(middle, *events, (A, probe))[1] == (Report(Resumed(FIRST)), Send(C, probe))
    assert after(middle, *events, Active())[1] == (Report(Resumed(FIRST)),)


def test_the_last_node_passes_the_probe_back_to_the_initiator() -> None:
    """The nodes form a ring in the order of their numbers."""
    probe = Probe(FIRST, NEVER, is_black=False)
    assert after(last, Passive(), (B, probe))[1] == (Send(A, probe),)


def test_a_node_alone_is_inert_when_it_is_passive() -> None:
    """It needs no probe; if it sends messages to itself, a second round."""
    alone = Detector(A, (A,), pause=5)
    assert after(alone, Passive(), ROUND)[1] == (Report(Inert(FIRST)), Report(Settled(FIRST)))
    assert after(alone, Sent(), Passive(), ROUND)[1] == (SetTimer(ROUND, 5),)
    assert after(alone, Sent(), Passive(), ROUND, ROUND)[1] == (Report(Inert(SECOND)), Report(Settled(SECOND)))


def test_a_restarted_initiator_begins_with_greater_rounds() -> None:
    """Probes and announcements of its former life mean nothing to it."""
    events = (Passive(), ROUND)
    assert after(initiator, *events, life=1)[1][0] == Send(B, Probe((1, 0, 1), NEVER, is_black=False))
    assert after(initiator, *events, (C, Probe(FIRST, NEVER, is_black=False)), life=1)[1] == ()
    assert after(initiator, *events, (C, Confirm(FIRST)), life=1)[1] == ()
