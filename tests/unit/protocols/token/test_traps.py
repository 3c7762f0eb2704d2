"""Traps at a node, and the queue that goes with the token."""

from __future__ import annotations

from immutables import Map

from solvent.protocols.machine import NodeId
from solvent.protocols.token.messages import Token
from solvent.protocols.token.state import Trap
from solvent.protocols.token.traps import handed_on, unserved, with_met, with_trap, without_served

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)
TRAPS = (Trap(ONE, 4, TWO), Trap(TWO, 1, TWO))


def test_traps_are_a_queue() -> None:
    """A new one goes to the end; a newer request of the same node too, an older or the same one changes nothing."""
    assert with_trap(TRAPS, Trap(THREE, 1, ONE)) == (*TRAPS, Trap(THREE, 1, ONE))
    assert with_trap(TRAPS, Trap(ONE, 5, ONE)) == (TRAPS[1], Trap(ONE, 5, ONE))
    assert with_trap(TRAPS, Trap(ONE, 4, THREE)) == TRAPS
    assert with_trap(TRAPS, Trap(ONE, 3, THREE)) == TRAPS


def test_served_traps_are_dropped() -> None:
    """The token knows the last request of each node that it has served."""
    assert unserved(TRAPS, Token(3, served=Map({ONE: 4}))) == TRAPS[1:]
    assert unserved(TRAPS, Token(3, served=Map({ONE: 3}))) == TRAPS


def test_the_token_takes_each_trap_once() -> None:
    """What it has already in its queue keeps its place."""
    token = with_met(Token(3, queue=((TWO, 1),)), TRAPS)
    assert token.queue == ((TWO, 1), (ONE, 4))


def test_the_head_of_the_queue_is_not_served_yet() -> None:
    """Those served meanwhile go; the next one gets the token, which may be lent to one less after that."""
    token = Token(3, queue=((TWO, 1), (ONE, 4), (THREE, 2)), row=2, served=Map({TWO: 1, THREE: 2}))
    waiting = without_served(token)
    assert waiting.queue == ((ONE, 4), (THREE, 2))
    to, lent = handed_on(waiting)
    assert (to, lent.borrower, lent.queue, lent.row) == (ONE, ONE, ((THREE, 2),), 1)
    assert without_served(lent).queue == ()
