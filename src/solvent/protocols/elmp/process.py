"""One process of ELMP: exclusive locks for processes that come and go.

After S. L. Hernane, J. Gustedt and M. Benyettou, "Data handover on a peer-to-peer system" (Inria, RR-8690, 2015). A
tree leads every request to the root, which is the last of those who wait; the queue of those who wait is a list spread
over them; the token goes along it. Processes join and leave at any time, and the tree is kept low, so that everything
costs a number of messages that grows as the logarithm of the number of processes.

Here every event is handed to the function that takes it: in `lock` (queue, token, claims) or in `tree` (seats). What
was read into the paper and what was changed: docs/explanation/elmp.md. Messages must arrive once and in the order they
were sent on each channel, as within a `Linked`. Crashes are not dealt with here.
"""

from __future__ import annotations

from typing import Any, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.elmp import lock, tree
from solvent.protocols.elmp.messages import (
    Adopt,
    Agreed,
    Attach,
    Await,
    Climb,
    Done,
    ElmpMessage,
    Enter,
    Exchange,
    Follow,
    Followed,
    Freed,
    Gather,
    Gathered,
    Hello,
    Leaving,
    Link,
    Lower,
    Own,
    Ranked,
    Relink,
    Relinked,
    Resized,
    Rise,
    Seat,
    Seated,
    Settled,
    Stand,
    Standing,
    Surrender,
    Taken,
    Token,
    Unknown,
    Unlink,
    Unlinked,
    Upper,
    Welcome,
    Won,
)
from solvent.protocols.elmp.state import (
    Blocked,
    ElmpConfig,
    ElmpState,
    ElmpStep,
    Exiting,
    Idle,
    Joining,
    Out,
    Place,
    Requesting,
    Step,
)
from solvent.protocols.elmp.vocabulary import Data, Fetched, Join, Leave, Release, Request, Withdraw
from solvent.protocols.machine import Event, NodeId, Received, Requested, TimerFired

SeatMessage: TypeAlias = Climb | Stand | Leaving | Enter | Adopt | Attach | Surrender | Resized
_AT_ANY_TIME = frozenset((Await, Done, Taken, Link, Unlink, Unlinked, Relink, Relinked))
"""What concerns the queue."""
Wanted: TypeAlias = Request | Withdraw | Release | Fetched | Join | Leave


class Elmp:
    """One process; `seat` and `rank` are those it begins with, if it takes part from the beginning."""

    def __init__(
        self,
        node: NodeId,
        config: ElmpConfig,
        *,
        seat: Seat | None = None,
        rank: int = 0,
        data: Data | None = None,
    ) -> None:
        self.node = node
        self.config = config
        self.seat = seat
        self.rank = rank
        self.data = data

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> ElmpStep:
        """Begin; the root has the token."""
        del saved, life
        if self.seat is None:
            return ElmpState(Out()), ()
        keeps = self.data.version if self.data is not None and self.data.holder == self.node else None
        places = (Place(1, None, has_token=True, data=self.data),) if self.seat.parent is None else ()
        stored = self.data if keeps is not None else None
        return seated(self.seat, self.rank, places=places, keeps=keeps, stored=stored), ()

    def step(self, state: ElmpState, event: Event) -> ElmpStep:
        """Take one event."""
        now = Step(self.node, self.config, replace(state), [])
        if type(event) is Received:
            on_message(now, event.sender, event.message)
        elif type(event) is Requested:
            on_requested(now, event.request)
        elif type(event) is TimerFired:
            lock.on_timer(now, event.name)
        settle(now)
        return now.state, tuple(now.effects)


def seated(seat: Seat, rank: int, **known: Any) -> ElmpState:
    """Return the state of an idle process on a seat."""
    state = ElmpState(Idle(), rank=rank, **known)
    tree.sit(state, seat)
    return state


def seats(nodes: tuple[NodeId, ...], order: int) -> dict[NodeId, Seat]:
    """Return the seat of each process in the lowest tree: the first is the root, and ranks are as in the order."""
    found = {}
    for node, (parent, children) in zip(nodes, tree.arranged(nodes, order), strict=True):
        root = (len(nodes), 1, (node, 1)) if parent is None else (0, 0, None)
        found[node] = Seat(parent, children, tree.size_of(children), (), *root)
    return found


def on_requested(now: Step, request: Wanted) -> None:
    """Do what the user wants."""
    match request:
        case Request():
            tree.on_request(now, request)
        case Release():
            lock.on_release(now, request.handle, request.data)
        case Withdraw():
            lock.on_withdraw(now, request.handle)
        case Fetched():
            lock.on_fetched(now, request)
        case Join():
            tree.on_join(now, request.known)
        case Leave():
            tree.on_leave(now)
        case _:
            assert_never(request)


def on_message(now: Step, sender: NodeId, message: ElmpMessage) -> None:
    """Take a message, or keep it for later."""
    if isinstance(message, Token):
        if lock.on_token(now, message):
            tree.be_idle(now)
        return
    state = now.state
    if type(message) not in _AT_ANY_TIME:
        if type(state.phase) is Out or type(state.phase) is Joining:
            tree.on_outside(now, sender, message)
            return
        if state.gathering is not None and type(message) is not Hello and not is_for_gathering(now, sender, message):
            return
    match message:
        case Climb() | Stand() | Leaving() | Enter() | Adopt() | Attach() | Surrender() | Resized():
            on_seat_message(now, sender, message)
        case Hello():
            on_message(now, sender, Enter(sender))
        # Requests, and two that change seats.
        case Won():
            tree.on_won(now, message)
        case Rise():
            tree.on_rise(now, message)
        case Follow():
            tree.on_follow(now, sender, message)
        case Followed():
            tree.on_followed(now, sender)
        case Upper():
            tree.on_upper(now, sender, message)
        case Lower():
            tree.on_lower(now, message)
        case Freed():
            tree.let_go(now, {(message.requester, message.number)})
        # Departures, and the balance of the tree.
        case Standing():
            tree.on_standing(now, sender)
        case Agreed():
            tree.on_agreed(now)
        case Exchange():
            tree.begin_swap(now, sender, is_upper=False)
        case Settled():
            tree.on_settled(now, sender)
        case Gather() if is_amid_exchange(state):
            state.early = (*state.early, (sender, message))
        case Gather():
            tree.on_gather(now, sender)
        case Gathered():
            tree.on_gathered(now, sender, message)
        case Seated():
            tree.on_seated(now, message)
        # The queue, and claims that are held together.
        case Link():
            lock.on_link(now, message)
        case Await():
            lock.on_await(now, message)
        case Done():
            lock.on_done(now, message)
        case Taken():
            lock.on_taken(now, message)
        case Unlink():
            lock.on_unlink(now, message)
        case Unlinked():
            lock.on_unlinked(now, message)
        case Relink():
            lock.on_relink(now, message)
        case Relinked():
            lock.on_relinked(now, message)
        case Ranked() | Welcome() | Unknown():
            # Of an attempt to join that is over.
            return
        case _:
            assert_never(message)


def is_for_gathering(now: Step, sender: NodeId, message: ElmpMessage) -> bool:
    """Return whether to take a message while the tree is built anew; keep or forget the others."""
    state = now.state
    gathering = state.gathering
    assert gathering is not None
    if isinstance(message, Gathered | Seated | Freed):
        return True
    if sender in gathering.waiting:
        # Said before it knew: it will begin again. These do not.
        if isinstance(message, Enter | Surrender):
            state.early = (*state.early, (sender, message))
        return False
    if gathering.is_top:
        # It keeps its own seat, and what waits there.
        return True
    state.early = (*state.early, (sender, message))
    return False


def is_amid_exchange(state: ElmpState) -> bool:
    """Whether this process changes seats or builds the tree anew, or a child changes seats; it is soon over."""
    if state.swap is not None or state.gathering is not None:
        return True
    return type(state.phase) is Blocked and state.phase.by != state.parent


def on_seat_message(now: Step, sender: NodeId, message: SeatMessage) -> None:
    """Queue what is said to who has this seat; if that changes, it goes with the old one or waits for the new."""
    state, kind, swap = now.state, type(message), now.state.swap
    is_impatience = type(message) is Climb and not message.requests
    if swap is not None and sender == swap.other and (is_impatience or kind is Resized):
        # Of the lower seat, when its occupant still was a child: what it told goes with the seats.
        return
    is_strange = (kind is Climb or kind is Leaving or kind is Resized) and not tree.has_child(state, sender)
    if is_impatience and is_strange and swap is None and type(state.phase) not in (Requesting, Blocked):
        # From a former child; it has heard of its place, and this process is not about to have another seat.
        return
    if is_strange or (swap is not None and sender not in swap.waiting):
        # From a child of the seat that this process is going to have, perhaps without having heard of it yet.
        state.early = (*state.early, (sender, message))
    elif is_impatience:
        tree.on_impatience(now, sender)
    elif isinstance(message, Climb) or not isinstance(message, Resized):
        state.queue = (*state.queue, (sender, message))
        if type(state.phase) is Exiting:
            tree.consider_standing(now)
    else:
        tree.on_resized(now, sender, message)


# --------------------------------------------------------------------------------------------------- what waits


def settle(now: Step) -> None:
    """Take what came too early, and what waits, one after the other, while there is nothing else to do."""
    state = now.state
    while True:
        while now.has_settled:
            now.has_settled = False
            early, state.early = state.early, ()
            for sender, message in early:
                on_message(now, sender, message)
        if now.is_reshaped:
            tree.consider_shape(now)
        if state.departure is not None:
            tree.consider_leaving(now)
        if type(state.phase) is not Idle:
            tree.consider_waiting(now)
            return
        if not state.queue:
            return
        if state.departure is None:
            first, state.queue = state.queue[0], state.queue[1:]
        else:
            # A neighbour may have to wait for a process that wants to leave, and for no other.
            ready = [one for one in state.queue if not tree.must_wait(state, *one)]
            if not ready:
                return
            first = ready[0]
            state.queue = tuple([one for one in state.queue if one is not first])
        take(now, *first)


def take(now: Step, sender: NodeId, message: Own | SeatMessage) -> None:
    """Take the next in the queue."""
    match message:
        case Climb():
            tree.on_climb(now, message)
        case Own():
            take_own(now, message)
        case Stand():
            tree.on_stand(now, sender)
        case Leaving():
            tree.on_leaving(now, sender, message)
        case Enter():
            tree.on_enter(now, message)
        case Adopt():
            # The parent has counted it.
            now.state.told = (now.state.told[0], now.state.told[1] + 1)
            tree.find_seat(now, message.newcomer, message.rank)
        case Attach():
            tree.find_seat(now, message.newcomer, message.rank)
        case Surrender():
            tree.on_surrender(now, message)
        case Resized():
            tree.on_resized(now, sender, message)
        case _:
            assert_never(message)


def take_own(now: Step, wish: Own) -> None:
    """Do what this process itself has queued up for."""
    match wish.what:
        case "request":
            tree.begin_request(now, wish.handle, wish.claim)
        case "climb":
            tree.climb(now)
        case "exit":
            tree.begin_exit(now)
        case "keep":
            tree.begin_keeping(now)
        case _:
            tree.begin_rebuilding(now)


__all__ = ["Elmp", "SeatMessage", "seated", "seats"]
