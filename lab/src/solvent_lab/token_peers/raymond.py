"""Raymond's tree: each node knows only which neighbour in a fixed tree leads to the token.

After K. Raymond, "A tree-based algorithm for distributed mutual exclusion" (ACM Transactions on Computer Systems 7,
1989). A node that wants the token, for itself or for a neighbour, queues whoever wants it and asks the neighbour in
whose direction the token is, once. The token goes back the way the request came, from queue to queue, and turns the
direction of every edge that it crosses. So a request costs twice the distance in messages and in time: about four
times log2 N in a binary tree, less where the token is used nearby.

The tree is a heap: the children of node i are `arity * i + 1` and the following ones, and the token begins at node 0.
Nothing of the paper's part on crashed nodes is here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec.structs import replace

from solvent.protocols.machine import Effect, Event, Message, NodeId, Received, Report, Requested, Send, Step, Value
from solvent.protocols.token.messages import Acquire, Granted, Moved, Release


class Request(Message, frozen=True, gc=False):
    """Somebody behind me wants the token."""


class Privilege(Message, frozen=True, gc=False):
    """The token."""


class RaymondState(Value, frozen=True, gc=False):
    """One node of the tree."""

    #: The neighbour in whose direction the token is; the node itself if it is here.
    holder: NodeId
    #: Who wants it, first in, first out: neighbours, and the node itself.
    queue: tuple[NodeId, ...] = ()
    #: Whether the holder has been asked and has not answered yet.
    is_asked: bool = False
    is_used: bool = False
    #: How many requests the user has made.
    requests: int = 0


RaymondStep: TypeAlias = Step[RaymondState]


class Raymond:
    """One node of the tree."""

    def __init__(self, node: NodeId, *, arity: int = 2, is_instant: bool = True, tells_moves: bool = False) -> None:
        self.node = node
        self.arity = arity
        #: Whether a user needs no time with the token; else it must be released.
        self.is_instant = is_instant
        self.tells_moves = tells_moves

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> RaymondStep:
        """Begin; the root has the token, and everybody else's parent leads to it."""
        del saved, life
        return RaymondState(NodeId((self.node - 1) // self.arity if self.node else 0)), ()

    def step(self, state: RaymondState, event: Event) -> RaymondStep:
        """Take one event."""
        match event:
            case Received(sender, Request()):
                return self._settle(replace(state, queue=(*state.queue, sender)))
            case Received(_, Privilege()):
                return self._settle(replace(state, holder=self.node))
            case Requested(Acquire()):
                if state.is_used or self.node in state.queue:
                    return state, ()
                queue = (*state.queue, self.node)
                return self._settle(replace(state, queue=queue, requests=state.requests + 1))
            case Requested(Release()) if state.is_used:
                return self._settle(replace(state, is_used=False))
        return state, ()

    def _settle(self, state: RaymondState) -> RaymondStep:
        """Pass the token to the first in the queue if it is here and free; ask for it if it is not."""
        effects: list[Effect] = []
        while state.holder == self.node and state.queue and not state.is_used:
            first, *rest = state.queue
            state = replace(state, queue=tuple(rest), is_asked=False)
            if first == self.node:
                effects.append(Report(Granted(state.requests)))
                state = replace(state, is_used=not self.is_instant)
            else:
                state = replace(state, holder=first)
                if self.tells_moves:
                    effects.append(Report(Moved(first, "passed")))
                effects.append(Send(first, Privilege()))
        if state.holder != self.node and state.queue and not state.is_asked:
            state = replace(state, is_asked=True)
            effects.append(Send(state.holder, Request()))
        return state, tuple(effects)


__all__ = ["Privilege", "Raymond", "RaymondState", "RaymondStep", "Request"]
