"""Data handover through a server, as in the older system: clients ask it for the lock, and it keeps the data.

A grant carries the data to the client, and the release carries it back. So the data moves twice in each cycle, where
peers move it once. Claims wait at the server, first in, first out. The machines have the vocabulary of
`protocols.elmp`; they are in the lab because they serve for comparison only: crashes are not handled, and clients are
not counted.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.elmp.vocabulary import (
    Data,
    Dropped,
    Granted,
    Join,
    Joined,
    Leave,
    Left,
    Release,
    Request,
    Withdraw,
)
from solvent.protocols.machine import Event, Message, NodeId, Received, Report, Requested, Send, Step, Value


class Ask(Message, frozen=True, gc=False):
    """A client claims the resource; its claims are numbered."""

    number: int


class Drop(Message, frozen=True, gc=False):
    """It does no longer."""

    number: int


class Give(Message, frozen=True, gc=False):
    """The claim holds; the data is with it."""

    number: int
    turn: int
    version: int


class Back(Message, frozen=True, gc=False):
    """The claim is over, and nothing was changed."""

    number: int


class Changed(Message, frozen=True, gc=False):
    """The claim is over; the new version of the data is with it."""

    number: int
    version: int


CARRIERS = (Give, Changed)
"""What has the data with it."""


class ClientState(Value, frozen=True, gc=False):
    """What a client knows."""

    #: The number of its last claim.
    number: int = 0
    #: The handle of that claim while it waits or holds; none: there is no claim.
    handle: int | None = None
    #: The version that it holds; none: it waits.
    version: int | None = None


class Client:
    """One client."""

    def __init__(self, node: NodeId, server: NodeId) -> None:
        self.node = node
        self.server = server

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[ClientState]:
        """Begin without a claim."""
        del saved, life
        return ClientState(), ()

    def step(self, state: ClientState, event: Event) -> Step[ClientState]:
        """Take one event."""
        match event:
            case Requested(Request(handle=handle)):
                return self._claim(state, handle)
            case Requested(Withdraw(handle)) if state.handle == handle:
                return self._end(state, None, Report(Dropped(handle)))
            case Requested(Release(handle, data)) if state.handle == handle and state.version is not None:
                return self._end(state, data)
            case Requested(Join()):
                return state, (Report(Joined(0)),)
            case Requested(Leave()):
                return self._end(state, None, Report(Left()))
            case Received(_, Give(number, turn, version)) if state.handle is not None and number == state.number:
                granted = Granted(state.handle, turn, Data(version, self.node))
                return replace(state, version=version), (Report(granted),)
            case Received(_, Give(number, _, _)):
                # It was dropped meanwhile.
                return state, (Send(self.server, Back(number)),)
        return state, ()

    def _claim(self, state: ClientState, handle: int) -> Step[ClientState]:
        if state.version is not None:
            return state, ()
        before = (Send(self.server, Drop(state.number)), Report(Dropped(handle))) if state.handle is not None else ()
        number = state.number + 1
        return ClientState(number, handle), (*before, Send(self.server, Ask(number)))

    def _end(self, state: ClientState, data: Data | None, *said: Report) -> Step[ClientState]:
        if state.handle is None:
            return state, said
        over: Message = Drop(state.number)
        if state.version is not None:
            over = Back(state.number) if data is None else Changed(state.number, data.version)
        return ClientState(state.number), (Send(self.server, over), *said)


Waiting: TypeAlias = tuple[NodeId, int]


class ServerState(Value, frozen=True, gc=False):
    """What the server knows."""

    version: int = 0
    turns: int = 0
    holder: Waiting | None = None
    waiting: tuple[Waiting, ...] = ()


class Server:
    """The server; it has the data to begin with."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[ServerState]:
        """Begin with the first version."""
        del saved, life
        return ServerState(), ()

    def step(self, state: ServerState, event: Event) -> Step[ServerState]:
        """Take one event."""
        match event:
            case Received(client, Ask(number)):
                return _granting(replace(state, waiting=(*state.waiting, (client, number))))
            case Received(client, Drop(number)):
                waiting = tuple(one for one in state.waiting if one != (client, number))
                return replace(state, waiting=waiting), ()
            case Received(client, Back(number)) if state.holder == (client, number):
                return _granting(replace(state, holder=None))
            case Received(client, Changed(number, version)) if state.holder == (client, number):
                return _granting(replace(state, holder=None, version=version))
        return state, ()


def _granting(state: ServerState) -> Step[ServerState]:
    """Grant the resource to the first client that waits, if no client holds it."""
    if state.holder is not None or not state.waiting:
        return state, ()
    first, *others = state.waiting
    client, number = first
    state = replace(state, turns=state.turns + 1, holder=first, waiting=tuple(others))
    return state, (Send(client, Give(number, state.turns, state.version)),)
