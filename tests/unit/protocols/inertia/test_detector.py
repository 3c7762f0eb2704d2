"""The detection of inertia where there is one node."""

from __future__ import annotations

from solvent.protocols.inertia.detector import ROUND, detector_node
from solvent.protocols.inertia.messages import Inert, Passive, Sent, Settled
from solvent.protocols.machine import Effects, Event, NodeId, Report, Requested, SetTimer, TimerFired

PASSIVE, SENT, PAUSED = Requested(Passive()), Requested(Sent()), TimerFired(ROUND)


def _after(*events: Event) -> Effects:
    alone = detector_node(NodeId(0), (NodeId(0),), pause=5)
    state, effects = alone.start()
    for event in events:
        state, effects = alone.step(state, event)
    return effects


def test_a_node_alone_is_inert_when_it_is_passive() -> None:
    """It needs no probe; if it sends messages to itself, a second round."""
    assert _after(PASSIVE, PAUSED) == (Report(Inert((0, 0, 1))), Report(Settled((0, 0, 1))))
    assert _after(SENT, PASSIVE, PAUSED) == (SetTimer(ROUND, 5),)
    assert _after(SENT, PASSIVE, PAUSED, PAUSED) == (Report(Inert((0, 0, 2))), Report(Settled((0, 0, 2))))
