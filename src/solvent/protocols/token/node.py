"""One node of the token protocol: a token goes round a ring, and a search by halving brings it to who wants it.

After B. Englert, L. Rudolph and A. Shvartsman, "Developing and refining an adaptive token-passing strategy" (2001),
System BinarySearch and the variants of its section 4.4. The token goes from node to node; at each regular visit it
counts up, and the node keeps the count as its stamp. Whoever wants it sends a `Gimme` to the node across the ring.
That node lends the token if it has it; else it sets a trap and passes the search on, half as far: onwards if the token
has been here later than at the requester, back if earlier. A token that meets a trap is lent to its requester, comes
back after use, and goes on from where it was.

Departures (T1 to T11 in docs/explanation/token.md). A search carries how many nodes it has still to ask, and so finds
a token that rests in rings of any size (T1, T10). Equal stamps, which occur before the first visit, go by the order
from the token's first node (T4). The token carries what it has served, so that served traps are dropped instead of
sending it in vain (T6). It is lent to several in a row before it comes back, and goes on after that: lending one by
one serves at most every second move, and might keep the token in one place for ever (T7).
"""

from __future__ import annotations

from typing import Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.machine import (
    CancelTimer,
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
from solvent.protocols.token.halving import Hop, across, onward
from solvent.protocols.token.messages import Gimme, NotHere, Probe, Token
from solvent.protocols.token.state import TokenConfig, TokenState, TokenStep, Trap
from solvent.protocols.token.traps import handed_on, unserved, with_met, with_trap, without_served
from solvent.protocols.token.vocabulary import Acquire, Granted, Moved, Release

REST = "rest"
AGAIN = "again"
KEPT = "kept"
LIFE_BITS = 32
"""A node numbers its requests from its life, shifted by so many bits: no number of a former life comes again."""


class Ring:
    """One node of the ring."""

    def __init__(self, config: TokenConfig, *, tells_moves: bool = False) -> None:
        self.config = config
        self.node = config.node
        self.next = NodeId((config.node + 1) % config.size)
        self.tells_moves = tells_moves
        is_searching = config.protocol != "ring" and config.size > 1
        self.pulls = is_searching and config.finding != "push"
        self.pushes = is_searching and config.finding != "pull"
        self.drops_served = config.clean_up == "rotation"
        self.max_row = config.max_row if self.drops_served else 0
        self.is_adaptive = self.pulls and self.pushes
        # Asking round costs so many messages for each request found as searching does, if that many wait.
        self.crowd = config.crowd or config.size // max(config.size.bit_length() - 2, 1) + 1
        # As long as it takes to ask all and hear from them, if each message takes a tick.
        self.min_rest = config.size.bit_length() + 2

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
            if kind is Probe:
                return self._on_probe(state, message)
            return state, ()
        match event:
            case Requested(Acquire()):
                return self._on_acquire(state)
            case Requested(Release(is_again)):
                return self._on_release_and_acquire(state) if is_again else self._on_release(state)
            case TimerFired(name) if name == REST:
                return self._on_rested(state)
            case TimerFired(name) if name == AGAIN:
                return self._on_in_vain(state)
            case TimerFired(name) if name == KEPT:
                return self._next_search(state, Map())
        return state, ()

    # -------------------------------------------------------------------------------------------- the user

    def _on_acquire(self, state: TokenState) -> TokenStep:
        if state.is_waiting or state.is_used:
            return state, ()
        state = replace(state, requests=state.requests + 1, is_waiting=True)
        if state.token is not None:
            return self._grant(state)
        if not self.pulls:
            return state, ()
        again = self._again()
        return state, again if state.is_crowded else (self._gimme(state, self.node, self._first_hop()), *again)

    def _again(self) -> tuple[Effect, ...]:
        return (SetTimer(AGAIN, self.config.again),) if self.config.again else ()

    def _on_in_vain(self, state: TokenState) -> TokenStep:
        """Search again: the last search, or a question who wants the token, may have got lost."""
        if not (state.is_waiting and self.pulls):
            return state, ()
        return state, (self._gimme(state, self.node, self._first_hop()), *self._again())

    def _grant(self, state: TokenState) -> TokenStep:
        """Let the user have the token that is here."""
        token = state.token
        assert token is not None, "only what is here can be granted"
        served = token.served.set(self.node, state.requests)
        token = replace(token, served=served, grants=token.grants + 1, rest=0)
        state = replace(state, token=token, is_waiting=False, is_used=True)
        effects: tuple[Effect, ...] = (Report(Granted(state.requests, token.grants)),)
        if self.config.again and self.pulls:
            effects = (CancelTimer(AGAIN), *effects)
        if not self.config.is_instant:
            return state, effects
        state, more = self._on_release(state)
        return state, (*effects, *more)

    def _on_release(self, state: TokenState) -> TokenStep:
        if not state.is_used:
            return state, ()
        return self._dispatch(replace(state, is_used=False))

    def _on_release_and_acquire(self, state: TokenState) -> TokenStep:
        """Let the token take the next request along, behind those it knows of, so that nobody need search for it."""
        token = state.token
        if not state.is_used or token is None or not self.max_row:
            state, effects = self._on_release(state)
            state, more = self._on_acquire(state)
            return state, effects + more
        if state.traps:
            state, token = self._collected(state, token)
        token = without_served(token)
        state = replace(state, token=token, requests=state.requests + 1, is_waiting=True, is_used=False)
        is_wanted = bool(token.queue)
        if is_wanted and token.lender is not None and token.row:
            # The common case while all want it, in one go.
            token = replace(token, queue=(*token.queue, (self.node, state.requests)))
            return self._sent(state, *handed_on(token), "lent")
        if not is_wanted and (state.again < self.max_row or self.next == self.node):
            return self._grant(replace(state, again=state.again + 1))
        token = replace(token, queue=(*token.queue, (self.node, state.requests)))
        if not is_wanted:
            # Somebody may want it whose search got lost. It goes on, and is lent back from the next node.
            token, state = replace(token, row=0), replace(state, has_lent=True, rest=0)
        return self._dispatch(replace(state, token=token))

    # ------------------------------------------------------------------------------------------- the token

    def _on_token(self, state: TokenState, token: Token) -> TokenStep:
        if token.is_returned:
            token = replace(token, lender=None, borrower=None, is_returned=False)
        elif token.lender is None:
            return self._visited(state, token)
        elif token.borrower != self.node:
            return self._on_passing(state, token)
        state = replace(state, token=token, is_crowded=token.is_crowded)
        return self._grant(state) if state.is_waiting else self._dispatch(state)

    def _visited(self, state: TokenState, token: Token) -> TokenStep:
        """A regular visit: stamp it, use it if wanted, and send it where it should go."""
        visits = token.visits + 1
        token = replace(token, visits=visits)
        state = replace(state, stamp=visits, token=token, is_crowded=token.is_crowded)
        return self._grant(state) if state.is_waiting else self._dispatch(state)

    def _on_passing(self, state: TokenState, token: Token) -> TokenStep:
        """On its way back along the path of a search: take the trap away, and pass it on."""
        borrower = token.borrower
        assert borrower is not None
        via = next((trap.via for trap in state.traps if trap.requester == borrower), borrower)
        traps = tuple(trap for trap in state.traps if trap.requester != borrower)
        return replace(state, traps=traps), (Send(via, token),)

    def _dispatch(self, state: TokenState) -> TokenStep:
        """Send a token that nobody uses here to who wants it, back to its lender, or round the ring; or let it rest."""
        token = state.token
        assert token is not None, "only what is here can be sent"
        if state.traps:
            state, token = self._collected(state, token)
        if token.queue:
            token = without_served(token)
            state = replace(state, token=token)
        if token.lender is not None:
            return self._on_borrowed(state, token)
        if token.queue and (state.rest or not state.has_lent):
            row = replace(token, lender=self.node, row=self.max_row)
            return self._lent(state, *handed_on(row))
        if state.traps:
            return self._lend_one(state, token)
        if self.next == self.node:
            return state, ()
        if state.rest:
            return state, ()
        if not (state.has_lent or state.has_rested):
            if token.is_crowded or (self.pushes and not self.pulls):
                return self._ask_round(state, token)
            if self.pulls and self.config.max_rest:
                return replace(state, rest=self.config.max_rest), (SetTimer(REST, self.config.max_rest),)
        left = replace(state, has_lent=False, has_rested=False, has_asked=False)
        return self._sent(left, self.next, token, "round")

    def _collected(self, state: TokenState, token: Token) -> tuple[TokenState, Token]:
        """Drop traps of those already served, and let the token take the others with it, behind what it has."""
        traps = unserved(state.traps, token) if self.drops_served else state.traps
        if not self.max_row:
            return replace(state, traps=traps), token
        token = with_met(token, traps)
        if self.is_adaptive and len(token.queue) >= self.crowd:
            token = replace(token, is_crowded=True)
        return replace(state, traps=(), token=token), token

    def _on_borrowed(self, state: TokenState, token: Token) -> TokenStep:
        """Hand a token that was borrowed to who borrows it next, or back."""
        lender = token.lender
        assert lender is not None
        if token.row and token.queue:
            return self._sent(state, *handed_on(token), "lent")
        return self._sent(state, lender, replace(token, row=0, is_returned=True), "returned")

    def _lend_one(self, state: TokenState, token: Token) -> TokenStep:
        """Lend the token to who set the first trap, as the paper does."""
        trap, *others = state.traps
        to = trap.via if self.config.clean_up == "inverse" else trap.requester
        lent = replace(token, lender=self.node, borrower=trap.requester)
        return self._lent(replace(state, traps=tuple(others)), to, lent)

    def _lent(self, state: TokenState, to: NodeId, token: Token) -> TokenStep:
        """Lend the token. After that it goes on; where it has asked round, when all have had time to answer."""
        timer: tuple[Effect, ...] = ()
        rest = min(state.rest, self.min_rest) if state.has_asked else 0
        if rest != state.rest:
            timer = (SetTimer(REST, rest) if rest else CancelTimer(REST),)
        state, effects = self._sent(replace(state, has_lent=True, rest=rest), to, token, "lent")
        return state, (*timer, *effects)

    def _sent(self, state: TokenState, to: NodeId, token: Token, why: str) -> TokenStep:
        state, freed = self._go_on_searching(replace(state, token=None, again=0), token)
        told: tuple[Effect, ...] = (Report(Moved(to, why)),) if self.tells_moves else ()
        return state, (*told, Send(to, token), *freed)

    # --------------------------------------------------------------------------- its rest, and asking round

    def _ask_round(self, state: TokenState, token: Token) -> TokenStep:
        """Ask all others who wants the token, and wait for what they say."""
        rest = self.min_rest
        if self.is_adaptive:
            # Since the last time enough have been served; else this is the last time for now, and all are told so.
            is_crowded = 2 * (token.grants - token.asked) >= self.crowd
            token = replace(token, asked=token.grants, is_crowded=is_crowded)
        else:
            rest = max(token.rest, rest)
            longest = max(self.config.max_rest or self.config.size, self.min_rest)
            token = replace(token, rest=min(2 * rest, longest))
        state = replace(state, token=token, rest=rest, has_asked=True, is_crowded=token.is_crowded)
        return state, (SetTimer(REST, rest), *self._asked(Probe(self.node, self.config.size - 1, token.is_crowded)))

    def _on_rested(self, state: TokenState) -> TokenStep:
        if not state.rest:
            return state, ()
        state = replace(state, rest=0, has_rested=True)
        return (state, ()) if state.token is None or state.is_used else self._dispatch(state)

    def _asked(self, probe: Probe) -> tuple[Effect, ...]:
        """Ask as many nodes after this one as is wanted, half of them through each of two."""
        count = probe.count
        if not count:
            return ()
        half = (count + 1) // 2
        near = Send(self.next, replace(probe, count=half - 1))
        if count == half:
            return (near,)
        return near, Send(NodeId((self.next + half) % self.config.size), replace(probe, count=count - half - 1))

    def _on_probe(self, state: TokenState, probe: Probe) -> TokenStep:
        asked = self._asked(probe)
        if state.is_crowded != probe.is_crowded:
            state = replace(state, is_crowded=probe.is_crowded)
        if not state.is_waiting or probe.holder == self.node:
            return state, asked
        # An answer is a search that begins where the token is; if it has left, and searches are wanted, it goes on.
        distance = (probe.holder - self.node) % self.config.size
        hop = Hop(distance, distance - 1, self.config.size - 1 - distance) if self.pulls else Hop(distance, 0, 0)
        return state, (self._gimme(state, self.node, hop), *asked)

    # ------------------------------------------------------------------------------------------ the search

    def _gimme(self, state: TokenState, here: NodeId, hop: Hop) -> Send:
        to = NodeId((here + hop.distance) % self.config.size)
        return Send(to, Gimme(self.node, state.requests, state.stamp, hop.behind, hop.ahead))

    def _on_gimme(self, state: TokenState, sender: NodeId, gimme: Gimme) -> TokenStep:
        requester = gimme.requester
        if requester == self.node:
            return state, ()
        state = replace(state, traps=with_trap(state.traps, Trap(requester, gimme.request, sender)))
        token = state.token
        if token is not None and token.lender is None and not state.is_used:
            return self._dispatch(state)
        if self.max_row and (token is not None or state.has_lent):
            # The token is in use here or comes back here, and takes the trap with it: the search is over.
            return state, ()
        if self.config.is_directed:
            return state, (Send(requester, NotHere(gimme.request, state.stamp, gimme.behind, gimme.ahead)),)
        if self.config.has_one_search and state.passed_on is not None:
            return replace(state, delayed=(*state.delayed, gimme)), ()
        return self._pass_on(state, gimme)

    def _pass_on(self, state: TokenState, gimme: Gimme) -> TokenStep:
        is_ahead = self._is_ahead(self.node, state.stamp, gimme.requester, gimme.stamp)
        hop = self._hop(gimme.behind, gimme.ahead, is_ahead=is_ahead)
        if hop is None:
            return state, ()
        to = NodeId((self.node + hop.distance) % self.config.size)
        passed_on: tuple[Effect, ...] = (Send(to, replace(gimme, behind=hop.behind, ahead=hop.ahead)),)
        if self.config.has_one_search:
            state = replace(state, passed_on=(gimme.requester, gimme.request))
            if self.config.max_rest:
                # A token that rests will not come by and tell that it has served this one.
                passed_on = (*passed_on, SetTimer(KEPT, 2 * self.min_rest))
        return state, passed_on

    def _on_not_here(self, state: TokenState, sender: NodeId, answer: NotHere) -> TokenStep:
        if not state.is_waiting or answer.request != state.requests:
            return state, ()
        is_ahead = self._is_ahead(sender, answer.stamp, self.node, state.stamp)
        hop = self._hop(answer.behind, answer.ahead, is_ahead=is_ahead)
        return state, () if hop is None else (self._gimme(state, sender, hop),)

    def _is_ahead(self, here: NodeId, stamp: int, requester: NodeId, theirs: int) -> bool:
        """Whether the token is ahead of a node visited at `stamp`, for a requester visited at `theirs`."""
        return stamp > theirs or (stamp == theirs and here > requester)

    def _first_hop(self) -> Hop:
        return across(self.config.size)

    def _hop(self, behind: int, ahead: int, *, is_ahead: bool) -> Hop | None:
        return onward(behind, ahead, is_ahead=is_ahead)

    def _go_on_searching(self, state: TokenState, token: Token) -> TokenStep:
        """When the search this node had passed on is served, pass on the next one it kept."""
        if state.passed_on is None:
            return state, ()
        requester, request = state.passed_on
        if token.served.get(requester, 0) < request and token.borrower != requester:
            return state, ()
        return self._next_search(state, token.served)

    def _next_search(self, state: TokenState, served: Map[NodeId, int]) -> TokenStep:
        """Pass on the next search that was kept."""
        kept = [gimme for gimme in state.delayed if served.get(gimme.requester, 0) < gimme.request]
        state = replace(state, passed_on=None, delayed=tuple(kept[1:]))
        return self._pass_on(state, kept[0]) if kept else (state, ())
