"""One node of the token protocol: a token goes round a ring, and a search by halving brings it to who wants it.

After B. Englert, L. Rudolph and A. Shvartsman, "Developing and refining an adaptive token-passing strategy" (2001),
System BinarySearch and the variants of its section 4.4. The token goes from node to node; at each regular visit it
counts up, and the node keeps the count as its stamp. A node that wants it sends a `Gimme` to the node across the ring.
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

from typing import Any, NamedTuple, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.machine import (
    Answered,
    CancelTimer,
    Chosen,
    Configured,
    Draft,
    Event,
    NodeId,
    NodeState,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Send,
    SetTimer,
    Step,
    TimerFired,
    Value,
)
from solvent.protocols.maps import Map
from solvent.protocols.token.messages import (
    Acquire,
    Gimme,
    Granted,
    Moved,
    NotHere,
    Probe,
    Release,
    RingMessage,
    Token,
)

REST = "rest"
AGAIN = "again"
KEPT = "kept"
LIFE_BITS = 32
"""A node numbers its requests from its life, shifted by so many bits: no number of a former life comes again."""


class TokenConfig(Value, frozen=True, gc=False):
    """How the token goes about; the paper's variants."""

    node: NodeId
    #: How many nodes the ring has.
    size: int
    #: `ring`: the token goes round and nothing else; `binary`: it can be searched for.
    protocol: str = "binary"
    #: How obsolete traps go away: `rotation` (the token carries what it has served), `inverse` (it goes back along the
    #: path of the search), or `none` (a borrower that wants it no longer gives it back).
    clean_up: str = "rotation"
    #: The requester asks node after node itself, instead of nodes passing the search on.
    is_directed: bool = False
    #: A node passes on one search at a time, and keeps the others until that one has been served.
    has_one_search: bool = False
    #: A node that wants the token looks for it (`pull`); or the holder asks all who wants it (`push`); or `both`:
    #: searches, and while many want it, questions instead.
    finding: str = "pull"
    #: With `both`: how many are many; zero: as many as make asking round cheaper than searching.
    crowd: int = 0
    #: How many borrow the token in a row, before it comes back and goes on; zero: one at a time, as in the paper, as
    #: long as there are traps. It is so with any clean-up but `rotation`.
    max_row: int = 16
    #: The longest rest, in ticks, of a token that nobody wants; zero: it never rests. Where it asks round itself it
    #: rests after each time, and zero stands for as many ticks as there are nodes.
    max_rest: int = 0
    #: A node that has searched and still waits after so many ticks searches again; zero: never.
    again: int = 0
    #: Whether a user needs no time with the token; else it must be released.
    is_instant: bool = True


class Trap(Value, frozen=True, gc=False):
    """A note that a node wants the token, left by a search that came by."""

    requester: NodeId
    request: int
    #: Where the search came from: the way back to the requester.
    via: NodeId


class TokenState(NodeState, gc=False):
    """One node."""

    #: The number of the token's last regular visit here; none yet: -1.
    stamp: int = -1
    #: How many requests this node has made, and whether the last one waits.
    requests: int = 0
    is_waiting: bool = False
    #: The token while it is here.
    token: Token | None = None
    #: Whether the user has it just now.
    is_used: bool = False
    #: How often the user has had it again since it came.
    again: int = 0
    #: First in, first out.
    traps: tuple[Trap, ...] = ()
    #: Searches that wait because this node has passed one on that is not yet served.
    delayed: tuple[Gimme, ...] = ()
    #: The search this node has passed on, if it passes on one at a time.
    passed_on: tuple[NodeId, int] | None = None
    #: How long the token rests here before it goes on, if it does: a timer runs.
    rest: int = 0
    #: Whether that time is over, or the token has been lent from here: it goes on when nobody uses it.
    has_rested: bool = False
    has_lent: bool = False
    #: Whether this node, with the token, has asked who wants it.
    has_asked: bool = False
    #: Whether many wanted the token when it was last heard of: it will ask who does, and nobody need search.
    is_crowded: bool = False


class Ring:
    """The ring as one node sees it: how it is set up, and what follows from that."""

    def __init__(self, config: TokenConfig, *, tells_moves: bool) -> None:
        self.node = config.node
        self.size = config.size
        self.next = NodeId((config.node + 1) % config.size)
        self.tells_moves = tells_moves
        is_searching = config.protocol != "ring" and config.size > 1
        self.pulls = is_searching and config.finding != "push"
        self.pushes = is_searching and config.finding != "pull"
        self.is_adaptive = self.pulls and self.pushes
        self.drops_served = config.clean_up == "rotation"
        self.goes_back = config.clean_up == "inverse"
        self.max_row = config.max_row if self.drops_served else 0
        # Asking round costs so many messages for each request found as searching does, if that many wait.
        self.crowd = config.crowd or config.size // max(config.size.bit_length() - 2, 1) + 1
        # As long as it takes to ask all and hear from them, if each message takes a tick.
        self.min_rest = config.size.bit_length() + 2
        self.max_rest = config.max_rest
        self.again = config.again if self.pulls else 0
        self.is_instant = config.is_instant
        self.is_directed = config.is_directed
        self.has_one_search = config.has_one_search


Now: TypeAlias = Draft[Ring, TokenState]


def ring_node(config: TokenConfig, *, tells_moves: bool = False) -> Configured[Ring, TokenState]:
    """Make the machine of a node; it reports moves of the token if wanted."""
    return Configured(start, step, Ring(config, tells_moves=tells_moves))


def start(ring: Ring, _saved: tuple[Any, ...] = (), life: int = 0) -> Step[TokenState]:
    """Begin; in its first life the first node has the token, and in no other one makes a second."""
    now = Draft(ring, TokenState(requests=life << LIFE_BITS))
    if not ring.node and not life:
        on_token(now, Token(visits=-1))
    return now.state, tuple(now.effects)


def step(ring: Ring, state: TokenState, event: Event) -> Step[TokenState]:
    """Take one event."""
    now = Draft(ring, replace(state))
    match event:
        case Received():
            on_message(now, event.sender, event.message)
        case Requested(Acquire()):
            acquire(now)
        case Requested(Release(is_again)):
            release_and_acquire(now) if is_again else release(now)
        case TimerFired(name):
            on_timer(now, name)
        case Requested() | Chosen() | Answered() | PeerRestarted():
            pass
        case _:
            assert_never(event)
    return now.state, tuple(now.effects)


def on_message(now: Now, sender: NodeId, message: RingMessage) -> None:
    """Take a message."""
    match message:
        case Token():
            on_token(now, message)
        case Gimme():
            on_gimme(now, sender, message)
        case NotHere():
            on_not_here(now, sender, message)
        case Probe():
            on_probe(now, message)
        case _:
            assert_never(message)


def on_timer(now: Now, name: str) -> None:
    """Let the token go on after its rest; search again; or pass on a search that was kept."""
    state = now.state
    if name == REST and state.rest:
        state.rest, state.has_rested = 0, True
        if state.token is not None and not state.is_used:
            dispatch(now)
    elif name == AGAIN and state.is_waiting and now.config.pulls:
        # The last search, or a question who wants the token, may have got lost.
        search(now, now.config.node, across(now.config.size))
        search_again_later(now)
    elif name == KEPT:
        pass_on_next(now, Map())


# ------------------------------------------------------------------------------------------------------ the user


def acquire(now: Now) -> None:
    """Want the token: use it if it is here, else search for it."""
    ring, state = now.config, now.state
    if state.is_waiting or state.is_used:
        return
    state.requests += 1
    state.is_waiting = True
    if state.token is not None:
        grant(now)
    elif ring.pulls:
        if not state.is_crowded:
            search(now, ring.node, across(ring.size))
        search_again_later(now)


def search_again_later(now: Now) -> None:
    """Set the timer for the next search, if there is to be one."""
    if now.config.again:
        now.effects.append(SetTimer(AGAIN, now.config.again))


def grant(now: Now) -> None:
    """Let the user have the token that is here."""
    ring, state = now.config, now.state
    token = state.token
    assert token is not None, "only what is here can be granted"
    served = token.served.set(ring.node, state.requests)
    token = state.token = replace(token, served=served, grants=token.grants + 1, rest=0)
    state.is_waiting, state.is_used = False, True
    if ring.again:
        now.effects.append(CancelTimer(AGAIN))
    now.report(Granted(state.requests, token.grants))
    if ring.is_instant:
        release(now)


def release(now: Now) -> None:
    """Send the token where it should go."""
    if now.state.is_used:
        now.state.is_used = False
        dispatch(now)


def release_and_acquire(now: Now) -> None:
    """Let the token take the next request along, behind those it knows of, so that nobody need search for it."""
    ring, state = now.config, now.state
    if not state.is_used or state.token is None or not ring.max_row:
        release(now)
        acquire(now)
        return
    state.requests += 1
    state.is_waiting, state.is_used = True, False
    token = without_served(collected(now, state.token))
    is_wanted = bool(token.queue)
    if not is_wanted and (state.again < ring.max_row or ring.next == ring.node):
        state.token = token
        state.again += 1
        grant(now)
        return
    state.token = token = replace(token, queue=(*token.queue, (ring.node, state.requests)))
    if not is_wanted:
        # Others may want it whose searches got lost. It goes on, and is lent back from the next node.
        state.token = replace(token, row=0)
        state.has_lent, state.rest = True, 0
    dispatch(now)


# ----------------------------------------------------------------------------------------------------- the token


def on_token(now: Now, token: Token) -> None:
    """Take the token: on a regular visit, as its borrower, or back; or pass it on to its borrower."""
    if token.is_returned:
        token = replace(token, lender=None, borrower=None, is_returned=False)
    elif token.lender is None:
        visits = now.state.stamp = token.visits + 1
        token = replace(token, visits=visits)
    elif token.borrower != now.config.node:
        pass_back(now, token)
        return
    take(now, token)


def take(now: Now, token: Token) -> None:
    """Use the token if it is wanted, and send it where it should go."""
    now.state.token, now.state.is_crowded = token, token.is_crowded
    if now.state.is_waiting:
        grant(now)
    else:
        dispatch(now)


def pass_back(now: Now, token: Token) -> None:
    """Take the trap of a search away, and pass the token on along its path."""
    borrower, state = token.borrower, now.state
    assert borrower is not None
    via = next((trap.via for trap in state.traps if trap.requester == borrower), borrower)
    state.traps = tuple([trap for trap in state.traps if trap.requester != borrower])
    now.send(via, token)


def dispatch(now: Now) -> None:
    """Send a token that is here and unused to who wants it, back to its lender, or round the ring; or let it rest."""
    ring, state = now.config, now.state
    token = state.token
    assert token is not None, "only what is here can be sent"
    if state.traps:
        token = state.token = collected(now, token)
    if token.queue:
        token = state.token = without_served(token)
    has_waited = state.has_lent or state.has_rested
    if token.lender is not None:
        hand_on(now, token)
    elif token.queue and (state.rest or not state.has_lent):
        lend(now, *handed_on(replace(token, lender=ring.node, row=ring.max_row)))
    elif state.traps:
        # One by one, as the paper does.
        trap, *others = state.traps
        state.traps = tuple(others)
        to = trap.via if ring.goes_back else trap.requester
        lend(now, to, replace(token, lender=ring.node, borrower=trap.requester))
    elif ring.next == ring.node or state.rest:
        pass
    elif not has_waited and (token.is_crowded or (ring.pushes and not ring.pulls)):
        ask_round(now, token)
    elif not has_waited and ring.pulls and ring.max_rest:
        state.rest = ring.max_rest
        now.effects.append(SetTimer(REST, ring.max_rest))
    else:
        state.has_lent = state.has_rested = state.has_asked = False
        send_token(now, ring.next, token, "round")


def collected(now: Now, token: Token) -> Token:
    """Return the token with the traps that it has met here, behind those it has; drop traps of those served."""
    ring, state = now.config, now.state
    if ring.drops_served:
        served = token.served
        state.traps = tuple([trap for trap in state.traps if served.get(trap.requester, 0) < trap.request])
    if not ring.max_row:
        return token
    met = [(trap.requester, trap.request) for trap in state.traps]
    state.traps = ()
    token = replace(token, queue=tuple(dict.fromkeys([*token.queue, *met])))
    return replace(token, is_crowded=True) if ring.is_adaptive and len(token.queue) >= ring.crowd else token


def without_served(token: Token) -> Token:
    """Return the token without those at the head of its queue that have been served since they joined it."""
    served, queue = token.served, token.queue
    done = 0
    while done < len(queue) and served.get(queue[done][0], 0) >= queue[done][1]:
        done += 1
    return replace(token, queue=queue[done:]) if done else token


def handed_on(token: Token) -> tuple[NodeId, Token]:
    """Return the first in the token's queue, and the token as it is lent to that one."""
    (borrower, _), *_ = queue = token.queue
    return borrower, replace(token, borrower=borrower, queue=queue[1:], row=token.row - 1)


def hand_on(now: Now, token: Token) -> None:
    """Hand a token that was borrowed to the next borrower, or back."""
    assert token.lender is not None
    if token.row and token.queue:
        send_token(now, *handed_on(token), "lent")
    else:
        send_token(now, token.lender, replace(token, row=0, is_returned=True), "returned")


def lend(now: Now, to: NodeId, token: Token) -> None:
    """Lend the token. After that it goes on; where it has asked round, when all have had time to answer."""
    state = now.state
    rest = min(state.rest, now.config.min_rest) if state.has_asked else 0
    if rest != state.rest:
        now.effects.append(SetTimer(REST, rest) if rest else CancelTimer(REST))
    state.has_lent, state.rest = True, rest
    send_token(now, to, token, "lent")


def send_token(now: Now, to: NodeId, token: Token, why: str) -> None:
    """Let go of the token."""
    state = now.state
    state.token, state.again = None, 0
    if now.config.tells_moves:
        now.effects.append(Report(Moved(to, why)))
    now.effects.append(Send(to, token))
    if state.passed_on is not None:
        requester, request = state.passed_on
        if token.served.get(requester, 0) >= request or token.borrower == requester:
            pass_on_next(now, token.served)


# -------------------------------------------------------------------------------------------------- asking round


def ask_round(now: Now, token: Token) -> None:
    """Ask all others who wants the token, and wait for what they say."""
    ring, state = now.config, now.state
    rest = ring.min_rest
    if ring.is_adaptive:
        # Since the last time enough have been served; else this is the last time for now, and all are told so.
        is_crowded = 2 * (token.grants - token.asked) >= ring.crowd
        token = replace(token, asked=token.grants, is_crowded=is_crowded)
    else:
        rest = max(token.rest, rest)
        longest = max(ring.max_rest or ring.size, ring.min_rest)
        token = replace(token, rest=min(2 * rest, longest))
    state.token, state.is_crowded = token, token.is_crowded
    state.rest, state.has_asked = rest, True
    now.effects.append(SetTimer(REST, rest))
    ask_others(now, Probe(ring.node, ring.size - 1, token.is_crowded))


def ask_others(now: Now, probe: Probe) -> None:
    """Ask as many nodes after this one as is wanted, half of them through each of two."""
    ring, count = now.config, probe.count
    half = (count + 1) // 2
    if count:
        now.send(ring.next, replace(probe, count=half - 1))
    if count > half:
        now.send(NodeId((ring.next + half) % ring.size), replace(probe, count=count - half - 1))


def on_probe(now: Now, probe: Probe) -> None:
    """Answer, and ask others."""
    ring, state = now.config, now.state
    state.is_crowded = probe.is_crowded
    if state.is_waiting and probe.holder != ring.node:
        # An answer is a search that begins where the token is; if it has left, and searches are wanted, it goes on.
        distance = (probe.holder - ring.node) % ring.size
        is_search = ring.pulls
        search(now, ring.node, Hop(distance, (distance - 1) * is_search, (ring.size - 1 - distance) * is_search))
    ask_others(now, probe)


# ----------------------------------------------------------------------------------------------------- searching


class Hop(NamedTuple):
    """The next hop of a search."""

    #: How far it goes round the ring; negative: back.
    distance: int
    #: How many nodes are still to be asked before and after the one it goes to.
    behind: int
    ahead: int


def across(size: int) -> Hop:
    """Return the first hop of a search, from its requester; there must be another node to ask.

    All other nodes are on the two sides of the search: those between the requester and the node across are behind, the
    rest ahead. A node that is asked and does not have the token knows on which side it is; the other side is left out
    for good, and the search goes to the middle of this one. It ends where that side is empty. So it has asked every
    node that could have the token, after at most log2 N messages, rounded up.

    The paper halves a number instead, the distance of the next hop. That asks the right nodes only if N is a power of
    two: in a ring of three, x asks x+1 and never x+2 (T10). Rounding up helps some sizes, not 3, 5, 9, 10 and 11.
    """
    half = size // 2
    return Hop(half, half - 1, size - half - 1)


def onward(behind: int, ahead: int, *, is_ahead: bool) -> Hop | None:
    """Return the next hop from a node that knows on which side the token is; None if that side is empty."""
    if is_ahead:
        half = (ahead + 1) // 2
        return Hop(half, half - 1, ahead - half) if half else None
    half = (behind + 1) // 2
    return Hop(-half, behind - half, half - 1) if half else None


def is_token_ahead(here: NodeId, stamp: int, requester: NodeId, theirs: int) -> bool:
    """Decide whether the token is ahead of a node visited at `stamp`, for a requester visited at `theirs`."""
    return stamp > theirs or (stamp == theirs and here > requester)


def search(now: Now, here: NodeId, hop: Hop) -> None:
    """Ask the node that is one hop from `here` for the token."""
    to = NodeId((here + hop.distance) % now.config.size)
    now.send(to, Gimme(now.config.node, now.state.requests, now.state.stamp, hop.behind, hop.ahead))


def on_gimme(now: Now, sender: NodeId, gimme: Gimme) -> None:
    """Set a trap; lend the token, or say that it is not here, or pass the search on."""
    ring, state = now.config, now.state
    requester, token = gimme.requester, state.token
    if requester == ring.node:
        return
    state.traps = with_trap(state.traps, Trap(requester, gimme.request, sender))
    if token is not None and token.lender is None and not state.is_used:
        dispatch(now)
    elif ring.max_row and (token is not None or state.has_lent):
        # The token is in use here or comes back here, and takes the trap with it: the search is over.
        pass
    elif ring.is_directed:
        now.send(requester, NotHere(gimme.request, state.stamp, gimme.behind, gimme.ahead))
    elif ring.has_one_search and state.passed_on is not None:
        state.delayed = (*state.delayed, gimme)
    else:
        pass_on(now, gimme)


def with_trap(traps: tuple[Trap, ...], trap: Trap) -> tuple[Trap, ...]:
    """Add a trap at the end, instead of one for an older request of the same node; one for the same keeps its place."""
    for other in traps:
        if other.requester == trap.requester:
            return traps if other.request >= trap.request else (*[one for one in traps if one is not other], trap)
    return (*traps, trap)


def pass_on(now: Now, gimme: Gimme) -> None:
    """Pass a search on to the side where the token is."""
    ring, state = now.config, now.state
    is_ahead = is_token_ahead(ring.node, state.stamp, gimme.requester, gimme.stamp)
    hop = onward(gimme.behind, gimme.ahead, is_ahead=is_ahead)
    if hop is None:
        return
    now.send(NodeId((ring.node + hop.distance) % ring.size), replace(gimme, behind=hop.behind, ahead=hop.ahead))
    if ring.has_one_search:
        state.passed_on = gimme.requester, gimme.request
        if ring.max_rest:
            # A token that rests will not come by and tell that it has served this one.
            now.effects.append(SetTimer(KEPT, 2 * ring.min_rest))


def pass_on_next(now: Now, served: Map[NodeId, int]) -> None:
    """Pass on the next search that was kept."""
    state = now.state
    kept = [one for one in state.delayed if served.get(one.requester, 0) < one.request]
    state.passed_on, state.delayed = None, tuple(kept[1:])
    if kept:
        pass_on(now, kept[0])


def on_not_here(now: Now, sender: NodeId, answer: NotHere) -> None:
    """Ask the next node, in a directed search."""
    state = now.state
    if state.is_waiting and answer.request == state.requests:
        is_ahead = is_token_ahead(sender, answer.stamp, now.config.node, state.stamp)
        hop = onward(answer.behind, answer.ahead, is_ahead=is_ahead)
        if hop is not None:
            search(now, sender, hop)


__all__ = ["AGAIN", "KEPT", "REST", "Ring", "TokenConfig", "TokenState", "Trap", "ring_node", "start", "step"]
