"""The kit that all protocols are written with: values, messages, events and effects."""

from __future__ import annotations

import gc
from typing import Any, get_args

import msgspec
import pytest

from solvent.protocols import machine
from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Message,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)


class Ping(Message, frozen=True, gc=False):
    """A message for these tests."""

    number: int = 0


class Pong(Message, frozen=True, gc=False):
    """Its answer, with the same fields."""

    number: int = 0


EVENTS = (Received(1, Ping()), TimerFired("alarm"), Requested("wish"), Chosen(2), Answered("yes"), PeerRestarted(1))
EFFECTS = (
    Send(1, Ping()),
    SetTimer("alarm", 3),
    CancelTimer("alarm"),
    Save("record"),
    Choose(3),
    Ask("question"),
    Report("news"),
)
VALUES = (*EVENTS, *EFFECTS, Ping(1))


def test_every_kind_of_event_and_effect_is_looked_at_here() -> None:
    """The unions name all kinds there are."""
    assert {type(event) for event in EVENTS} == set(get_args(machine.Event))
    assert {type(effect) for effect in EFFECTS} == set(get_args(machine.Effect))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_events_effects_and_messages_are_values(value: Any) -> None:
    """They cannot be changed, and equal ones have equal hashes."""
    field = value.__struct_fields__[0]
    with pytest.raises(AttributeError):
        setattr(value, field, None)
    again = msgspec.structs.replace(value)
    assert (again, hash(again)) == (value, hash(value))


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_the_collector_does_not_look_at_values(value: Any) -> None:
    """They are many and never in a cycle."""
    assert not gc.is_tracked(value)


def test_a_union_of_messages_decodes_itself() -> None:
    """The tag tells apart what has the same fields."""
    for message in (Ping(3), Pong(3)):
        assert msgspec.json.decode(msgspec.json.encode(message), type=Ping | Pong) == message
    assert msgspec.json.encode(Ping(3)) == b'{"type":"Ping","number":3}'


@pytest.mark.parametrize("text", ['{"type":"Ping","size":1}', '{"type":"Pang"}', '{"number":1}'])
def test_a_message_with_anything_unknown_is_not_read(text: str) -> None:
    """Unknown fields and unknown tags are errors, not guesses."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(text, type=Ping | Pong)
