"""Little machines that the tests of the simulators run."""

from __future__ import annotations

from typing import Any

from solvent.protocols.machine import (
    Choose,
    Chosen,
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
    SetTimer,
    TimerFired,
)


class Ball(Message, frozen=True, gc=False):
    """Goes to and fro."""

    left: int


class Parcel(Message, frozen=True, gc=False):
    """Has a number, and a load that takes room."""

    number: int
    load: bytes = b""


class Player:
    """Throws a ball back until it has been thrown often enough; the state is how often it was caught."""

    def __init__(self, serves_to: int | None = None, throws: int = 0) -> None:
        self.serves_to = serves_to
        self.throws = throws

    def start(self, *_: Any) -> tuple[int, Effects]:
        """Throw first, if it is our turn."""
        if self.serves_to is None or self.throws == 0:
            return 0, ()
        return 0, (Send(NodeId(self.serves_to), Ball(self.throws - 1)),)

    def step(self, state: int, event: Event) -> tuple[int, Effects]:
        """Throw back."""
        assert isinstance(event, Received)
        left = event.message.left
        return state + 1, (Send(event.sender, Ball(left - 1)),) if left else ()


class Sender:
    """Sends numbered parcels to nodes that chance picks, some at once and some on a timer; keeps what arrives."""

    def __init__(self, nodes: int, batches: int, *, size: int = 2, load: bytes = b"", every: int = 1) -> None:
        self.nodes = nodes
        self.batches = batches
        self.size = size
        self.load = load
        self.every = every

    def start(self, *_: Any) -> tuple[tuple[int, tuple[Any, ...]], Effects]:
        """Wait for the first turn."""
        return (0, ()), (SetTimer("turn", self.every),)

    def step(self, state: Any, event: Event) -> tuple[Any, Effects]:
        """Send a batch at each turn."""
        sent, kept = state
        match event:
            case TimerFired() if sent < self.batches * self.size:
                return state, (Choose(self.nodes),)
            case Chosen(option):
                parcels = [Send(NodeId(option), Parcel(sent + more, self.load)) for more in range(self.size)]
                return (sent + self.size, kept), (*parcels, SetTimer("turn", self.every))
            case Received(sender, Parcel(number), at):
                return (sent, (*kept, (sender, number, at))), ()
            case _:
                return state, ()


class Diary:
    """Counts requests and writes down every second one; the state is (count, life, peers that restarted)."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> tuple[Any, Effects]:
        """Go on from what was written down."""
        return (saved[-1] if saved else 0, life, ()), (Report(("begins", saved)),)

    def step(self, state: Any, event: Event) -> tuple[Any, Effects]:
        """Count."""
        count, life, peers = state
        match event:
            case Requested():
                count += 1
                return (count, life, peers), (Save(count),) if count % 2 == 0 else ()
            case PeerRestarted(peer):
                return (count, life, (*peers, peer)), ()
            case _:
                return state, ()


class Script:
    """Carries out what it is told to, and remembers every event."""

    def __init__(self, *effects: Any) -> None:
        self.effects = effects

    def start(self, *_: Any) -> tuple[Any, Effects]:
        """Carry out the first effects."""
        return (), self.effects

    def step(self, state: Any, event: Event) -> tuple[Any, Effects]:
        """Remember; a request is a tuple of effects to carry out."""
        return (*state, event), event.request if isinstance(event, Requested) else ()
