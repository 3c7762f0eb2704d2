"""What a protocol is: a pure machine that turns events into effects.

A machine is `start(...)` and `step(state, event)`; both give a `Step`, the next state and the effects to carry out.
Same state and event, same answer: no clock, no chance, no network, nothing changed in place. The simulator, the
checker and the live host run the very same machine and differ only in where events come from and what they do with
effects. A host carries effects out in order, so what must survive a crash is saved before it is said.

A protocol is written as functions: `start(config, saved, life)` and `step(config, state, event)`, which `Configured`
makes a machine. What a node knows is one `NodeState`. A step works on a `Draft`: a shallow copy of the state, which its
functions write to, and the effects so far. The fields of a state hold immutable values, so nothing else changes.

Time, chance and knowledge come from outside, as events. A `SetTimer` comes back as `TimerFired`; a `Choose` comes
back as `Chosen` (the simulator draws it from the seed, the checker tries all, the live host asks the system); an
`Ask` hands a question to whatever the machine serves (a chemical program, a user's call) and comes back as
`Answered`. `Choose` and `Ask` are answered before the machine sees another event, unless the host's answer takes
time, as a call may in the live host.

Ticks are the simulator's steps where time is discrete, and milliseconds everywhere else.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Generic, NewType, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec.structs import astuple

if TYPE_CHECKING:
    from collections.abc import Callable

NodeId = NewType("NodeId", int)
"""A node: a number from zero, unique in its system, and its place in every total order."""


class Value(msgspec.Struct, frozen=True, gc=False):
    """A frozen, hashable record; never part of a reference cycle, so the collector need not look at it."""


class Message(msgspec.Struct, frozen=True, gc=False, tag=True, forbid_unknown_fields=True):
    """What one node says to another. Its tag lets a union of messages decode itself."""


class NodeState(msgspec.Struct, gc=False):
    """What a node knows; written to in a `Draft` alone."""

    def __hash__(self) -> int:
        return hash(astuple(self))


# ------------------------------------------------------------------------------------------------------ events


class Received(Value, frozen=True, gc=False):
    """A message arrived."""

    sender: NodeId
    message: Any
    #: When, in ticks of the host's clock; zero where nobody counts time.
    at: int = 0


class TimerFired(Value, frozen=True, gc=False):
    """The timer of this name ran out."""

    name: str
    at: int = 0


class Requested(Value, frozen=True, gc=False):
    """Whoever the machine serves wants something."""

    request: Any


class Chosen(Value, frozen=True, gc=False):
    """Chance picked this one of the options of `Choose`, counted from zero."""

    option: int


class Answered(Value, frozen=True, gc=False):
    """The answer to the last `Ask`."""

    answer: Any


class PeerRestarted(Value, frozen=True, gc=False):
    """Another node crashed and came back: it forgot what it had not saved, and what was under way to it is lost."""

    peer: NodeId


Event: TypeAlias = Received | TimerFired | Requested | Chosen | Answered | PeerRestarted


# ----------------------------------------------------------------------------------------------------- effects


class Send(Value, frozen=True, gc=False):
    """Send a message to a node, perhaps to oneself."""

    to: NodeId
    message: Any


class Cheap(Value, frozen=True, gc=False):
    """Send it as `Send(to, Cheap(message))` where the message may be lost; it arrives as any other."""

    message: Any


class SetTimer(Value, frozen=True, gc=False):
    """Fire once after so many ticks; a timer of the same name that is running starts anew."""

    name: str
    after: int


class CancelTimer(Value, frozen=True, gc=False):
    """Stop a timer; one that is not running is no fault."""

    name: str


class Save(Value, frozen=True, gc=False):
    """Append a record to what a restart will be given. The effects after it wait until it is safe."""

    record: Any


class Choose(Value, frozen=True, gc=False):
    """Let chance pick one of `options` possibilities."""

    options: int


class Ask(Value, frozen=True, gc=False):
    """Put a question to whoever the machine serves."""

    question: Any


class Report(Value, frozen=True, gc=False):
    """Tell whoever watches; changes nothing."""

    outcome: Any


Effect: TypeAlias = Send | SetTimer | CancelTimer | Save | Choose | Ask | Report
Effects: TypeAlias = tuple[Effect, ...]

Config = TypeVar("Config")
State = TypeVar("State")
Step: TypeAlias = tuple[State, Effects]


class Machine(Protocol[State]):
    """One node's part of a protocol."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0, /) -> Step[State]:
        """Begin; after a crash with the records saved, in order, and the number of the new life (1, 2, ...)."""

    def step(self, state: State, event: Event, /) -> Step[State]:
        """Take one event."""


# ------------------------------------------------------------------------------------------ protocols of functions


class Configured(Generic[Config, State]):
    """The machine of one node: the functions of a protocol and the node's configuration."""

    __slots__ = ("config", "start", "step")

    def __init__(
        self, start: Callable[..., Step[State]], step: Callable[[Config, State, Event], Step[State]], config: Config
    ) -> None:
        self.config = config
        self.start: Callable[..., Step[State]] = partial(start, config)
        self.step: Callable[[State, Event], Step[State]] = partial(step, config)


class Draft(msgspec.Struct, Generic[Config, State], gc=False):
    """A step in the making: a copy of the state, to be written to, and the effects so far."""

    config: Config
    state: State
    effects: list[Effect] = []

    def send(self, to: NodeId, message: Any) -> None:
        """Send a message."""
        self.effects.append(Send(to, message))

    def save(self, record: Any) -> None:
        """Save a record."""
        self.effects.append(Save(record))

    def report(self, outcome: Any) -> None:
        """Report an outcome."""
        self.effects.append(Report(outcome))


__all__ = [
    "Answered",
    "Ask",
    "CancelTimer",
    "Cheap",
    "Choose",
    "Chosen",
    "Configured",
    "Draft",
    "Effect",
    "Effects",
    "Event",
    "Machine",
    "Message",
    "NodeId",
    "NodeState",
    "PeerRestarted",
    "Received",
    "Report",
    "Requested",
    "Save",
    "Send",
    "SetTimer",
    "State",
    "Step",
    "TimerFired",
    "Value",
]
