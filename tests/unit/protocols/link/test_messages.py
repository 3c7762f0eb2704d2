"""What links say to each other, as bytes."""

from __future__ import annotations

import msgspec

from solvent.protocols.link.messages import Ack, Announce, Data, Loose, PeerLife, record_type, wire_type
from solvent.protocols.machine import NodeId
from solvent_lab.models.talker import Heard, TalkMessage, Whisper, Word


def test_frames_come_back_with_the_messages_in_them() -> None:
    """Whatever links say decodes to the same values, the message inside included."""
    said = [Data(1, 0, 5, 7, Word(1, 0, 5)), Ack(0, 1, 6), Announce(1, 0), Loose(1, 0, Whisper(1))]
    decode = msgspec.msgpack.Decoder(list[wire_type(TalkMessage)]).decode
    assert decode(msgspec.msgpack.encode(said)) == said


def test_records_come_back() -> None:
    """What a link saves and what the machine inside saves can be told apart."""
    saved = [PeerLife(NodeId(1), 2), Heard(NodeId(1), Word(2, 0, 0), 0)]
    decode = msgspec.msgpack.Decoder(list[record_type(Heard)]).decode
    assert decode(msgspec.msgpack.encode(saved)) == saved
