"""A machine that talks through a link and notices whether it hears everything once, in order, or is told of a loss.

The simplest machine that a link is worth anything to; the checker and the simulator try the link with it. A word
carries the speaker's life, how often the speaker has been told that the listener restarted (`session`), and its number
since then. So a listener expects 0, 1, 2, ... of one speaker's life and one session, and after a restart of the speaker
it expects to have been told. Everything else is a broken promise of the link, and an assertion fails.

A word that is heard is answered if the listener `echoes`, and saved: in this order, so that the link is tempted to
acknowledge it with the answer, before it is safe.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.link.messages import AllTaken, Cheap
from solvent.protocols.machine import (
    Effects,
    Event,
    Message,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    Step,
    Value,
)


class Word(Message, frozen=True, gc=False):
    """One word of a speaker."""

    life: int
    session: int
    number: int
    wants_echo: bool = False


class Whisper(Message, frozen=True, gc=False):
    """A cheap word, which may be lost, doubled and late, but not from a former life."""

    life: int


TalkMessage: TypeAlias = Word | Whisper


class Heard(Value, frozen=True, gc=False, tag=True):
    """Saved: a word was heard, in this life of the listener."""

    speaker: NodeId
    word: Word
    life: int


class Say(Value, frozen=True, gc=False):
    """Requested: say something to a node."""

    to: NodeId
    is_cheap: bool = False


class Speaking(Value, frozen=True, gc=False):
    """What a talker knows of what it says to one peer."""

    session: int = 0
    said: int = 0


class Listening(Value, frozen=True, gc=False):
    """What a talker expects from one peer."""

    #: The speaker's life; None where the first word is to show it.
    life: int | None = None
    session: int = 0
    heard: int = 0


class Talking(Value, frozen=True, gc=False):
    """A talker's state."""

    life: int = 0
    speaking: Map[NodeId, Speaking] = Map()
    listening: Map[NodeId, Listening] = Map()
    #: Whether the link says that everything was taken.
    is_all_taken: bool = True


class Talker:
    """Says words when asked to, and listens."""

    def __init__(self, *, echoes: bool = False, reports: bool = False) -> None:
        self.echoes = echoes
        #: Whether it reports `AllTaken`.
        self.reports = reports

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[Talking]:
        """Begin with nothing said."""
        del saved
        return Talking(life), ()

    def step(self, state: Talking, event: Event) -> Step[Talking]:
        """Take one event."""
        match event:
            case Requested(Say(to, is_cheap)):
                if is_cheap:
                    return state, (Send(to, Cheap(Whisper(state.life))),)
                return _said(state, to, wants_echo=self.echoes)
            case Requested(AllTaken()):
                return replace(state, is_all_taken=True), (Report(AllTaken()),) if self.reports else ()
            case Received(sender, Word() as word):
                return _on_word(state, sender, word)
            case Received(sender, Whisper(life)):
                return _on_whisper(state, sender, life)
            case PeerRestarted(peer):
                return _on_restarted(state, peer)
            case _:
                return state, ()


def _said(state: Talking, to: NodeId, *, wants_echo: bool) -> Step[Talking]:
    speaking = state.speaking.get(to, Speaking())
    word = Word(state.life, speaking.session, speaking.said, wants_echo)
    spoken = state.speaking.set(to, replace(speaking, said=speaking.said + 1))
    return replace(state, speaking=spoken, is_all_taken=False), (Send(to, word),)


def _on_word(state: Talking, sender: NodeId, word: Word) -> Step[Talking]:
    expected = state.listening.get(sender, _first(state))
    assert expected.life in (None, word.life), "nobody said that the speaker restarted"
    assert word.number == expected.heard, f"word {expected.heard} is the next, and {word.number} is heard"
    assert not expected.heard or word.session == expected.session, "a word that was said to a former life"
    heard = Listening(word.life, word.session, word.number + 1)
    state = replace(state, listening=state.listening.set(sender, heard))
    effects: Effects = (Save(Heard(sender, word, state.life)),)
    if word.wants_echo:
        state, answer = _said(state, sender, wants_echo=False)
        effects = answer + effects
    return state, effects


def _on_whisper(state: Talking, sender: NodeId, life: int) -> Step[Talking]:
    expected = state.listening.get(sender, _first(state))
    assert expected.life in (None, life), "nobody said that the speaker restarted"
    return state, ()


def _on_restarted(state: Talking, peer: NodeId) -> Step[Talking]:
    speaking = state.speaking.get(peer, Speaking())
    again = state.speaking.set(peer, Speaking(speaking.session + 1))
    return replace(state, speaking=again, listening=state.listening.set(peer, Listening())), ()


def _first(state: Talking) -> Listening:
    # In its first life a talker knows that its peers are in theirs; later it cannot know what it missed.
    return Listening(None if state.life else 0)


__all__ = ["Heard", "Listening", "Say", "Speaking", "TalkMessage", "Talker", "Talking", "Whisper", "Word"]
