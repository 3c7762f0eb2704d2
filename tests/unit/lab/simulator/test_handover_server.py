"""Handover with a server: clients and server step by step."""

from __future__ import annotations

from solvent.protocols.elmp.vocabulary import (
    Dropped,
    Join,
    Joined,
    Leave,
    Left,
    Request,
    Withdraw,
)
from solvent.protocols.machine import NodeId, Received, Report, Requested, Send
from solvent_lab.simulator.handover_server import Ask, Back, Client, Drop, Give, Server

A, B, SERVER = NodeId(0), NodeId(1), NodeId(2)
CLIENT = Client(A, SERVER)


def test_a_dropped_claim_is_passed_over() -> None:
    """Who has dropped its claim is not served; a word of what it does not hold is ignored."""
    server = Server()
    state, _ = server.start()
    for event in (Received(A, Ask(1)), Received(B, Ask(1)), Received(B, Drop(1)), Received(B, Back(1))):
        state, said = server.step(state, event)
    assert said == ()
    state, said = server.step(state, Received(A, Back(1)))
    assert (said, state.holder) == ((), None)


def test_a_second_claim_drops_the_first_and_sends_back_what_comes_for_it() -> None:
    """A grant that was under way when its claim was dropped goes back at once."""
    state, _ = CLIENT.start()
    state, _ = CLIENT.step(state, Requested(Request()))
    state, said = CLIENT.step(state, Requested(Request()))
    assert said == (Send(SERVER, Drop(1)), Report(Dropped(0)), Send(SERVER, Ask(2)))
    same, said = CLIENT.step(state, Received(SERVER, Give(1, 1, 0)))
    assert (same, said) == (state, (Send(SERVER, Back(1)),))


def test_who_leaves_gives_up_what_it_has() -> None:
    """A claim that waits is dropped, one that holds is given back; coming back costs nothing."""
    state, _ = CLIENT.start()
    assert CLIENT.step(state, Requested(Leave())) == (state, (Report(Left()),))
    assert CLIENT.step(state, Requested(Join(B))) == (state, (Report(Joined(0)),))
    state, _ = CLIENT.step(state, Requested(Request()))
    assert CLIENT.step(state, Requested(Leave()))[1] == (Send(SERVER, Drop(1)), Report(Left()))
    assert CLIENT.step(state, Requested(Withdraw()))[1] == (Send(SERVER, Drop(1)), Report(Dropped(0)))
    state, _ = CLIENT.step(state, Received(SERVER, Give(1, 1, 0)))
    assert CLIENT.step(state, Requested(Leave()))[1] == (Send(SERVER, Back(1)), Report(Left()))
