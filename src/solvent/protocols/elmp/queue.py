"""The queue of those who wait for the token: a doubly linked list.

A place belongs to one process and knows who comes next and who comes before. The root knows the last one and gives
turns one after the other; it tells the last place what comes next (`Link`). The token goes from place to place; `next`
alone decides where, and a token that is under way is never called back. When nobody comes next it rests in the last
place, and whoever has that may use it again without asking anybody.

A claim that is withdrawn leaves a place that is nobody's. It is taken out of the list by its predecessor, at one
moment: until then the token may still come, and is passed on at once. That one place at a time changes what comes next
is what keeps neighbours that withdraw together from tearing the list:

- who has asked to be passed over passes nobody over itself, since the answer will change who comes next to whom;
- who is passed over because its predecessor changed asks the new one;
- who has got a new `next` asks to be passed over only when that one knows it (`Relinked`), so that it hears of its
  predecessors in the order in which they come to be that.

The last place of all stays until something comes after it: somebody must know the end of the queue. If who has it wants
to leave, the root puts a place of its own there (see `departure`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from solvent.protocols.elmp.desk import Desk
from solvent.protocols.elmp.messages import Link, Ref, Relink, Relinked, Unlink, Unlinked, Won
from solvent.protocols.elmp.vocabulary import Queued

if TYPE_CHECKING:
    from solvent.protocols.elmp.state import Place


class Queue(Desk):
    """A process's part of the queue."""

    __slots__ = ()

    def place_of(self, turn: int) -> Place | None:
        """Give the place with a turn, if it is here."""
        for one in self.places:
            if one.turn == turn:
                return one
        return None

    def put(self, place: Place) -> None:
        """Keep a place as it is now."""
        places, turn = self.places, place.turn
        if not places or (len(places) == 1 and places[0].turn == turn):
            self.places = (place,)
        else:
            self.places = tuple(sorted([place, *(one for one in places if one.turn != turn)], key=_by_turn))

    def remove(self, turn: int) -> None:
        """Have a place no longer."""
        self.places = tuple([one for one in self.places if one.turn != turn])

    def known(self, turn: int) -> Place:
        """Give the place with a turn; if nobody has told of it yet, it is that of the request under way."""
        place = self.place_of(turn)
        if place is not None:
            return place
        asking = self.place_of(0)
        assert asking is not None
        self.remove(0)
        place = replace(asking, turn=turn)
        self.put(place)
        if place.handle is not None:
            self.report(Queued(place.handle, turn))
        return place

    # ------------------------------------------------------------------------------------------------- the list

    def append(self, first: Ref, last: Ref) -> None:
        """Put places at the end of the queue; of the first its process knows, or is told, what comes before."""
        assert self.tail is not None
        (to, turn), self.tail = self.tail, last
        if to == self.me:
            self.on_link(Link(turn, first))
        elif self.untold is not None:
            self.tell_last(first)
        else:
            self.send(to, Link(turn, first))

    def tell_last(self, after: Ref | None = None) -> None:
        """Tell the process that has the last place of it, and who comes after it if that is known."""
        if self.untold is not None:
            self.send(self.untold.requester, Won((replace(self.untold, next=after),)))
            self.untold = None

    def on_link(self, message: Link) -> None:
        """Know who comes next; if the token rests here, it goes there."""
        place = replace(self.known(message.turn), next=message.next)
        self.put(place)
        self.go_on(place)
        if place.early is not None:
            self.on_unlink(place.early)

    def appended(self, turn: int, predecessor: Ref, after: Ref | None) -> None:
        """Hear of one's place in the queue, and of who comes next if that is known already.

        The token, or word of somebody beside it in the list, may have been faster.
        """
        place = self.known(turn) if self.place_of(0) is not None else self.place_of(turn)
        if place is not None and place.predecessor is None and not place.has_token:
            place = replace(place, predecessor=predecessor)
            self.put(place)
            self.go_on(place)
        if after is not None:
            self.on_link(Link(turn, after))

    def go_on(self, place: Place) -> None:
        """Pass the token on from a place that is nobody's, or have the place passed over, as far as that can be now."""
        if place.handle is not None or place.next is None:
            return
        if place.has_token:
            self.pass_on(place)
        elif place.predecessor is not None and not (place.is_kept or place.is_linking or place.is_unlinking):
            to, turn = place.predecessor
            self.put(replace(place, is_unlinking=True))
            self.send(to, Unlink(turn, (self.me, place.turn), place.next))

    def on_unlink(self, message: Unlink) -> None:
        """Pass a place over; unless the token is on its way there, or this place itself is being passed over."""
        place = self.place_of(message.turn)
        if place is None or place.is_unlinking:
            return
        if place.next is None:
            self.put(replace(place, early=message))
        elif place.next == message.gone:
            self.put(replace(place, next=message.next, is_linking=True, early=None))
            to, turn = message.next
            self.send(to, Relink(turn, (self.me, place.turn)))
            self.send(message.gone[0], Unlinked(message.gone[1]))

    def on_unlinked(self, message: Unlinked) -> None:
        """Have a place no longer."""
        assert self.place_of(message.turn) is not None
        self.remove(message.turn)

    def on_relink(self, message: Relink) -> None:
        """Know another predecessor, and ask it if the last one was asked in vain."""
        place = replace(self.known(message.turn), predecessor=message.predecessor, is_unlinking=False)
        self.put(place)
        to, turn = message.predecessor
        self.send(to, Relinked(turn))
        self.go_on(place)

    def on_relinked(self, message: Relinked) -> None:
        """Hear that who comes next knows it."""
        place = self.place_of(message.turn)
        # The token may have come and gone meanwhile, and the place with it.
        if place is not None:
            place = replace(place, is_linking=False)
            self.put(place)
            self.go_on(place)

    def pass_on(self, place: Place) -> None:
        """Let the next one have the token; or let it rest."""
        raise NotImplementedError


def _by_turn(place: Place) -> int:
    """A request under way comes last."""
    return place.turn or 1 << 62


__all__ = ["Queue"]
