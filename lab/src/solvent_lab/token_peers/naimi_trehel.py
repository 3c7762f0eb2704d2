"""Naimi and Tréhel's tree of guesses: every request goes to whoever is thought to be last in the queue.

After M. Naimi, M. Tréhel and A. Arnold, "A log(N) distributed mutual exclusion algorithm based on path reversal"
(Journal of Parallel and Distributed Computing 34, 1996). The queue of those who want the token is spread over them:
each knows who comes `next` after it. Each node also guesses who is `last` in that queue. A request follows the guesses
to the true last one, and everybody on its way takes the requester for the last from then on: the path is reversed, and
the tree of guesses changes its shape. A request costs about the logarithm of N in messages on average, N at worst; the
token goes straight to who is next.

The token begins at node 0, and everybody guesses so. Crashes are not dealt with.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.machine import Effect, Event, Message, NodeId, Received, Report, Requested, Send, Step, Value
from solvent.protocols.token.messages import Acquire, Granted, Moved, Release


class Wanted(Message, frozen=True, gc=False):
    """This node wants the token; on its way to the last of those who do."""

    requester: NodeId


class Handed(Message, frozen=True, gc=False):
    """The token."""


class GuessState(Value, frozen=True, gc=False):
    """One node of the tree of guesses."""

    #: Who is thought to be last in the queue; none if it is this node.
    last: NodeId | None
    has_token: bool
    #: Who gets the token after this node, if anybody.
    next: NodeId | None = None
    #: Whether the user waits for the token or uses it.
    is_wanted: bool = False
    #: How many requests the user has made.
    requests: int = 0


GuessStep: TypeAlias = Step[GuessState]


class NaimiTrehel:
    """One node of the tree of guesses."""

    def __init__(self, node: NodeId, *, is_instant: bool = True, tells_moves: bool = False) -> None:
        self.node = node
        #: Whether a user needs no time with the token; else it must be released.
        self.is_instant = is_instant
        self.tells_moves = tells_moves

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> GuessStep:
        """Begin; the first node has the token, and all know it."""
        del saved, life
        return GuessState(NodeId(0) if self.node else None, has_token=not self.node), ()

    def step(self, state: GuessState, event: Event) -> GuessStep:
        """Take one event."""
        match event:
            case Received(_, Wanted(requester)):
                return self._on_wanted(state, requester)
            case Received(_, Handed()):
                return self._grant(replace(state, has_token=True))
            case Requested(Acquire()) if not state.is_wanted:
                return self._on_acquire(state)
            case Requested(Release()) if state.is_wanted and state.has_token:
                return self._on_release(state)
        return state, ()

    def _on_acquire(self, state: GuessState) -> GuessStep:
        state = replace(state, is_wanted=True, requests=state.requests + 1)
        if state.last is None:
            # Last in the queue and not waiting: the token is here.
            return self._grant(state)
        return replace(state, last=None), (Send(state.last, Wanted(self.node)),)

    def _on_wanted(self, state: GuessState, requester: NodeId) -> GuessStep:
        if state.last is not None:
            return replace(state, last=requester), (Send(state.last, Wanted(requester)),)
        if state.is_wanted:
            return replace(state, last=requester, next=requester), ()
        return self._hand(replace(state, last=requester), requester)

    def _grant(self, state: GuessState) -> GuessStep:
        granted = Report(Granted(state.requests))
        if not self.is_instant:
            return state, (granted,)
        state, more = self._on_release(state)
        return state, (granted, *more)

    def _on_release(self, state: GuessState) -> GuessStep:
        state = replace(state, is_wanted=False)
        if state.next is None:
            return state, ()
        return self._hand(replace(state, next=None), state.next)

    def _hand(self, state: GuessState, to: NodeId) -> GuessStep:
        told: tuple[Effect, ...] = (Report(Moved(to, "passed")),) if self.tells_moves else ()
        return replace(state, has_token=False), (*told, Send(to, Handed()))


__all__ = ["GuessState", "GuessStep", "Handed", "NaimiTrehel", "Wanted"]
