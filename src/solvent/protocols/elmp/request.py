"""Requests: up to the root, with everybody on the path held; then requester and root change seats.

Whoever is held, or busy with anything else, queues what comes, first in, first out (E7): nobody is refused, so nobody
tries again, and a request costs as many messages with others about as without. The root puts the requester at the end
of the queue at once, sends the token if it rests there, and changes seats with it; the requester's parent, which passes
the good news on, learns by it who its child is from now on (E3). The old root frees the path when it sits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.desk import IDLE
from solvent.protocols.elmp.exchange import Exchanging
from solvent.protocols.elmp.holding import PATIENCE
from solvent.protocols.elmp.messages import Asking, Climb, Freed, Given, Own, Rise, Won
from solvent.protocols.elmp.state import Busy, Out, Place, Requesting
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Dropped, Queued, Request
from solvent.protocols.machine import SetTimer

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId


def hastened(message: Any) -> Any:
    """Give requests whose makers cannot wait to hear of their places."""
    if not isinstance(message, Climb):
        return message
    return Climb(tuple(replace(one, can_wait=False) for one in message.requests))


class Climbing(Exchanging):
    """A process that makes requests and passes them on."""

    def on_request(self, request: Request) -> None:
        """Queue up for a request; who has the token, and nobody waits for it, may have it at once."""
        handle = request.handle
        if type(self.phase) is Out or self.departure is not None:
            self.report(Dropped(handle))
            return
        if self.uses or self.places or self.queue:
            use = self.claim(handle)
            if use is not None and use.is_held:
                return
            self.on_withdraw(handle)
        resting = next((one for one in self.places if one.has_token and one.handle is None), None)
        # A token that waits for the data to be fetched is not to be had.
        if resting is not None and not (resting.data is not None and resting.data.is_urgent):
            self.let_in(resting, handle, request.claim)
        else:
            self.queue.append((self.me, Own("request", handle, request.claim)))
        if request.patience and ((use := self.claim(handle)) is None or not use.is_held):
            self.timed = (*self.timed, handle)
            self.effects.append(SetTimer(f"{PATIENCE}{handle}", request.patience))

    def on_timer(self, name: str) -> None:
        """Withdraw a claim that has waited long enough."""
        handle = int(name.removeprefix(PATIENCE))
        # The timer may have fired in the moment in which it was stopped.
        if handle in self.timed:
            self.on_withdraw(handle)

    def begin_request(self, handle: int | None, claim: Claim = WHOLE) -> None:
        """Ask for a place in the queue, for a claim or, without one, for the token; the root gives itself one."""
        is_kept = handle is None
        if not self.is_root:
            self.put(Place(0, handle, claim, is_kept=is_kept))
            self.asks += 1
            self.climb()
            return
        assert self.tail is not None
        self.turns += 1
        self.put(Place(self.turns, handle, claim, predecessor=self.tail, is_kept=is_kept))
        if handle is not None:
            self.report(Queued(handle, self.turns))
        self.append((self.me, self.turns), (self.me, self.turns))

    def climb(self) -> None:
        """Send the request up."""
        assert self.parent is not None
        # A leaf with nothing else to do; if the root changes seats each time, it hears of its place anyway.
        is_free = self.is_leaf and not self.queue and self.departure is None
        can_wait = is_free and self.config.exchange_every > 1
        self.phase = Requesting(self.asks, can_wait)
        self.send(self.parent, Climb((Asking(self.me, self.asks, (self.me,), can_wait),)))

    def consider_waiting(self) -> None:
        """Ask the root for news if there is something else to do, or who comes next wants to be passed over."""
        if type(self.phase) is not Requesting or not self.phase.can_wait:
            return
        if self.queue or self.departure or any(one.early is not None for one in self.places):
            assert self.parent is not None
            self.phase = Requesting(self.phase.number)
            self.send(self.parent, Climb(()))

    def on_impatience(self, sender: NodeId) -> None:
        """Tell a child of its place; if its request still waits here, it will be told in time."""
        self.tell(sender)
        self.queue = [(node, hastened(message) if node == sender else message) for node, message in self.queue]

    def on_climb(self, message: Climb) -> None:
        """Take all requests that wait together, and pass them on; or at the root put them into the queue."""
        together = [message, *(other for _, other in self.queue if type(other) is Climb)]
        self.queue = [one for one in self.queue if type(one[1]) is not Climb]
        requests = tuple(request for climb in together for request in climb.requests)
        if self.is_root:
            self.enqueue_all(requests)
            return
        assert self.parent is not None
        self.phase = Busy(tuple((one.requester, one.number) for one in requests))
        self.send(self.parent, Climb(tuple(replace(one, path=(*one.path, self.me)) for one in requests)))

    def enqueue_all(self, requests: tuple[Asking, ...]) -> None:
        """Put requests into the queue, and now and then begin to change seats with the last: once for all of them."""
        every, first = self.config.exchange_every, self.turns
        self.turns += len(requests)
        refs = [(one.requester, first + place) for place, one in enumerate(requests, 1)]
        assert self.tail is not None
        before, after = [self.tail, *refs], [*refs[1:], None]
        given = [
            Given(one.requester, one.number, one.path, first + place + 1, before[place], after[place])
            for place, one in enumerate(requests)
        ]
        for one in requests:
            # Whoever asks again knows the place that it had before.
            self.forget_untold(one.requester)
        if first // every == self.turns // every:
            self.admit(requests, given)
            return
        self.append(refs[0], refs[-1])
        *others, last = given
        self.send_down(others)
        self.phase = Busy(((last.requester, last.number),), last.path)
        # The requester's parent is the second on the path; or this process itself.
        self.send(last.path[min(1, len(last.path) - 1)], Rise(last, self.me))
        self.begin_swap(last.requester, is_upper=True)

    def admit(self, requests: tuple[Asking, ...], given: list[Given]) -> None:
        """Put requests into the queue, and tell as few of their places as need to know."""
        quiet = [one.can_wait and len(one.path) == 1 for one in requests]
        done = 0
        while done < len(given) and quiet[done] and self.trail(replace(given[done], next=None)):
            done += 1
        rest = given[done:]
        if not rest:
            return
        self.append((rest[0].requester, rest[0].turn), (rest[-1].requester, rest[-1].turn))
        if quiet[-1]:
            # It will hear of its place together with who comes after it: one message instead of two.
            self.untold = (*self.untold, rest.pop())
        self.send_down(rest)

    def send_down(self, places: list[Given]) -> None:
        """Send news of places back along the paths of the requests, one message for each child."""
        ways: dict[NodeId, list[Given]] = {}
        for one in places:
            # At the root, which is not on the path, the way begins with the last.
            here = one.path.index(self.me) if self.me in one.path else len(one.path)
            ways.setdefault(one.path[here - 1], []).append(one)
        for node, below in ways.items():
            self.send(node, Won(tuple(below)))

    def on_won(self, message: Won) -> None:
        """Know one's own place in the queue, or pass the news on and be held for these requests no longer."""
        below = [one for one in message.places if one.requester != self.me]
        if below:
            self.send_down(below)
            self.let_go({(one.requester, one.number) for one in below})
        for one in message.places:
            if one.requester == self.me:
                self.appended(one)
                # The token may have been faster.
                if type(self.phase) is Requesting and self.phase.number == one.number:
                    self.be_idle()

    def be_idle(self) -> None:
        """Have a place in the queue, and be held for the request no longer."""
        self.phase = IDLE
        self.is_reshaped = True
        # It gets no other seat now, and what was kept for that case is void.
        self.replay()

    def on_rise(self, message: Rise) -> None:
        """Change seats with the root, or tell a child to."""
        place, root = message.place, message.root
        if place.requester == self.me:
            self.appended(place)
            self.phase = Requesting(place.number)
            self.begin_swap(root, is_upper=False)
            return
        self.rename_child(place.requester, root)
        if self.departure is not None and self.departure.heir == place.requester:
            self.departure = replace(self.departure, heir=root)
        self.send(place.requester, message)

    def on_freed(self, message: Freed) -> None:
        """Be held for a request no longer."""
        self.let_go({(message.requester, message.number)})

    def let_go(self, requests: set[tuple[NodeId, int]]) -> None:
        """Be idle if this process is held for no other requests."""
        if type(self.phase) is Busy:
            left = tuple(one for one in self.phase.requests if one not in requests)
            self.phase = replace(self.phase, requests=left) if left else IDLE


__all__ = ["Climbing"]
