"""Nodes take turns: a token goes round a ring, and whoever has it works, alone.

Turns are numbered, and the token carries the number of the turn that is next. Node n takes the turns n + 1, n + 1 + N,
... of a ring of N nodes. A node saves that a turn has begun before it works, and that it is done before it passes the
token on. So after a crash it knows whether to work again or to pass the token on again; and who gets a token for a turn
that it has had already, knows that it was passed on twice.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.protocols.machine import (
    Answered,
    Ask,
    Event,
    Message,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Save,
    Send,
    Step,
    Value,
)


class Token(Message, frozen=True, gc=False):
    """Whoever gets this takes that turn."""

    turn: int


class Begun(Value, frozen=True, gc=False, tag=True):
    """Saved: the token is here, and the turn is this node's."""

    turn: int


class Done(Value, frozen=True, gc=False, tag=True):
    """Saved: the turn is over, and the token is the next node's."""

    turn: int


class Work(Value, frozen=True, gc=False):
    """Asked of whoever the node serves: do your work now. The answer says that it is done."""

    turn: int


class State(Value, frozen=True, gc=False):
    """The last turn that this node had, if any, and whether it is still at work on it."""

    turn: int = 0
    is_working: bool = False


TurnsStep: TypeAlias = Step[State]


class Turns:
    """One node of the ring; it is over when so many turns have been taken."""

    def __init__(self, node: NodeId, nodes_count: int, turns_count: int) -> None:
        self.first = State(1, is_working=True) if node == 0 else State()
        self.next = NodeId((node + 1) % nodes_count)
        self.turns_count = turns_count

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> TurnsStep:  # noqa: ARG002 - turns count lives enough
        """Begin; after a crash, go on where the last record says."""
        state = self.first
        if saved:
            state = State(saved[-1].turn, is_working=isinstance(saved[-1], Begun))
        return state, (Ask(Work(state.turn)),) if state.is_working else self.passed(state)

    def step(self, state: State, event: Event) -> TurnsStep:
        """Take one event."""
        match event:
            case Received(_, Token(turn)) if turn > state.turn:
                return State(turn, is_working=True), (Save(Begun(turn)), Ask(Work(turn)))
            case Answered():
                after = State(state.turn)
                return after, (Save(Done(state.turn)), Report(Done(state.turn)), *self.passed(after))
            case PeerRestarted(peer) if peer == self.next and not state.is_working:
                # The token may have been lost with the peer.
                return state, self.passed(state)
            case _:
                # A token that was passed on twice, or the restart of a node that gets nothing from here.
                return state, ()

    def passed(self, state: State) -> tuple[Send, ...]:
        """Pass the token on, unless it has never been here or the last turn is over."""
        return (Send(self.next, Token(state.turn + 1)),) if 0 < state.turn < self.turns_count else ()
