"""One node of the token protocol: a token goes round a ring, and a search by halving brings it to who wants it.

After B. Englert, L. Rudolph and A. Shvartsman, "Developing and refining an adaptive token-passing strategy" (2001),
System BinarySearch and the variants of its section 4.4. The token goes from node to node; at each regular visit it
counts up, and the node keeps the count as its stamp. Whoever wants it sends a `Gimme` to the node across the ring.
That node lends the token if it has it; else it sets a trap and passes the search on, half as far: onwards if the token
has been here later than at the requester, back if earlier. A token that meets a trap is lent to its requester, comes
back after use, and goes on from where it was.

Departures (T1 to T7 in docs/explanation/token.md). Strides are halved in whole numbers and end below one (T1). Equal
stamps, which occur before the first visit, go by the order from the token's first node (T4). The token carries what it
has served, so that served traps are dropped instead of sending it in vain (T6). A busy token is not lent: lending
serves at most every second move, so when about half of the moves serve somebody, going round serves as many (T7).
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from solvent.protocols.machine import (
    Effect,
    Event,
    NodeId,
    Received,
    Report,
    Requested,
    Send,
    SetTimer,
    TimerFired,
)
from solvent.protocols.token.messages import Gimme, NotHere, Token
from solvent.protocols.token.state import TokenConfig, TokenState, TokenStep, Trap
from solvent.protocols.token.vocabulary import Acquire, Granted, Moved, Release

REST = "rest"
LIFE_BITS = 32
"""A node numbers its requests from its life, shifted by so many bits: no number of a former life comes again."""


class Ring:
    """One node of the ring."""

    def __init__(self, config: TokenConfig, *, tells_moves: bool = False) -> None:
        self.config = config
        self.node = config.node
        self.next = NodeId((config.node + 1) % config.size)
        self.tells_moves = tells_moves
        self.mask = (1 << config.used_bits) - 1

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> TokenStep:
        """Begin; in its first life the first node has the token, and in no other one makes a second."""
        del saved
        if self.node or life:
            return TokenState(requests=life << LIFE_BITS), ()
        return self._visited(TokenState(), Token(visits=-1))

    def step(self, state: TokenState, event: Event) -> TokenStep:
        """Take one event."""
        if type(event) is Received:
            message = event.message
            kind = type(message)
            if kind is Token:
                return self._on_token(state, message)
            if kind is Gimme:
                return self._on_gimme(state, event.sender, message)
            if kind is NotHere:
                return self._on_not_here(state, event.sender, message)
            return state, ()
        match event:
            case Requested(Acquire()):
                return self._on_acquire(state)
            case Requested(Release()):
                return self._on_release(state)
            case TimerFired():
                return self._on_rested(state)
        return state, ()

    # -------------------------------------------------------------------------------------------- the user

    def _on_acquire(self, state: TokenState) -> TokenStep:
        if state.is_waiting or state.is_used:
            return state, ()
        state = replace(state, requests=state.requests + 1, is_waiting=True)
        if state.token is not None:
            return self._grant(state)
        if self.config.protocol == "ring":
            return state, ()
        stride = self.config.size // 2
        if not stride:
            return state, ()
        across = NodeId((self.node + stride) % self.config.size)
        return state, (Send(across, Gimme(self.node, state.requests, state.stamp, stride)),)

    def _grant(self, state: TokenState) -> TokenStep:
        """Let the user have the token that is here."""
        token = state.token
        assert token is not None, "only what is here can be granted"
        served = token.served.set(self.node, state.requests)
        token = replace(token, served=served, grants=token.grants + 1, used=(token.used | 1) & self.mask)
        state = replace(state, token=token, is_waiting=False, is_used=True, rest=0)
        granted = Report(Granted(state.requests, token.grants))
        if not self.config.is_instant:
            return state, (granted,)
        state, more = self._on_release(state)
        return state, (granted, *more)

    def _on_release(self, state: TokenState) -> TokenStep:
        if not state.is_used:
            return state, ()
        return self._dispatch(replace(state, is_used=False))

    # ------------------------------------------------------------------------------------------- the token

    def _on_token(self, state: TokenState, token: Token) -> TokenStep:
        token = replace(token, used=(token.used << 1) & self.mask)
        if token.lender is None or token.is_returned:
            if not token.is_returned:
                return self._visited(state, token)
            state = replace(state, token=replace(token, lender=None, borrower=None, is_returned=False))
            return self._dispatch(state) if not state.is_waiting else self._grant(state)
        if token.borrower != self.node:
            return self._on_passing(state, token)
        state = replace(state, token=token)
        return self._grant(state) if state.is_waiting else self._dispatch(state)

    def _visited(self, state: TokenState, token: Token) -> TokenStep:
        """A regular visit: stamp it, use it if wanted, and send it where it should go."""
        visits = token.visits + 1
        token = replace(token, visits=visits)
        state = replace(state, stamp=visits, token=token)
        return self._grant(state) if state.is_waiting else self._dispatch(state)

    def _on_passing(self, state: TokenState, token: Token) -> TokenStep:
        """On its way back along the path of a search: take the trap away, and pass it on."""
        borrower = token.borrower
        assert borrower is not None
        via = next((trap.via for trap in state.traps if trap.requester == borrower), borrower)
        traps = tuple(trap for trap in state.traps if trap.requester != borrower)
        return replace(state, traps=traps), (Send(via, token),)

    def _dispatch(self, state: TokenState) -> TokenStep:
        """Send a token that nobody uses here to its lender, into a trap, or on round the ring."""
        token = state.token
        assert token is not None, "only what is here can be sent"
        if token.lender is not None:
            returned = replace(token, is_returned=True)
            return self._sent(replace(state, token=None), token.lender, returned, "returned")
        traps = self._valid(state.traps, token)
        state = replace(state, traps=traps)
        if traps and not self._is_busy(token):
            return self._lend(replace(state, traps=traps[1:]), token, traps[0])
        if self.next == self.node:
            return state, ()
        rest = self._rest_for(state, token)
        if rest:
            return replace(state, rest=rest), (SetTimer(REST, rest),)
        return self._sent(replace(state, token=None, rest=0), self.next, token, "round")

    def _rest_for(self, state: TokenState, token: Token) -> int:
        if not self.config.rest_max or token.used or state.rest:
            return 0
        return self.config.rest_max

    def _on_rested(self, state: TokenState) -> TokenStep:
        if state.token is None or state.is_used or not state.rest:
            return state, ()
        return self._dispatch(state)

    def _valid(self, traps: tuple[Trap, ...], token: Token) -> tuple[Trap, ...]:
        if not traps or self.config.clean_up != "rotation":
            return traps
        served = token.served
        return tuple([trap for trap in traps if served.get(trap.requester, 0) < trap.request])

    def _is_busy(self, token: Token) -> bool:
        bits = self.config.used_bits
        return bits > 0 and token.used.bit_count() >= self.config.busy * bits

    def _lend(self, state: TokenState, token: Token, trap: Trap) -> TokenStep:
        lent = replace(token, lender=self.node, borrower=trap.requester)
        to = trap.via if self.config.clean_up == "inverse" else trap.requester
        return self._sent(replace(state, token=None, rest=0), to, lent, "lent")

    def _sent(self, state: TokenState, to: NodeId, token: Token, why: str) -> TokenStep:
        state, freed = self._go_on_searching(state, token)
        told: tuple[Effect, ...] = (Report(Moved(to, why)),) if self.tells_moves else ()
        return state, (*told, Send(to, token), *freed)

    # ------------------------------------------------------------------------------------------ the search

    def _on_gimme(self, state: TokenState, sender: NodeId, gimme: Gimme) -> TokenStep:
        requester = gimme.requester
        trap = Trap(requester, gimme.request, sender)
        if requester == self.node:
            return state, ()
        token = state.token
        if token is not None and not state.is_used and token.lender is None:
            # It rests here; a token that was lent goes back first.
            if token.served.get(requester, 0) >= gimme.request:
                return state, ()
            return self._lend(state, token, trap)
        older = tuple(one for one in state.traps if one.requester != requester)
        state = replace(state, traps=(*older, trap))
        if self.config.is_directed:
            return state, (Send(requester, NotHere(gimme.request, state.stamp, gimme.stride)),)
        if self.config.has_one_search and state.passed_on is not None:
            return replace(state, delayed=(*state.delayed, (sender, gimme))), ()
        return self._pass_on(state, gimme)

    def _pass_on(self, state: TokenState, gimme: Gimme) -> TokenStep:
        onward = self._onward(self.node, state.stamp, gimme.requester, gimme.stamp, gimme.stride)
        if onward is None:
            return state, ()
        to, stride = onward
        if self.config.has_one_search:
            state = replace(state, passed_on=(gimme.requester, gimme.request))
        return state, (Send(to, replace(gimme, stride=stride)),)

    def _onward(
        self, here: NodeId, stamp: int, requester: NodeId, theirs: int, stride: int
    ) -> tuple[NodeId, int] | None:
        """Tell where a search goes from a node that saw the token at `stamp`; None when its stride is used up."""
        if stride <= 1:
            return None
        half = (stride + 1) // 2
        is_onwards = stamp > theirs or (stamp == theirs and here > requester)
        return NodeId((here + (half if is_onwards else -half)) % self.config.size), half

    def _on_not_here(self, state: TokenState, sender: NodeId, answer: NotHere) -> TokenStep:
        if not state.is_waiting or answer.request != state.requests:
            return state, ()
        onward = self._onward(sender, answer.stamp, self.node, state.stamp, answer.stride)
        if onward is None:
            return state, ()
        to, stride = onward
        if to == self.node:
            return state, ()
        return state, (Send(to, Gimme(self.node, state.requests, state.stamp, stride)),)

    def _go_on_searching(self, state: TokenState, token: Token) -> TokenStep:
        """When the search this node had passed on is served, pass on the next one it kept."""
        if state.passed_on is None:
            return state, ()
        requester, request = state.passed_on
        if token.served.get(requester, 0) < request and token.borrower != requester:
            return state, ()
        state = replace(state, passed_on=None)
        while state.delayed:
            (_, gimme), *rest = state.delayed
            state = replace(state, delayed=tuple(rest))
            if token.served.get(gimme.requester, 0) < gimme.request:
                return self._pass_on(state, gimme)
        return state, ()
