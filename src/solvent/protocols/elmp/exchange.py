"""Two processes change seats: a requester and the root, or a child and its parent that leaves.

A seat is more than a parent and children: what waits there goes with it. Nothing that is under way to a seat may be
lost or reach who has left it. Therefore both tell their children whom to follow from now on and wait until each has
said that it does: channels keep their order, so nothing that a child said to its former parent is under way any more
(E10). A child follows in any phase, be it held for another request (E6). What the new children say meanwhile is kept
(`early`).

Then the upper seat is handed down. Who takes it hands its own up in the same step; if it was a child of the other one,
the other one is now its child (E2).

    upper u     Follow to its children; when all followed: Upper to l           ... Lower: sits
    lower l                      Follow to its children; when all followed and Upper is there: sits, Lower to u

Nobody else moves meanwhile: everybody from the lower seat's parent up to the upper seat is held for the request, or the
upper seat's parent is blocked until the heir has settled.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.elmp.desk import IDLE
from solvent.protocols.elmp.holding import Holding
from solvent.protocols.elmp.messages import Adopt, Follow, Followed, Freed, Lower, Seat, Settled, Stand, Upper
from solvent.protocols.elmp.state import Blocked, Busy, Swap

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId


class Exchanging(Holding):
    """A process that changes seats."""

    def begin_swap(self, other: NodeId, *, is_upper: bool) -> None:
        """Send the children after the other one."""
        children = [node for node in sorted(self.children) if node != other]
        upper = next((message for _, message in self.early if type(message) is Upper), None)
        self.early = tuple(one for one in self.early if one[1] is not upper)
        self.swap = Swap(other, is_upper, frozenset(children), upper=upper)
        # Only who has the seat now can be asked for news.
        self.tell_all()
        # Whoever was to be the heir is a child of another now.
        self.reset_departure()
        for node in children:
            self.send(node, Follow(other))
        self.go_on_with_swap()

    def on_follow(self, sender: NodeId, message: Follow) -> None:
        """Have another parent, whatever else is going on."""
        self.parent = message.parent
        # A former parent needs no heir here.
        self.forget(sender, Stand)
        if self.phase == Blocked(sender):
            self.phase = IDLE
        self.send(sender, Followed())

    def on_followed(self, sender: NodeId) -> None:
        """Count a child that follows the other one."""
        assert self.swap is not None
        self.swap = replace(self.swap, waiting=self.swap.waiting - {sender})
        self.go_on_with_swap()

    def go_on_with_swap(self) -> None:
        """Hand the seat over when nothing is under way to it any more."""
        swap = self.swap
        assert swap is not None
        if swap.waiting or swap.is_standing:
            return
        if swap.is_upper:
            self.hand_down(swap)
        elif swap.upper is not None:
            self.hand_up(swap, swap.upper)

    def hand_down(self, swap: Swap) -> None:
        """Give the upper seat away."""
        self.children.pop(swap.other, None)
        self.send(swap.other, Upper(self.seat(queue=self.of_seat())))
        self.swap = replace(swap, is_standing=True)
        self.sit(Seat(None, queue=tuple(self.of_own())))

    def on_upper(self, sender: NodeId, message: Upper) -> None:
        """Keep the upper seat until this one can be handed over."""
        if self.swap is None:
            # The news that it is to have it, which comes another way, is slower.
            self.early += ((sender, message),)
            return
        self.swap = replace(self.swap, upper=message)
        self.go_on_with_swap()

    def hand_up(self, swap: Swap, upper: Upper) -> None:
        """Take the upper seat, and give the lower one away."""
        other = swap.other
        # The other one has counted those it has sent down, also if they still wait here.
        told = (self.told[0], self.told[1] + sum(type(message) is Adopt for _, message in self.queue))
        is_adjacent = self.parent == other
        if is_adjacent:
            # It wanted this process for its heir and comes below it now.
            self.forget(other, Stand)
        lower = replace(self.seat(queue=self.of_seat()), parent=self.me if is_adjacent else self.parent)
        self.send(other, Lower(lower))
        own = self.of_own()
        self.sit(upper.seat)
        self.queue += own
        if is_adjacent:
            self.children[other] = told
        if type(self.phase) is Blocked and self.parent is not None:
            self.send(self.parent, Settled())
        self.end_swap()

    def on_lower(self, message: Lower) -> None:
        """Take the lower seat."""
        own = self.of_own()
        self.sit(message.seat)
        self.queue += own
        if type(self.phase) is Busy:
            ((requester, number),) = self.phase.requests
            for node in self.phase.path[1:]:
                self.send(node, Freed(requester, number))
        self.end_swap()

    def end_swap(self) -> None:
        """Be idle on the new seat, and take what came too early."""
        self.swap = None
        self.phase = IDLE
        self.replay()

    def replay(self) -> None:
        """Take what came too early."""
        early, self.early = self.early, ()
        for sender, message in early:
            self.on_message(sender, message)

    def on_message(self, sender: NodeId, message: Any) -> None:
        """Take a message."""
        raise NotImplementedError


__all__ = ["Exchanging"]
