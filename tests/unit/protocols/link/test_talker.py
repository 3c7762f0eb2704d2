"""A talker notices every broken promise of a link."""

from __future__ import annotations

import pytest
from immutables import Map

from solvent.protocols.link import AllTaken, Cheap
from solvent.protocols.machine import (
    Event,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    Step,
    TimerFired,
)
from solvent_lab.models.talker import Heard, Listening, Say, Speaking, Talker, Talking, Whisper, Word

B = NodeId(1)


def after(*events: Event, life: int = 0, talker: Talker | None = None) -> Step[Talking]:
    """Let a talker take events; give the last step."""
    talker = talker or Talker()
    state, effects = talker.start((), life)
    for event in events:
        state, effects = talker.step(state, event)
    return state, effects


def test_words_are_numbered() -> None:
    """Each word carries the life, the session and its number."""
    state, effects = after(Requested(Say(B)), Requested(Say(B)), life=2)
    assert effects == (Send(B, Word(2, 0, 1)),)
    assert state == Talking(2, Map({B: Speaking(0, 2)}), is_all_taken=False)


def test_a_word_is_answered_and_saved() -> None:
    """The answer goes out before the record, to tempt the link."""
    word = Word(0, 0, 0, wants_echo=True)
    _, effects = after(Received(B, word))
    assert effects == (Send(B, Word(0, 0, 0)), Save(Heard(B, word, 0)))


def test_a_restart_begins_a_session() -> None:
    """After a peer's restart numbers begin anew, and any life of it may speak."""
    state, effects = after(Requested(Say(B)), PeerRestarted(B), Requested(Say(B)), Received(B, Word(7, 0, 0)))
    assert effects == (Save(Heard(B, Word(7, 0, 0), 0)),)
    assert state.speaking == Map({B: Speaking(1, 1)})
    assert state.listening == Map({B: Listening(7, 0, 1)})


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


def test_a_talker_that_came_back_expects_any_life() -> None:
    """It cannot know what it missed; the first word shows it."""
    state, _ = after(Received(B, Word(5, 3, 0)), life=1)
    assert state.listening == Map({B: Listening(5, 3, 1)})


def test_cheap_words_are_whispered() -> None:
    """A cheap word is neither numbered nor saved."""
    assert after(Requested(Say(B, is_cheap=True)))[1] == (Send(B, Cheap(Whisper(0))),)
    assert after(Received(B, Whisper(0))) == (Talking(), ())


def test_that_all_was_taken_is_reported_if_wanted() -> None:
    """A talker knows that all was taken, and says so to whoever asked for it."""
    state, effects = after(Requested(Say(B)), Requested(AllTaken()))
    assert (state.is_all_taken, effects) == (True, ())
    assert after(Requested(AllTaken()), talker=Talker(reports=True))[1] == (Report(AllTaken()),)


def test_other_events_mean_nothing() -> None:
    """A talker has no timers."""
    assert after(TimerFired("x")) == (Talking(), ())
