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
from solvent.protocols.elmp.messages import Given, Link, Ref, Relink, Relinked, Unlink, Unlinked, Won
from solvent.protocols.elmp.state import Requesting
from solvent.protocols.elmp.vocabulary import Queued

if TYPE_CHECKING:
    from solvent.protocols.elmp.state import Place
    from solvent.protocols.machine import NodeId


class Queue(Desk):
    """A process's part of the queue."""

    def place_of(self, turn: int) -> Place | None:
        """Give the place with a turn, if it is here."""
        for one in self.places:
            if one.turn == turn:
                return one
        return None

    def put(self, place: Place) -> None:
        """Keep a place as it is now."""
        places, turn = self.places, place.turn
        self.latest = max(self.latest, turn)
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
        if type(self.phase) is Requesting:
            self.phase = replace(self.phase, turn=turn)
        if place.handle is not None:
            self.report(Queued(place.handle, turn))
        return place

    # ------------------------------------------------------------------------------------------------- the list

    def append(self, first: Ref, last: Ref) -> None:
        """Put places at the end of the queue; of the first its process knows, or is told, what comes before."""
        assert self.tail is not None
        (to, turn), is_untold, self.tail = self.tail, self.is_last_untold(), last
        if to == self.me:
            self.on_link(Link(turn, first))
        elif is_untold:
            *others, given = self.untold
            self.untold = tuple(others)
            self.send(to, Won((replace(given, next=first),)))
        else:
            self.send(to, Link(turn, first))

    def on_link(self, message: Link, trail: tuple[Ref, ...] | None = None) -> None:
        """Know who comes next; if the token rests here, it goes there."""
        place = replace(self.known(message.turn), next=message.next, trail=trail)
        self.put(place)
        self.go_on(place)
        if place.early is not None:
            self.on_unlink(place.early)

    def appended(self, given: Given) -> None:
        """Hear of one's place in the queue, and of who comes next if that is known already.

        The token, or word of somebody beside it in the list, may have been faster; the token may even be gone again.
        """
        place, turn = self.place_of(given.turn), given.turn
        if place is None:
            if given.number != self.asks or self.place_of(0) is None:
                return
            place = self.known(turn)
        if place.predecessor is None and not place.has_token:
            place = replace(place, predecessor=given.predecessor)
            self.put(place)
            self.go_on(place)
        if given.next is not None and place.next is None:
            self.on_link(Link(turn, given.next))

    def go_on(self, place: Place) -> None:
        """Pass the token on from a place that is nobody's, or have the place passed over, as far as that can be now."""
        if place.handle is not None or place.next is None:
            return
        if place.has_token:
            self.pass_on(place)
        elif place.predecessor is not None and not (place.is_kept or place.is_linking or place.is_unlinking):
            to, turn = place.predecessor
            self.tell_all()
            self.put(replace(place, is_unlinking=True, trail=None))
            self.send(to, Unlink(turn, (self.me, place.turn), place.next))

    def on_unlink(self, message: Unlink) -> None:
        """Pass a place over; unless the token is on its way there, or this place itself is being passed over."""
        place = self.place_of(message.turn)
        if place is None and message.turn > self.latest and self.place_of(0) is not None:
            place = self.known(message.turn)
        if place is None or place.is_unlinking:
            return
        if place.next is None:
            self.put(replace(place, early=message))
        elif place.next == message.gone:
            after, trail = following(place.next[1], message.next, place.trail)
            self.put(replace(place, next=after, trail=trail, is_linking=True, early=None))
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

    # ------------------------------------------------------------------------------------------------- the trail

    def is_last_untold(self) -> bool:
        """Whether the process that has the last place has not been told of it; only the root knows."""
        return bool(self.untold) and (self.untold[-1].requester, self.untold[-1].turn) == self.tail

    def trailing(self) -> Place | None:
        """Give the place of this process, the root, behind which all others to the end of the queue are known here."""
        assert self.tail is not None
        if self.tail[0] == self.me:
            return self.place_of(self.tail[1])
        if not self.is_last_untold():
            return None
        for one in self.places:
            if one.trail is not None and one.next is not None and one.next[1] + len(one.trail) == self.tail[1]:
                return one if len(one.trail) < self.config.max_trail else None
        return None

    def trail(self, given: Given) -> bool:
        """Put a place at the end of the queue without telling anybody: the token will; tell whether that can be."""
        place = self.trailing()
        if place is None:
            return False
        ref = given.requester, given.turn
        if place.next is None:
            self.untold = (*self.untold, given)
            self.tail = ref
            self.on_link(Link(place.turn, ref), ())
            return True
        assert place.trail is not None
        *others, last = self.untold
        self.untold = (*others, replace(last, next=ref), given)
        self.tail = ref
        self.put(replace(place, trail=(*place.trail, given.requester)))
        return True

    def tell_all(self) -> None:
        """Tell everybody who may not know it of its place, and of who comes next if that is known."""
        untold, self.untold = self.untold, ()
        for given in untold:
            self.send(given.requester, Won((given,)))
        if any(one.trail is not None for one in self.places):
            self.places = tuple(replace(one, trail=None) for one in self.places)

    def tell(self, node: NodeId) -> None:
        """Tell one process of its place."""
        for given in self.untold:
            if given.requester == node:
                self.untold = tuple(one for one in self.untold if one is not given)
                self.send(node, Won((given,)))
                return

    def forget_untold(self, node: NodeId) -> None:
        """Have nothing to tell a process any more."""
        if self.untold:
            self.untold = tuple([one for one in self.untold if one.requester != node])

    def pass_on(self, place: Place) -> None:
        """Let the next one have the token; or let it rest."""
        raise NotImplementedError


def following(
    turn: int, known: Ref | None, trail: tuple[NodeId, ...] | None
) -> tuple[Ref | None, tuple[NodeId, ...] | None]:
    """Give who comes next, and the trail behind that: of who is known to come next, and the trail behind a turn.

    The trail may not know that others were passed over.
    """
    if trail is None:
        return known, None
    if known is None:
        return ((trail[0], turn + 1), trail[1:]) if trail else (None, None)
    behind = known[1] - turn
    return known, trail[behind:] if trail[behind - 1 : behind] == known[:1] else None


def _by_turn(place: Place) -> int:
    """A request under way comes last."""
    return place.turn or 1 << 62


__all__ = ["Queue", "following"]
