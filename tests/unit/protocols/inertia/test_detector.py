"""One node's part in the detection of inertia, event by event."""

from __future__ import annotations

from typing import Any

from solvent.protocols.inertia.detector import ROUND, Detector, DetectorState, Lead
from solvent.protocols.inertia.messages import (
    Awake,
    Inert,
    Passive,
    Roused,
    Sent,
    Settled,
)
from solvent.protocols.machine import (
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


def test_a_roused_node_tells_the_initiator() -> None:
    """It is black then, for it has sent a counted message; the initiator itself just begins a new epoch."""
    state, effects = after(middle, Passive(), Roused())
    assert effects == (Send(A, Awake()),)
    assert (state.is_active, state.since) == (True, None)
    state, effects = after(initiator, Passive(), Roused())
    assert effects == (SetTimer(ROUND, 5),)
    assert state.lead == Lead(epoch=1)


def test_a_node_alone_is_inert_when_it_is_passive() -> None:
    """It needs no probe; if it sends messages to itself, a second round."""
    alone = Detector(A, (A,), pause=5)
    assert after(alone, Passive(), ROUND)[1] == (Report(Inert(FIRST)), Report(Settled(FIRST)))
    assert after(alone, Sent(), Passive(), ROUND)[1] == (SetTimer(ROUND, 5),)
    assert after(alone, Sent(), Passive(), ROUND, ROUND)[1] == (Report(Inert(SECOND)), Report(Settled(SECOND)))
