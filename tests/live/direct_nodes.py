"""Direct hosts for tests: machines that talk, what hears them, and several of them in one process."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from solvent.net import Codec, Identity
from solvent.net.direct import DirectHost
from solvent.net.direct.way import Phase
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

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Iterator

    from solvent.net import Address

A, B = NodeId(0), NodeId(1)
SECONDS = 200.0


class Word(Message, frozen=True, gc=False):
    """A numbered word, and some letters with it."""

    number: int
    letters: str = ""
    wants_echo: bool = False


class Say(Value, frozen=True, gc=False):
    """Wanted: say words, numbered from `first` on."""

    to: NodeId
    first: int
    count: int = 1
    letters: int = 0
    wants_echo: bool = False


class Heard(Value, frozen=True, gc=False):
    """Told: a word was heard."""

    speaker: NodeId
    number: int
    letters: int


class Talker:
    """Says what it is asked to, answers if that is wanted, and tells what it hears."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[int]:
        """Begin."""
        del saved, life
        return 0, ()

    def step(self, state: int, event: Event) -> Step[int]:
        """Count events."""
        effects: Effects = ()
        match event:
            case Requested(Say(to, first, count, letters, wants_echo)):
                text = "x" * letters
                effects = tuple(Send(to, Word(first + place, text, wants_echo)) for place in range(count))
            case Received(sender, Word(number, letters, wants_echo)):
                effects = (Report(Heard(sender, number, len(letters))),)
                if wants_echo:
                    effects += (Send(sender, Word(number)),)
            case PeerRestarted():
                effects = (Report(event),)
        return state + 1, effects


class Clerk(Talker):
    """Saves the numbers of the words that it hears."""

    def step(self, state: int, event: Event) -> Step[int]:
        """Save a number."""
        if isinstance(event, Received):
            return state, (Save(event.message.number),)
        return state, ()


class Ears:
    """An application that remembers all that it is told."""

    def __init__(self) -> None:
        self.heard = list[Heard]()
        self.faults = list[Any]()
        self.losses = list[tuple[NodeId, str]]()
        #: How much was heard when a restart was told.
        self.heard_at_restart = list[int]()

    def told(self, outcome: Any) -> None:
        """Remember it."""
        if isinstance(outcome, PeerRestarted):
            self.heard_at_restart.append(len(self.heard))
        (self.heard if isinstance(outcome, Heard) else self.faults).append(outcome)

    def answer(self, question: Any) -> Any:
        """Know nothing."""
        raise NotImplementedError(question)

    def lost(self, peer: NodeId, why: str) -> None:
        """Remember it."""
        self.losses.append((peer, why))

    def numbers(self, speaker: NodeId) -> list[int]:
        """Give the numbers of the words of one speaker, as they came."""
        return [one.number for one in self.heard if one.speaker == speaker]


class Talk:
    """One node, and what it hears."""

    def __init__(self, node: NodeId, places: dict[NodeId, Address], **options: Any) -> None:
        self.node = node
        self.ears = Ears()
        self.host = DirectHost(
            options.pop("machine", Talker()),
            Identity(node, "talk", options.pop("run", "test"), options.pop("secret", b"of the tests")),
            options.pop("codec", Codec(Word)),
            listen=options.pop("listen", ("127.0.0.1", 0)),
            application=options.pop("application", self.ears),
            find=options.pop("find", places.get),
            **options,
        )
        self.host.start()
        places[node] = self.host.address

    def say(self, to: NodeId, first: int, count: int = 1, **how: Any) -> None:
        """Say some words."""
        self.host.request(Say(to, first, count, **how))

    def wait(self, is_done: Callable[[], bool]) -> None:
        """Wait, for long if need be, and not for ever."""
        assert self.host.wait(is_done, SECONDS)

    def wait_for(self, speaker: NodeId, count: int) -> None:
        """Wait until so many words of one speaker were heard."""
        self.wait(lambda: len(self.ears.numbers(speaker)) >= count)

    def line_to(self, peer: NodeId) -> socket.socket | None:
        """Give the connection to a node, to be spoilt."""
        way = self.host._board._ways.get(peer)
        return way._line if way is not None and way.phase >= Phase.OPEN else None

    def close(self) -> None:
        """End it."""
        self.host.close()


@contextmanager
def talking(*nodes: NodeId, **options: Any) -> Iterator[list[Talk]]:
    """Have some nodes in this process that know each other."""
    places = dict[NodeId, Any]()
    talks = list[Talk]()
    try:
        for node in nodes:
            talks.append(Talk(node, places, **options))
        yield talks
    finally:
        for talk in talks:
            with suppress(Exception):
                talk.close()


def eventually(is_so: Callable[[], bool]) -> None:
    """Wait, without doing anything for it, until something is so."""
    end = time.monotonic() + SECONDS
    while not is_so():
        assert time.monotonic() < end, "it never was so"
        time.sleep(0.002)
