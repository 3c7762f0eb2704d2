"""A talker notices every broken promise of a link."""

from __future__ import annotations

import pytest

from solvent.protocols.machine import (
    Event,
    NodeId,
    Received,
    Step,
)
from solvent_lab.models.talker import Talker, Talking, Whisper, Word

B = NodeId(1)


def after(*events: Event, life: int = 0, talker: Talker | None = None) -> Step[Talking]:
    """Let a talker take events; give the last step."""
    talker = talker or Talker()
    state, effects = talker.start((), life)
    for event in events:
        state, effects = talker.step(state, event)
    return state, effects


@pytest.mark.parametrize(
    "events,reason",
    [
        ((Word(0, 0, 0), Word(0, 0, 0)), "word 1 is the next, and 0 is heard"),
        ((Word(0, 0, 0), Word(0, 0, 2)), "word 1 is the next, and 2 is heard"),
        ((Word(0, 0, 0), Word(0, 1, 1)), "a word that was said to a former life"),
        ((Word(0, 0, 0), Word(1, 0, 1)), "nobody said that the speaker restarted"),
        ((Word(1, 0, 0),), "nobody said that the speaker restarted"),
        ((Whisper(1),), "nobody said that the speaker restarted"),
    ],
)
def test_a_broken_promise_is_noticed(events: tuple[Word | Whisper, ...], reason: str) -> None:
    """A word that comes twice, too early, from a former life or without a notice fails."""
    with pytest.raises(AssertionError, match=reason):
        after(*[Received(B, word) for word in events])
