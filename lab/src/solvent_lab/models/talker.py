"""A machine that talks through a link and notices whether it hears everything once, in order, or is told of a loss.

The simplest machine that a link is worth anything to; the checker and the simulator try the link with it. A word
carries the speaker's life, how often the speaker has been told that the listener restarted (`session`), and its number
since then. So a listener expects 0, 1, 2, ... of one speaker's life and one session, and after a restart of the speaker
it expects to have been told. Everything else is a broken promise of the link, and an assertion fails.

A word that is heard is answered if the listener `echoes`, and saved: in this order, so that the link is tempted to
acknowledge it with the answer, before it is safe.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.link.messages import AllTaken, PeerLife
from solvent.protocols.machine import (
    Cheap,
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
from solvent.protocols.maps import Map

if TYPE_CHECKING:
    from collections.abc import Iterator

    from solvent.protocols.link.line import Line
    from solvent.protocols.link.state import LinkState


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


# ----------------------------------------------------------------------------------------------------- what must hold
# Each function takes a world, of the checker or of the simulator.


def _lines(world: Any) -> Iterator[tuple[int, LinkState, int, Line]]:
    for number, state in enumerate(world.states):
        if state is not None:
            for peer, line in state.lines.items():
                yield number, state, peer, line


def each_side_counts_as_the_other(world: Any) -> str | None:
    """In a session that both sides know, acknowledged <= taken <= said."""
    for number, state, peer, line in _lines(world):
        other: LinkState | None = world.states[peer]
        if other is None or other.life != line.life:
            continue
        back = other.lines.get(NodeId(number))
        if back is None or back.life != state.life:
            continue
        if not line.acked <= back.taken <= line.next:
            return f"node {number} said {line.next}, {line.acked} acknowledged; node {peer} took {back.taken}"
    return None


def no_link_knows_a_life_to_come(world: Any) -> str | None:
    """The life of a peer that a link knows has begun."""
    for number, _, peer, line in _lines(world):
        if line.life > world.nodes[peer].life:
            return f"node {number} knows life {line.life} of node {peer}, which is in life {world.nodes[peer].life}"
    return None


def lives_heard_of_are_saved(world: Any) -> str | None:
    """A peer's new life is saved before anything of it is taken, so that a restart does not take it for news."""
    for number, _, peer, line in _lines(world):
        records = (one for one in world.nodes[number].saved if isinstance(one, PeerLife))
        if line.taken and line.life and not any(one.peer == peer and one.life == line.life for one in records):
            return f"node {number} has taken messages of life {line.life} of node {peer} and saved nothing of it"
    return None


def what_is_under_way_is_counted(world: Any) -> str | None:
    """The number of unacknowledged messages is that of all lines, and of messages to oneself."""
    for number, state in enumerate(world.states):
        if state is None:
            continue
        own = sum(isinstance(what, Received) and what.sender == number for what in state.todo)
        count = own + sum(line.waiting for line in state.lines.values())
        if count != state.unacknowledged:
            return f"node {number} counts {state.unacknowledged} unacknowledged messages, and has {count}"
    return None


def what_was_acknowledged_is_saved(world: Any) -> str | None:
    """Whoever hears that a word was taken can rely on what the listener saved for it, whatever happens to it."""
    for number, state, peer, line in _lines(world):
        saved = sum(
            isinstance(one, Heard) and one.speaker == number and (one.word.life, one.life) == (state.life, line.life)
            for one in world.nodes[peer].saved
        )
        if saved < line.acked:
            return f"node {number} believes that node {peer} took {line.acked} words, and it saved {saved}"
    return None


def who_believes_that_all_was_taken_is_right(world: Any) -> str | None:
    """A talker that was told that all was taken, and has said nothing since, has nothing under way."""
    for number, state in enumerate(world.states):
        if state is not None and state.inner.is_all_taken and state.unacknowledged:
            return f"node {number} has {state.unacknowledged} words under way"
    return None


def no_word_is_heard_twice(world: Any) -> str | None:
    """A word is heard at most once, in all lives of the listener."""
    for number, node in enumerate(world.nodes):
        heard = Counter((one.speaker, one.word) for one in node.saved if isinstance(one, Heard))
        for (speaker, word), times in heard.items():
            if times > 1:
                return f"node {number} heard {word} of node {speaker} {times} times"
    return None


def everything_is_heard(world: Any) -> bool:
    """Nothing is under way, nobody is down, and whatever was said in a session was heard (a goal, no invariant)."""
    states = world.states
    if any(state is None or state.unacknowledged or not state.inner.is_all_taken for state in states):
        return False
    for number, state in enumerate(states):
        for peer, speaking in state.inner.speaking.items():
            listening = states[peer].inner.listening.get(NodeId(number))
            if speaking.said and (listening is None or listening.heard != speaking.said):
                return False
        if any(not line.is_met or line.life != states[peer].life for peer, line in state.lines.items()):
            return False
    return True


TALK_INVARIANTS = (
    each_side_counts_as_the_other,
    no_link_knows_a_life_to_come,
    lives_heard_of_are_saved,
    what_is_under_way_is_counted,
    what_was_acknowledged_is_saved,
    who_believes_that_all_was_taken_is_right,
    no_word_is_heard_twice,
)
