"""Departures: a process sinks to the bottom of the tree, seat by seat, and goes.

A leaf asks its parent to let it go. Any other process changes seats with a child first, the highest one, its heir: and
again, until it is a leaf. So the tree loses a leaf, whoever goes, and nobody ever has more children than before. (The
paper has the parent adopt all children of who leaves, or looks for a leaf to replace it. With the first a process may
have any number of children, and the exchange of seats costs as many messages.)

Everybody is held in one order, from below: the heir stands by while the leaver still passes on what comes by; then the
leaver itself is `Exiting`; then its parent agrees. A request too is held from below. So none of them can wait for each
other in a circle, and no request has to make a leaver let go and try again (which is how we had repaired E5). What the
leaver knew of its neighbours is looked at again whenever it had to wait (E4).

One circle is left, of two neighbours that both leave: the parent wants the child for its heir, and the child wants the
parent to agree. The one with the lower rank goes first, as in the paper: a child of higher rank stands by although it
is `Exiting`, one of lower rank does not even if it could (else the two might change seats with each other for ever); a
parent of higher rank agrees although it has an heir in view.

Who has the last place of the queue, or the token that rests, has the root put a place of its own behind it, and is then
passed over or passes the token on. Nobody leaves with data that nobody else has (E8).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.desk import IDLE
from solvent.protocols.elmp.messages import (
    Adopt,
    Agreed,
    Attach,
    Enter,
    Exchange,
    Leaving,
    Seat,
    Stand,
    Standing,
    Surrender,
    Unknown,
)
from solvent.protocols.elmp.request import Climbing
from solvent.protocols.elmp.state import ENTRUSTED, Blocked, Departure, Exiting, Joining, Out, Place
from solvent.protocols.elmp.vocabulary import Left

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId


class Departing(Climbing):
    """A process that leaves, or whose neighbours do."""

    def on_leave(self) -> None:
        """Give up all claims, and wish to leave."""
        if type(self.phase) is Out or self.departure is not None:
            return
        for _, message in list(self.queue):
            if getattr(message, "what", "") == "request":
                self.on_withdraw(message.handle)  # type: ignore[union-attr]
        for handle in [*(one.handle for one in self.uses), *(one.handle for one in self.places)]:
            if handle is not None and handle != ENTRUSTED:
                self.on_withdraw(handle)
        self.departure = Departure()

    # --------------------------------------------------------------------------------------------- from below up

    def may_leave(self) -> bool:
        """Whether neither the queue nor the data needs this process, or it may change seats with an heir."""
        if self.is_root:
            # The last of all takes the token along.
            has_all = bool(self.children) or any(place.has_token for place in self.places)
            return has_all and all(place.is_last and place.handle is None for place in self.places)
        return not self.places and not self.is_needed()

    def is_needed(self) -> bool:
        """Whether data is here and nowhere else, or whoever has the token may still ask for a claim that was here."""
        return self.has_data() or self.is_listed

    def has_data(self) -> bool:
        """Whether data is here and nowhere else."""
        return self.keeps is not None or bool(self.uses)

    def consider_leaving(self) -> None:
        """Queue up for leaving as soon as that is possible, and see that it becomes so."""
        departure = self.departure
        if departure is None or type(self.phase) in (Exiting, Joining, Out) or self.swap or self.gathering:
            return
        if self.may_leave():
            is_free = departure.heir is None or departure.is_standing
            if is_free and not self.wants("exit"):
                self.enqueue("exit")
        elif self.places:
            self.surrender()
        elif not (departure.is_entrusted and self.has_data()) and not self.wants("keep"):
            # Perhaps nobody will ever fetch the data: it takes the token to have somebody do it. The token also
            # has to forget the claims that were here, so that nobody waits for an answer from who has left.
            self.enqueue("keep")

    def surrender(self) -> None:
        """Give up places that are nobody's; the root puts another behind the last, so that it can be passed over."""
        is_needed = self.is_needed()
        for place in self.places:
            if place.is_kept and not is_needed:
                # Somebody has fetched the data meanwhile.
                given_up = replace(place, is_kept=False)
                self.put(given_up)
                self.go_on(given_up)
        if self.is_root or self.parent is None:
            return
        for place in self.places:
            if place.is_kept and not place.has_token:
                continue
            if place.is_last and place.handle is None and not place.is_surrendered:
                self.put(replace(place, is_surrendered=True))
                self.send(self.parent, Surrender((self.me, place.turn)))

    def on_surrender(self, message: Surrender) -> None:
        """Put a place behind the last of the queue if that wants to leave; if it is not the last, one is there."""
        if not self.is_root:
            assert self.parent is not None
            self.send(self.parent, message)
        elif self.tail == message.place:
            self.turns += 1
            self.put(Place(self.turns, None, predecessor=self.tail))
            self.append((self.me, self.turns), (self.me, self.turns))

    def begin_keeping(self) -> None:
        """Ask for the token to hand the data over with it; unless somebody has fetched the data meanwhile."""
        if not self.may_leave() and not self.places:
            self.begin_request(None)

    def begin_exit(self) -> None:
        """Have an heir stand by, and go on passing on what comes by; or leave, if it does or none is needed."""
        if not self.may_leave():
            return
        assert self.departure is not None
        if self.children and not self.departure.is_standing:
            heir = max(self.children, key=lambda node: (*self.children[node], -node))
            self.departure = replace(self.departure, heir=heir)
            self.send(heir, Stand(self.rank))
            return
        self.phase = Exiting()
        if self.parent is None:
            self.on_agreed()
        else:
            self.send(self.parent, Leaving(self.rank, self.departure.heir))
            self.consider_standing()

    def on_standing(self, sender: NodeId) -> None:
        """Hear that the heir stands by; if it wanted to leave itself, it waits."""
        if self.departure is not None and self.departure.heir == sender:
            self.departure = replace(self.departure, is_standing=True)
        self.forget(sender, Leaving)

    def on_agreed(self) -> None:
        """Go, or change seats with the heir."""
        assert self.departure is not None
        if self.departure.heir is None:
            self.go()
        else:
            self.exchange(self.departure.heir)

    def exchange(self, heir: NodeId) -> None:
        """Change seats with the heir."""
        self.send(heir, Exchange())
        self.begin_swap(heir, is_upper=True)

    def go(self) -> None:
        """Leave; new processes that were to get a seat here are the parent's now."""
        for _, message in self.queue:
            if isinstance(message, Adopt | Attach | Enter):
                self.forward_newcomer(message)
            elif isinstance(message, Surrender) and self.parent is not None:
                self.send(self.parent, message)
        self.phase, self.departure = Out(), None
        self.sit(Seat(None))
        self.places, self.uses, self.keeps, self.is_listed = (), (), None, False
        self.report(Left())

    def forward_newcomer(self, message: Adopt | Attach | Enter) -> None:
        """Let the parent see to a new process; if there is none, nobody can."""
        if self.parent is None:
            self.send(message.newcomer, Unknown())
        elif isinstance(message, Enter):
            self.send(self.parent, message)
        else:
            self.send(self.parent, Attach(message.newcomer, message.rank))

    # ------------------------------------------------------------------------------------------------- neighbours

    def on_stand(self, sender: NodeId) -> None:
        """Stand by for the parent."""
        assert sender == self.parent
        self.phase = Blocked(sender)
        self.send(sender, Standing())

    def consider_standing(self) -> None:
        """Stand by although this process is leaving itself, if the parent comes first."""
        if type(self.phase) is not Exiting or self.parent is None or self.swap is not None:
            return
        for one in self.queue:
            if type(one[1]) is Stand and one[1].rank < self.rank:
                self.queue.remove(one)
                self.is_reshaped = True
                self.on_stand(one[0])
                return

    def must_wait(self, sender: NodeId, message: Any) -> bool:
        """Whether of two neighbours that leave the other one has to wait, since this one has the lower rank."""
        departure = self.departure
        if departure is None:
            return False
        if isinstance(message, Stand):
            return self.rank < message.rank
        return isinstance(message, Leaving) and departure.heir == sender and self.rank < message.rank

    def on_leaving(self, sender: NodeId, message: Leaving) -> None:
        """Let a child go, or take its heir for it."""
        assert sender in self.children
        if self.departure is not None and self.departure.heir == sender:
            self.departure = replace(self.departure, heir=message.heir)
        if message.heir is None:
            del self.children[sender]
            self.forget_untold(sender)
            self.is_reshaped = True
        else:
            self.rename_child(sender, message.heir)
            self.phase = Blocked(message.heir)
        self.send(sender, Agreed())

    def on_settled(self, sender: NodeId) -> None:
        """Be held no longer."""
        assert self.phase == Blocked(sender)
        self.phase = IDLE
        self.replay()


__all__ = ["Departing"]
