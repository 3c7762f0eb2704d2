"""ELMP as it must not be: one known fault each, for the checker to find.

The first eleven are what the paper prints, taken literally (E1 to E11 in docs/explanation/elmp.md). The others leave
out what our machine does, one thing at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Climb, Done, Follow, Given, Lower, Won
from solvent.protocols.elmp.process import Process
from solvent.protocols.elmp.state import Exiting, Idle, Out
from solvent.protocols.elmp.vocabulary import WHOLE, Claim
from solvent.protocols.machine import Message, NodeId, Send

if TYPE_CHECKING:
    from solvent.protocols.elmp.holding import QueueMessage
    from solvent.protocols.elmp.messages import Asking, Await, Ref, Relink, Rise, Token, Upper
    from solvent.protocols.elmp.process import Elmp, SeatMessage
    from solvent.protocols.elmp.state import ElmpState, Place, Swap, Use


# ------------------------------------------------------------------------------------------------- as it is printed


class HandsOverNoChildren(Process):
    """E1: the list of children is sent after it was emptied."""

    def hand_down(self, swap: Swap) -> None:
        """Empty the list, then send it."""
        self.children = {}
        super().hand_down(swap)


class CircleOfParents(Process):
    """E2: the root gets the requester's parent, which it is itself if they were neighbours."""

    def hand_up(self, swap: Swap, upper: Upper) -> None:
        """Give the lower seat away as it is."""
        parent = self.parent
        super().hand_up(swap, upper)
        for place, effect in enumerate(self.effects):
            if isinstance(effect, Send) and isinstance(effect.message, Lower):
                self.effects[place] = Send(effect.to, Lower(replace(effect.message.seat, parent=parent)))


class KeepsTheOldChild(Process):
    """E3: the requester's old parent does not hear that it has another child."""

    def on_rise(self, message: Rise) -> None:
        """Pass the news on, and learn nothing from it."""
        if message.place.requester == self.me:
            super().on_rise(message)
        else:
            self.send(message.place.requester, message)


class KnowsItsNeighboursOnce(Process):
    """E4: who leaves does not look again at who its neighbours are."""

    def on_follow(self, sender: NodeId, message: Follow) -> None:
        """Keep the old parent."""
        parent = self.parent
        super().on_follow(sender, message)
        if self.departure is not None:
            self.parent = parent


class HoldsItselfFirst(Process):
    """E5: who leaves takes no requests while it waits for its neighbours; and a neighbour waits with a request."""

    def begin_exit(self) -> None:
        """Do nothing else at once."""
        super().begin_exit()
        if type(self.phase) is Idle and self.departure is not None and self.departure.heir is not None:
            self.phase = Exiting()

    def on_standing(self, sender: NodeId) -> None:
        """Go on."""
        self.phase = Idle()
        super().on_standing(sender)


class OnlyIdleOnesFollow(Process):
    """E6: a child that is not idle gets no other parent before it is."""

    def on_follow(self, sender: NodeId, message: Follow) -> None:
        """Wait until this process is idle."""
        if self.is_idle:
            super().on_follow(sender, message)
        else:
            self.early += ((sender, message),)

    def settle(self) -> None:
        """Take what waited, too."""
        super().settle()
        if self.is_idle and any(isinstance(message, Follow) for _, message in self.early):
            self.replay()


class Refused(Message, frozen=True, gc=False):
    """Somebody on the path was not idle: begin again."""

    requester: NodeId
    number: int


class Refuses(Process):
    """E7: a process that is not idle refuses a request, which begins again."""

    def on_seat_message(self, sender: NodeId, message: SeatMessage) -> None:
        """Refuse requests, unless this process is idle."""
        if isinstance(message, Climb) and sender in self.children and not self.is_idle:
            for one in message.requests:
                for node in one.path:
                    self.send(node, Refused(one.requester, one.number))
        else:
            super().on_seat_message(sender, message)

    def on_answer(self, sender: NodeId, message: Any) -> None:
        """Begin again, or be held no longer."""
        if not isinstance(message, Refused):
            super().on_answer(sender, message)
        elif message.requester == self.me:
            self.climb()
        else:
            self.let_go({(message.requester, message.number)})


class LeavesWithTheData(Process):
    """E8: a process leaves before anybody has fetched the data from it."""

    def may_leave(self) -> bool:
        """Do not mind the data."""
        keeps, self.keeps = self.keeps, None
        may = super().may_leave()
        self.keeps = keeps
        return may


class WithdrawsAtOnce(Process):
    """E9: a claim that waits is forgotten without having been taken out of the list."""

    def go_on(self, place: Place) -> None:
        """Tell the predecessor, and have the place no longer."""
        super().go_on(place)
        if place.handle is None and not place.has_token and place.turn:
            self.remove(place.turn)


class DoesNotWaitForChildren(Process):
    """E10: a seat is handed over while requests may be on their way to it."""

    def go_on_with_swap(self) -> None:
        """Wait for nobody."""
        assert self.swap is not None
        self.swap = replace(self.swap, waiting=frozenset())
        super().go_on_with_swap()

    def on_followed(self, sender: NodeId) -> None:
        """Ignore it."""


class NeverRebuilds(Process):
    """E11: the tree below a process may have any height."""

    @classmethod
    def of(cls, machine: Elmp, state: ElmpState) -> Self:
        """Never build anything anew."""
        desk = super().of(machine, state)
        desk.config = replace(desk.config, slack=1e9)
        return desk


# --------------------------------------------------------------------------------------------------- what we left out


class GivesWayToNobody(Process):
    """Of two neighbours that leave none comes first: they change seats with each other for ever."""

    def must_wait(self, _sender: NodeId, _message: Any) -> bool:
        """Take everything in its turn."""
        return False


class TakesTheNewestFirst(Process):
    """What waits longest waits for ever if others go on coming."""

    def settle(self) -> None:
        """Turn the queue round."""
        self.queue.reverse()
        super().settle()
        self.queue.reverse()


class LastComeFirstServed(Process):
    """The root puts requests before those that wait already."""

    def enqueue_all(self, requests: tuple[Asking, ...]) -> None:
        """Put them behind this process's own place."""
        if len(self.places) == 1 and self.places[0].next is not None and len(requests) == 1:
            (one,), mine = requests, self.places[0]
            self.turns += 1
            self.put(replace(mine, next=(one.requester, self.turns)))
            given = Given(one.requester, one.number, one.path, self.turns, (self.me, mine.turn), mine.next)
            self.send_down([given])
        else:
            super().enqueue_all(requests)


class KeepsTheToken(Process):
    """Who passes the token on has it still."""

    def pass_on(self, place: Place) -> None:
        """Send a copy."""
        super().pass_on(place)
        self.put(replace(place, has_token=True))


class LosesTheToken(Process):
    """A place that was withdrawn does not pass the token on."""

    def on_token(self, message: Token) -> None:
        """Let it get lost."""
        if self.known(message.turn).handle is not None:
            super().on_token(message)


class WaitsForNobody(Process):
    """A claim is granted as soon as the token comes, whoever holds something else."""

    def wait(self, place: Place, handle: int, claim: Claim) -> Use:
        """Ask nobody."""
        return super().wait(replace(place, active=()), handle, claim)


class WaitsForThoseThatHold(Process):
    """A claim that waits itself says that it is over, and who comes later overtakes it."""

    def on_await(self, message: Await) -> None:
        """Answer unless the claim is held."""
        (to, number), waiting = message.asker, [one for one in self.uses if not one.is_held and one.handle is not None]
        over = tuple(one.number for one in waiting if one.number in message.uses)
        if over:
            self.send(to, Done(number, self.me, over, is_changed=False))
        super().on_await(replace(message, uses=tuple(one for one in message.uses if one not in over)))


class LeavesWhileListed(Process):
    """A process leaves although the token still tells of a claim that it had, and somebody waits for its answer."""

    def is_needed(self) -> bool:
        """Do not mind the token."""
        return self.keeps is not None or bool(self.uses)

    def on_queue_message(self, message: QueueMessage) -> None:
        """Say nothing any more once it has left."""
        if type(self.phase) is not Out:
            super().on_queue_message(message)


class ForgetsThePredecessor(Process):
    """Who comes next is not told that somebody between was passed over."""

    def on_relink(self, message: Relink) -> None:
        """Keep the old predecessor."""
        place = self.known(message.turn)
        super().on_relink(message)
        self.put(replace(place, is_unlinking=False))


class ForgetsTheEnd(Process):
    """The root does not note who is the last."""

    def append(self, first: Ref, last: Ref) -> None:
        """Believe in the old end."""
        tail = self.tail
        super().append(first, last)
        self.tail = tail


class StaysRoot(Process):
    """Who hands the root's seat over goes on giving turns."""

    def hand_down(self, swap: Swap) -> None:
        """Keep the numbers."""
        ranks, turns, tail = self.ranks, self.turns, self.tail
        super().hand_down(swap)
        self.ranks, self.turns, self.tail = ranks, turns, tail


class TellsOnlyTheRequester(Process):
    """News of a place goes straight to the requester, and those on the path are free before it is there."""

    def send_down(self, places: list[Given]) -> None:
        """Send each to its requester, and to everybody on its path."""
        for one in places:
            for node in one.path:
                self.send(node, Won((one,)))

    def on_won(self, message: Won) -> None:
        """Be free, or know one's place."""
        mine = tuple(one for one in message.places if one.requester == self.me)
        self.let_go({(one.requester, one.number) for one in message.places})
        if mine:
            super().on_won(Won(mine))


class IgnoresImpatience(Process):
    """Who could wait to hear of its place, and cannot any more, is not told of it."""

    def on_impatience(self, _sender: NodeId) -> None:
        """Do nothing."""


class GathersInSilence(Process):
    """The tree is built anew before everybody that has a place knows it."""

    def gather(self, *, is_top: bool) -> None:
        """Tell nobody before."""
        untold, self.untold = self.untold, ()
        super().gather(is_top=is_top)
        self.untold = untold


class GivesUpTheToken(Process):
    """Who asks for the token to hand the data on with it lets itself be passed over, and asks again."""

    def begin_request(self, handle: int | None, claim: Claim = WHOLE) -> None:
        """Take a place like any that is nobody's."""
        super().begin_request(handle, claim)
        self.places = tuple(replace(one, is_kept=False) for one in self.places)


class TakesOldNews(Process):
    """News of a place that was had long ago are taken for those of the request under way."""

    def appended(self, given: Given) -> None:
        """Do not look at the request's number."""
        super().appended(replace(given, number=self.asks))


class KeepsTheTrailToItself(Process):
    """The root gives its place up, and those behind whoever comes next have never heard of their places."""

    def go_on(self, place: Place) -> None:
        """Tell nobody."""
        untold, self.untold = self.untold, ()
        super().go_on(place)
        self.untold = untold or self.untold


class TrustsTheTrail(Process):
    """The token goes where the root meant it to go, also to who has been passed over since."""

    def on_token(self, message: Token) -> None:
        """Forget what this process knows better."""
        if message.trail:
            self.put(replace(self.known(message.turn), next=None))
        super().on_token(message)


__all__ = [
    "CircleOfParents",
    "DoesNotWaitForChildren",
    "ForgetsTheEnd",
    "ForgetsThePredecessor",
    "GathersInSilence",
    "GivesUpTheToken",
    "GivesWayToNobody",
    "HandsOverNoChildren",
    "HoldsItselfFirst",
    "IgnoresImpatience",
    "KeepsTheOldChild",
    "KeepsTheToken",
    "KeepsTheTrailToItself",
    "KnowsItsNeighboursOnce",
    "LastComeFirstServed",
    "LeavesWhileListed",
    "LeavesWithTheData",
    "LosesTheToken",
    "NeverRebuilds",
    "OnlyIdleOnesFollow",
    "Refuses",
    "StaysRoot",
    "TakesOldNews",
    "TakesTheNewestFirst",
    "TellsOnlyTheRequester",
    "TrustsTheTrail",
    "WaitsForNobody",
    "WaitsForThoseThatHold",
    "WithdrawsAtOnce",
]
