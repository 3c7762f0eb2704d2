"""One process of ELMP: exclusive locks for processes that come and go.

After S. L. Hernane, J. Gustedt and M. Benyettou, "Data handover on a peer-to-peer system" (Inria, RR-8690, 2015). A
tree leads every request to the root, which is the last of those who wait; the queue of those who wait is a list spread
over them; the token goes along it. Processes join and leave at any time, and the tree is kept low, so that everything
costs a number of messages that grows as the logarithm of the number of processes.

Here events are handed to those who know what to do with them: see `desk` for who they are, and
docs/explanation/elmp.md for what was read into the paper and what was changed. Messages must arrive once and in the
order they were sent on each channel, as within a `Linked`. Crashes are not dealt with here.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from solvent.protocols.elmp.balance import Balancing, arranged
from solvent.protocols.elmp.messages import (
    Adopt,
    Agreed,
    Attach,
    Await,
    Climb,
    Done,
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
    Superseded,
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
from solvent.protocols.elmp.state import Blocked, ElmpConfig, ElmpState, ElmpStep, Idle, Joining, Out, Place, Requesting
from solvent.protocols.elmp.usual import USUAL
from solvent.protocols.elmp.vocabulary import Data, Fetched, Join, Leave, Release, Request, Stored, Withdraw
from solvent.protocols.machine import Event, NodeId, Received, Requested, TimerFired

_OF_QUEUE = frozenset((Token, Await, Done, Superseded, Taken, Link, Unlink, Unlinked, Relink, Relinked))
_OF_SEAT = frozenset((Climb, Stand, Leaving, Enter, Adopt, Attach, Surrender, Resized))
_FROM_CHILDREN = frozenset((Climb, Leaving, Resized))
_TO_NEWCOMERS = (Ranked, Welcome, Unknown)
SeatMessage: TypeAlias = Climb | Stand | Leaving | Enter | Adopt | Attach | Surrender | Resized


class Process(Balancing):
    """One step of a process."""

    def on_event(self, event: Event) -> None:
        """Take one event."""
        # Questions of type are asked in the quickest way here and below: every message passes them.
        kind = type(event)
        if kind is Received:
            self.on_message(event.sender, event.message)  # type: ignore[union-attr]
        elif kind is Requested:
            self.on_requested(event.request)  # type: ignore[union-attr]
        elif kind is TimerFired:
            self.on_timer(event.name)  # type: ignore[union-attr]
        self.settle()

    def on_requested(self, request: Any) -> None:
        """Do what the user wants."""
        match request:
            case Request():
                self.on_request(request)
            case Withdraw(handle):
                self.on_withdraw(handle)
            case Release(handle, data):
                self.on_release(handle, data)
            case Fetched():
                self.on_fetched(request)
            case Stored(data):
                self.store(data)
            case Join(known):
                self.on_join(known)
            case Leave():
                self.on_leave()

    # --------------------------------------------------------------------------------------------------- messages

    def on_message(self, sender: NodeId, message: Any) -> None:
        """Take a message, or keep it for later."""
        kind = type(message)
        if kind in _OF_QUEUE:
            self.on_queue_message(message)
        elif type(self.phase) is Out or type(self.phase) is Joining:
            self.on_outside(sender, message)
        elif kind is Hello:
            self.on_message(sender, Enter(sender))
        elif self.gathering is not None and not self.is_for_gathering(sender, message):
            return
        elif kind in _OF_SEAT:
            self.on_seat_message(sender, message)
        else:
            self.on_answer(sender, message)

    def on_outside(self, sender: NodeId, message: Any) -> None:
        """Take what comes to a process that takes no part (yet, or any more)."""
        if isinstance(message, _TO_NEWCOMERS):
            self.on_newcomer_message(sender, message)
        elif isinstance(message, Hello):
            self.send(sender, Unknown())
        elif isinstance(message, Enter | Adopt | Attach):
            self.send(message.newcomer, Unknown())

    def is_for_gathering(self, sender: NodeId, message: Any) -> bool:
        """Take apart what comes while the tree is built anew: what to take now, what to forget, what to keep."""
        gathering = self.gathering
        assert gathering is not None
        if isinstance(message, Gathered | Seated | Freed):
            return True
        if sender in gathering.waiting:
            # Said before it knew: it will begin again. These do not.
            if isinstance(message, Enter | Surrender):
                self.early += ((sender, message),)
            return False
        if gathering.is_top:
            # It keeps its own seat, and what waits there.
            return True
        self.early += ((sender, message),)
        return False

    def on_seat_message(self, sender: NodeId, message: SeatMessage) -> None:
        """Queue what is said to who has this seat; if that changes, it goes with the old one or waits for the new."""
        is_impatience = isinstance(message, Climb) and not message.requests
        if self.swap is not None and sender == self.swap.other and (is_impatience or isinstance(message, Resized)):
            # Of the lower seat, when its occupant still was a child: what it told goes with the seats.
            return
        is_strange = type(message) in _FROM_CHILDREN and not self.has_child(sender)
        if is_impatience and is_strange and self.swap is None and type(self.phase) not in (Requesting, Blocked):
            # From a former child; it has heard of its place, and this process is not about to have another seat.
            return
        if is_strange or (self.swap is not None and sender not in self.swap.waiting):
            # From a child of the seat that this process is going to have, perhaps without having heard of it yet.
            self.early += ((sender, message),)
        elif isinstance(message, Resized):
            self.on_resized(sender, message)
        elif is_impatience:
            self.on_impatience(sender)
        else:
            self.queue.append((sender, message))
            self.consider_standing()

    def on_answer(self, sender: NodeId, message: Any) -> None:
        """Take what is part of something under way."""
        match message:
            case Won():
                self.on_won(message)
            case Rise():
                self.on_rise(message)
            case Follow():
                self.on_follow(sender, message)
            case Followed():
                self.on_followed(sender)
            case Upper():
                self.on_upper(sender, message)
            case Lower():
                self.on_lower(message)
            case Freed():
                self.on_freed(message)
            case Standing():
                self.on_standing(sender)
            case Agreed():
                self.on_agreed()
            case Exchange():
                self.begin_swap(sender, is_upper=False)
            case Settled():
                self.on_settled(sender)
            case Gathered():
                self.on_gathered(sender, message)
            case Seated():
                self.on_seated(message)
            case Gather() if self.is_amid_exchange():
                self.early += ((sender, message),)
            case Gather():
                self.on_gather(sender)

    def is_amid_exchange(self) -> bool:
        """Whether this process changes seats or builds the tree anew, or a child changes seats; it is soon over."""
        if self.swap is not None or self.gathering is not None:
            return True
        return type(self.phase) is Blocked and self.phase.by != self.parent

    # ------------------------------------------------------------------------------------------------- what waits

    def settle(self) -> None:
        """Take what waits, one after the other, while there is nothing else to do."""
        while True:
            if self.is_reshaped:
                self.consider_shape()
            if self.departure is not None:
                self.consider_leaving()
            if type(self.phase) is not Idle:
                self.consider_waiting()
                return
            if not self.queue:
                return
            # Nobody has to wait for who does not want to leave.
            is_free = self.departure is None
            first = self.queue[0] if is_free else next((one for one in self.queue if not self.must_wait(*one)), None)
            if first is None:
                return
            self.queue.remove(first)
            self.take(*first)

    def take(self, sender: NodeId, message: Climb | Stand | Leaving | Enter | Adopt | Attach | Surrender | Own) -> None:
        """Take the next in the queue."""
        # In the order in which they come most.
        match message:
            case Own("request", handle, claim):
                self.begin_request(handle, claim)
            case Climb():
                self.on_climb(message)
            case Stand():
                self.on_stand(sender)
            case Leaving():
                self.on_leaving(sender, message)
            case Enter():
                self.on_enter(message)
            case Adopt(newcomer, rank):
                # The parent has counted it.
                self.told = (self.told[0], self.told[1] + 1)
                self.find_seat(newcomer, rank)
            case Attach(newcomer, rank):
                self.find_seat(newcomer, rank)
            case Surrender():
                self.on_surrender(message)
            case Own("climb"):
                self.climb()
            case Own("exit"):
                self.begin_exit()
            case Own("keep"):
                self.begin_keeping()
            case Own():
                self.begin_rebuilding()


class Elmp:
    """One process; `seat` and `rank` are those it begins with, if it takes part from the beginning."""

    desk: type[Process] = Process

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
            return ElmpState(Out(), Seat(None)), ()
        keeps = self.data.version if self.data is not None and self.data.holder == self.node else None
        places = (Place(1, None, has_token=True, data=self.data),) if self.seat.parent is None else ()
        stored = self.data if keeps is not None else None
        return ElmpState(Idle(), self.seat, self.rank, places=places, keeps=keeps, stored=stored), ()

    def step(self, state: ElmpState, event: Event) -> ElmpStep:
        """Take one event."""
        kind = type(event)
        if self.desk is Process and (kind is Received or kind is Requested):
            what = event.message if kind is Received else event.request  # type: ignore[union-attr]
            usual = USUAL.get(type(what))
            if usual is not None:
                made = usual(self.node, self.config, state, what)
                if made is not None:
                    return made
        desk = self.desk.of(self, state)
        desk.on_event(event)
        return desk.finish()


def seats(nodes: tuple[NodeId, ...], order: int) -> dict[NodeId, Seat]:
    """Give each of some processes its seat in the lowest tree; the first is the root, and ranks are as in the order."""
    found = {}
    for node, (parent, children) in zip(nodes, arranged(nodes, order), strict=True):
        height = 1 + max((child[1] for child in children), default=-1)
        told = (height, 1 + sum(child[2] for child in children))
        root = (len(nodes), 1, (node, 1)) if parent is None else (0, 0, None)
        found[node] = Seat(parent, children, told, (), *root)
    return found


__all__ = ["Elmp", "Process", "SeatMessage", "seats"]
