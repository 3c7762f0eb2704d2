"""The queue of those who wait for the token, a doubly linked list, and the token that goes along it.

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

from typing import TYPE_CHECKING, TypeAlias, assert_never

from msgspec.structs import replace

from solvent.protocols.elmp.desk import Desk
from solvent.protocols.elmp.messages import Link, Own, Ref, Relink, Relinked, Taken, Token, Unlink, Unlinked
from solvent.protocols.elmp.vocabulary import Data, Dropped, Entrusted, Fetched, Granted, Queued
from solvent.protocols.machine import CancelTimer

if TYPE_CHECKING:
    from solvent.protocols.elmp.state import Place

PATIENCE = "elmp:patience:"
"""The timers of claims that wait for so long only; the handle follows."""

QueueMessage: TypeAlias = Token | Taken | Link | Unlink | Unlinked | Relink | Relinked


class Queue(Desk):
    """A process's part of the queue."""

    def place_of(self, turn: int) -> Place | None:
        """Give the place with a turn, if it is here."""
        return next((one for one in self.places if one.turn == turn), None)

    def put(self, place: Place) -> None:
        """Keep a place as it is now."""
        kept = [one for one in self.places if one.turn != place.turn]
        self.places = tuple(sorted([*kept, place], key=_by_turn)) if kept else (place,)

    def remove(self, turn: int) -> None:
        """Have a place no longer."""
        self.places = tuple(one for one in self.places if one.turn != turn)

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
        else:
            self.send(to, Link(turn, first))

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
            self.pass_on(place, place.data)
        elif place.predecessor is not None and not place.is_linking and not place.is_unlinking:
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

    # ------------------------------------------------------------------------------------------------- the token

    def on_token(self, turn: int, data: Data | None) -> None:
        """Hold what was claimed; if that was withdrawn, let the token rest or pass it on."""
        place = replace(self.known(turn), predecessor=None)
        if place.handle is not None:
            self.hold(place, data)
        else:
            self.pass_on(place, data)

    def hold(self, place: Place, data: Data | None) -> None:
        """Let the user have it."""
        assert place.handle is not None
        self.stop_timer(place.handle)
        self.put(replace(place, has_token=True, data=data, is_surrendered=False))
        self.report(Granted(place.handle, place.turn, data))

    def pass_on(self, place: Place, data: Data | None) -> None:
        """Let the next one have the token; or let it rest, and have the data fetched if its holder wants to leave."""
        if place.next is None:
            self.put(replace(place, handle=None, has_token=True, data=data))
            if data is not None and data.is_urgent and data.holder != self.me:
                self.report(Entrusted(data))
            return
        self.remove(place.turn)
        if self.departure is not None and data is not None and data.holder == self.me:
            data = replace(data, is_urgent=True)
            self.departure = replace(self.departure, is_entrusted=True)
        # Also to a place of its own by a message, which is not to overtake others.
        self.send(place.next[0], Token(place.next[1], data))

    # -------------------------------------------------------------------------------------------------- the user

    def claim(self, handle: int) -> Place | None:
        """Give the place of a claim, if there is one."""
        return next((one for one in self.places if one.handle == handle), None)

    def on_release(self, handle: int, data: Data | None) -> None:
        """Pass the token on, with the new version of the data if there is one."""
        place = self.claim(handle)
        if place is None or not place.has_token:
            return
        if data is None:
            data = place.data
        elif data.holder == self.me:
            self.keeps = data.version
        self.pass_on(place, data)

    def on_withdraw(self, handle: int) -> None:
        """Give up a claim, whether it waits or is held."""
        kept = [one for one in self.queue if one != (self.me, Own("request", handle))]
        place = self.claim(handle)
        if len(kept) == len(self.queue) and place is None:
            return
        self.queue = kept
        self.stop_timer(handle)
        if place is not None and place.has_token:
            self.pass_on(place, place.data)
        elif place is not None:
            place = replace(place, handle=None)
            self.put(place)
            self.go_on(place)
        self.report(Dropped(handle))

    def stop_timer(self, handle: int) -> None:
        """Wait for ever, or no longer."""
        if handle in self.timed:
            self.timed = tuple(one for one in self.timed if one != handle)
            self.effects.append(CancelTimer(f"{PATIENCE}{handle}"))

    def on_fetched(self, fetched: Fetched) -> None:
        """Be the holder of the data, as long as the token is here."""
        place = next((one for one in self.places if one.has_token), None)
        old = place.data if place is not None else None
        if place is None or old is None or old.version != fetched.version or old.holder == self.me:
            return
        self.put(replace(place, data=Data(old.version, self.me, fetched.details)))
        self.keeps = old.version
        self.send(old.holder, Taken(old.version))

    def on_taken(self, message: Taken) -> None:
        """Hear that the data is elsewhere."""
        if self.keeps == message.version:
            self.keeps = None

    # --------------------------------------------------------------------------------------------------- dispatch

    def on_queue_message(self, message: QueueMessage) -> None:
        """Take what concerns the queue; it may come at any time."""
        match message:
            case Token(turn, data):
                self.on_token(turn, data)
            case Link():
                self.on_link(message)
            case Taken():
                self.on_taken(message)
            case Unlink():
                self.on_unlink(message)
            case Unlinked():
                self.on_unlinked(message)
            case Relink():
                self.on_relink(message)
            case Relinked():
                self.on_relinked(message)
            case _:
                assert_never(message)


def _by_turn(place: Place) -> int:
    """A request under way comes last."""
    return place.turn or 1 << 62


__all__ = ["PATIENCE", "Queue", "QueueMessage"]
