"""Offers as text, and all that nodes say as bytes."""

from __future__ import annotations

import msgspec
import pytest

from solvent.protocols.capture.moving_state import Given, MovingMessage, Take
from solvent.protocols.capture.vocabulary import AttemptId, MoleculeId
from solvent.protocols.directory import Find, Publish, Watch, bounds
from solvent.protocols.directory.messages import Changes, Matches, Unwatch
from solvent.protocols.inertia.messages import NEVER, Announce, Awake, Confirm, Probe
from solvent.protocols.link import wire_type
from solvent.protocols.link.messages import Data
from solvent.protocols.machine import Message, NodeId
from solvent.protocols.nodes import Offer, message_type, offered, packed, unpacked
from solvent.protocols.nodes.offers import listing

OFFERS = [
    Offer("5", "int", 5),
    Offer("x", "int", 10**5000),
    Offer("\ud800", "text", "\ud800"),
    Offer(7, "pair", (1, ("a", float("inf")))),
    Offer("alone"),
]


@pytest.mark.parametrize("offer", OFFERS, ids=range(len(OFFERS)))
def test_an_offer_survives_being_packed(offer: Offer) -> None:
    """Whatever its key, also such as no codec would carry."""
    text = packed(offer)
    assert unpacked(text) == offer
    assert text.isascii()
    entry = listing(MoleculeId(1), NodeId(0), text)
    assert entry is None if offer.shape is None else entry is not None and offered(entry) == offer


ENTRY = listing(MoleculeId(1), NodeId(0), packed(OFFERS[1]))
assert ENTRY is not None
MESSAGES: list[Message] = [
    Take(AttemptId(1), (MoleculeId(2),), (packed(OFFERS[0]),), 3),
    Given(AttemptId(1), 4, ((MoleculeId(2), packed(OFFERS[0])),)),
    Publish((ENTRY,), (MoleculeId(2),)),
    Find(1, "int", bounds(10**5000, is_lower_open=True), 2, (MoleculeId(3),)),
    Watch(1, "int", bounds(upper=(1, "a"))),
    Unwatch(1),
    Matches(1, (ENTRY,)),
    Changes(1, (ENTRY,), (ENTRY.place,)),
    Probe((1, 2, 3), NEVER, is_black=True),
    Announce((1, 2, 3)),
    Confirm((1, 2, 3)),
    Awake(),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
def test_messages_come_out_of_the_codec_as_they_went_in(message: Message) -> None:
    """Every message of a node, in a frame of the link."""
    wire = wire_type(message_type(MovingMessage))
    frame = Data(0, 0, 1, 2, message)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(frame), type=wire) == frame
