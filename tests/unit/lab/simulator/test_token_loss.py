"""A network that loses messages, but never the token."""

from __future__ import annotations

from random import Random

from solvent.protocols.machine import NodeId, Report, Send, SetTimer
from solvent.protocols.token.messages import Probe, Token
from solvent_lab.simulator.token_loss import Loss

ONE = NodeId(1)
KEPT = (Send(ONE, Token(3)), Report("told"), SetTimer("rest", 3))


def test_only_what_is_cheap_gets_lost() -> None:
    """The token, timers and reports are never lost, and all else always if all is."""
    loss = Loss(1.0, Random(1))
    assert loss.rest_of((*KEPT, Send(ONE, Probe(ONE, 2)))) == KEPT
    assert loss.lost == 1


def test_a_part_gets_lost() -> None:
    """Of many messages about as many are lost as is said."""
    loss = Loss(0.25, Random(1))
    kept = loss.rest_of((Send(ONE, Probe(ONE, 2)),) * 2_000)
    assert 1_400 < len(kept) < 1_600
    assert loss.lost == 2_000 - len(kept)
