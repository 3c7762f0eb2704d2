"""What capture machines say and save can be written down and read again."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
import pytest

from solvent.protocols.capture import messages, moving_state, records

IRON, STEEL = 7, (1 << 40) + 1
SAID = (
    messages.Query(IRON, 1, 0, 4, 3),
    messages.Commitment(IRON, 1, 0, 4),
    messages.Fetch(IRON, 1, 0, 4, True),
    messages.GiveUp(IRON, 1, 0, 4),
    messages.Reaction(IRON, 1, 0, 4),
    messages.RespOk(IRON, 1, 0, 4),
    messages.RespTaken(IRON, 1, 0, 4),
    messages.RespRemoved(IRON, 1, 0, 4),
    messages.RespMolecule(IRON, 1, 0, 4, "iron"),
    messages.Doubt(IRON, 1, 0, 4),
)
MOVED = (
    moving_state.Take(1, (IRON,), ("iron",), 3),
    moving_state.Given(1, 2, ((IRON, "iron"),)),
    moving_state.Refused(1),
    moving_state.Confirmed(2),
)
SAVED = (
    records.Lent(IRON, 1, 2),
    records.Freed(IRON),
    records.Removed(IRON),
    records.Consumed(1, (IRON,), ((STEEL, "steel"),), 3),
    records.Rewritten((IRON,), ((STEEL, "steel"),), 3),
)
KEPT = (
    moving_state.Kept((IRON,), ((STEEL, "steel"),), 3),
    moving_state.Gave(1, 2, ((IRON, "iron"),)),
    moving_state.Got(1, 2, ((IRON, "iron"),)),
    moving_state.Closed(1),
)
UNIONS = (
    (SAID, messages.Request | messages.Reply | messages.Doubt),
    (MOVED, moving_state.MovingMessage),
    (SAVED, records.CaptureRecord),
    (KEPT, moving_state.MovingRecord),
)


@pytest.mark.parametrize("union, words", [(union, words) for words, union in UNIONS])
def test_every_word_of_a_language_is_read_as_what_it_is(union: Any, words: tuple[Any, ...]) -> None:
    """A union decodes itself, as messages and as records, in either format of the live host."""
    assert {type(word) for word in words} == set(get_args(union))
    for word in words:
        assert msgspec.json.decode(msgspec.json.encode(word), type=union) == word
        assert msgspec.msgpack.decode(msgspec.msgpack.encode(word), type=union) == word
