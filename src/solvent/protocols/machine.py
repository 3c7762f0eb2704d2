"""What a protocol is: a pure machine that turns events into effects.

A machine is `start(...)` and `step(state, event)`; both give a `Step`, the next state and the effects to carry out.
Same state and event, same answer: no clock, no chance, no network, nothing changed in place. The simulator, the
checker and the live host run the very same machine and differ only in where events come from and what they do with
effects. A host carries effects out in order, so what must survive a crash is saved before it is said.

Time, chance and knowledge come from outside, as events. A `SetTimer` comes back as `TimerFired`; a `Choose` comes
back as `Chosen` (the simulator draws it from the seed, the checker tries all, the live host asks the system); an
`Ask` hands a question to whatever the machine serves (a chemical program, a user's call) and comes back as
`Answered`. `Choose` and `Ask` are answered before the machine sees another event, unless the host's answer takes
time, as a call may in the live host.

Ticks are the simulator's steps where time is discrete, and milliseconds everywhere else.
"""

from __future__ import annotations

from typing import Any, NewType, Protocol, TypeAlias, TypeVar

import msgspec

NodeId = NewType("NodeId", int)
"""A node: a number from zero, unique in its system, and its place in every total order."""


class Value(msgspec.Struct, frozen=True, gc=False):
    """A frozen, hashable record; never part of a reference cycle, so the collector need not look at it."""


class Message(msgspec.Struct, frozen=True, gc=False, tag=True, forbid_unknown_fields=True):
    """What one node says to another. Its tag lets a union of messages decode itself."""


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

State = TypeVar("State")
Step: TypeAlias = tuple[State, Effects]


class Machine(Protocol[State]):
    """One node's part of a protocol."""

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> Step[State]:
        """Begin; after a crash with the records saved, in order, and the number of the new life (1, 2, ...)."""

    def step(self, state: State, event: Event) -> Step[State]:
        """Take one event."""


__all__ = [
    "Answered",
    "Ask",
    "CancelTimer",
    "Choose",
    "Chosen",
    "Effect",
    "Effects",
    "Event",
    "Machine",
    "Message",
    "NodeId",
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
