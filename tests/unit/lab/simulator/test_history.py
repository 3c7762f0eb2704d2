"""What is written down of a run."""

from __future__ import annotations

import re

from solvent.protocols.machine import Chosen, NodeId, PeerRestarted, Received, Report, TimerFired
from solvent_lab.simulator.history import Crashed, Healed, History, Lost, Parted, Restarted

A, C = NodeId(0), NodeId(7)


def test_a_history_is_drawn() -> None:
    """Messages are arrows between the nodes that took part; crashes, timers and reports stand at their node."""
    history = History()
    history.add(1, 1.0, A, TimerFired("retry", 1))
    history.add(1, 1.0, A, Chosen(2))
    history.add(2, 2.0, C, Received(A, "hello"), 1)
    history.add(2, 2.0, C, Report("glad"))
    history.add(3, 3.0, A, Crashed())
    history.add(3, 3.0, A, Lost(C, "answer"), 2)
    history.add(4, 4.0, None, Parted((A,)))
    history.add(5, 5.0, A, Restarted(1))
    history.add(6, 6.0, None, Healed())
    history.add(7, 7.0, C, PeerRestarted(A))
    # How long arrows are is the diagram's business.
    drawn = [re.sub(r"[-\s]+", " ", line).strip() for line in history.draw(width=80).splitlines()]
    assert drawn == [
        "n0 n7",
        "1 * timer retry at 1 ms |",
        "| Chosen(option=2) |",
        "2 | 'hello' >|",
        "| | reports 'glad'",
        "3 X crashes |",
        "x 'answer' (2) |",
        "4.000 ms: the network parts: n0 on one side",
        "5 * restarts, life 1 |",
        "6.000 ms: the network is whole again",
        "7 | * hears that n0 has restarted",
    ]
