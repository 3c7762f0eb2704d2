"""One process as a whole: how it begins, and that all it says comes through a wire."""

from __future__ import annotations

from random import Random

import msgspec
import pytest

from solvent.protocols.elmp import Elmp, ElmpConfig, seats
from solvent.protocols.elmp.messages import ElmpMessage, Seat
from solvent.protocols.elmp.state import Idle, Out, Place
from solvent.protocols.elmp.vocabulary import Data, Join, Leave, Release, Request, Withdraw
from solvent.protocols.machine import Answered, NodeId
from tests.unit.protocols.elmp.acting import A, B, C, Company, taken


def test_root_begins_with_the_token() -> None:
    """The token rests at the root, which keeps the data."""
    found = seats((A, B, C), 2)
    state, _ = Elmp(A, ElmpConfig(), seat=found[A], rank=1, data=Data(1, A)).start()
    assert (state.phase, state.places, state.keeps) == (Idle(), (Place(1, None, has_token=True, data=Data(1, A)),), 1)
    state, _ = Elmp(B, ElmpConfig(), seat=found[B], rank=2).start()
    assert (state.seat, state.places) == (Seat(A), ())


def test_process_without_a_seat_takes_no_part() -> None:
    """Whoever is not in the tree begins outside."""
    assert Elmp(A, ElmpConfig()).start()[0].phase == Out()


def test_seats_are_the_lowest_tree() -> None:
    """The first process is the root, and knows ranks and the end of the queue."""
    found = seats((A, B, C), 2)
    assert found[A] == Seat(None, ((B, 0, 1), (C, 0, 1)), (1, 3), (), 3, 1, (A, 1))


def test_other_events_change_nothing() -> None:
    """A process asks nothing, so answers mean nothing to it."""
    state = Elmp(A, ElmpConfig(), seat=seats((A, B), 2)[A], rank=1).start()[0]
    assert taken(A, state, Answered(None)) == (state, [])


@pytest.mark.parametrize("is_lazy", [False, True])
def test_all_messages_come_through_a_wire(*, is_lazy: bool) -> None:
    """Everything that processes say is the same after having been encoded and decoded."""
    company = Company(6, outside=6, config=ElmpConfig(is_lazy=is_lazy, slack=1.0))
    chance = Random(3)
    for _ in range(60):
        node = chance.randrange(12)
        wish = chance.choice((Request(), Request(), Leave(), Join(NodeId(chance.randrange(12))), Withdraw(), Release()))
        company.begin(node, wish)
    company.want(0, Release())
    assert len({type(message) for message in company.said}) >= 20
    decoder = msgspec.msgpack.Decoder(ElmpMessage)
    for message in company.said:
        assert decoder.decode(msgspec.msgpack.encode(message)) == message
