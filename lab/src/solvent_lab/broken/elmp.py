"""ELMP as it must not be: one known fault each, for the checker to find.

The first eleven are what the paper prints, taken literally (E1 to E11 in docs/explanation/elmp.md). The others leave
out what our machine does, one thing at a time; the last ones where data is fetched.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

from msgspec.structs import replace

from solvent.protocols.elmp.messages import Climb, Done, Follow, Given, Lower, Won
from solvent.protocols.elmp.process import Process
from solvent.protocols.elmp.state import Exiting, Idle, Out
from solvent.protocols.elmp.vocabulary import WHOLE, Claim, Granted, Leave, Request, Withdraw
from solvent.protocols.machine import Message, NodeId, Send
from solvent_lab.checker.registry import Variants
from solvent_lab.models.elmp_memory import BOTH_LEAVE, ONE_HOST, TWO_HOSTS
from solvent_lab.models.elmp_world import (
    ALL,
    FOUR,
    LAZY,
    ONCE,
    PARTS,
    READS,
    SELDOM,
    STAR,
    STAR_FOURTH,
    STAR_SELDOM,
    STRICT,
    THREAD,
    THREE,
    TWICE,
    Late,
    elmp,
    endless,
    join_at,
    timed,
    together,
    with_data,
)

if TYPE_CHECKING:
    from solvent.protocols.elmp.holding import QueueMessage
    from solvent.protocols.elmp.messages import Asking, Await, Ref, Relink, Rise, Token, Upper
    from solvent.protocols.elmp.process import Elmp, SeatMessage
    from solvent.protocols.elmp.state import ElmpState, Place, Swap, Use
    from solvent.protocols.elmp.vocabulary import Fetched

BROKEN = Variants()

# ------------------------------------------------------------------------------------------------- as it is printed


@BROKEN.add(elmp, THREE, [(1, Request())])
class HandsOverNoChildren(Process):
    """E1: the list of children is sent after it was emptied."""

    def hand_down(self, swap: Swap) -> None:
        self.children = {}
        super().hand_down(swap)


@BROKEN.add(elmp, THREE, [(1, Request())])
class CircleOfParents(Process):
    """E2: the root gets the requester's parent, which it is itself if they were neighbours."""

    def hand_up(self, swap: Swap, upper: Upper) -> None:
        parent = self.parent
        super().hand_up(swap, upper)
        for place, effect in enumerate(self.effects):
            if isinstance(effect, Send) and isinstance(effect.message, Lower):
                self.effects[place] = Send(effect.to, Lower(replace(effect.message.seat, parent=parent)))


@BROKEN.add(elmp, THREAD, [(2, Request())])
class KeepsTheOldChild(Process):
    """E3: the requester's old parent does not hear that it has another child."""

    def on_rise(self, message: Rise) -> None:
        if message.place.requester == self.me:
            super().on_rise(message)
        else:
            self.send(message.place.requester, message)


@BROKEN.add(elmp, (*FOUR, 3, 2), [(0, Leave()), (2, Leave())])
class KnowsItsNeighboursOnce(Process):
    """E4: a process that leaves does not check again who its neighbours are."""

    def on_follow(self, sender: NodeId, message: Follow) -> None:
        parent = self.parent
        super().on_follow(sender, message)
        if self.departure is not None:
            self.parent = parent


@BROKEN.add(elmp, THREAD, [(0, Leave()), (2, Request())])
class HoldsItselfFirst(Process):
    """E5: a process that leaves blocks requests while it waits for neighbours; a neighbour waits with a request."""

    def begin_exit(self) -> None:
        super().begin_exit()
        if type(self.phase) is Idle and self.departure is not None and self.departure.heir is not None:
            self.phase = Exiting()

    def on_standing(self, sender: NodeId) -> None:
        self.phase = Idle()
        super().on_standing(sender)


@BROKEN.add(elmp, THREE, [(1, Request()), (2, Request())])
class OnlyIdleOnesFollow(Process):
    """E6: a child that is not idle gets no new parent before it is."""

    def on_follow(self, sender: NodeId, message: Follow) -> None:
        if self.is_idle:
            super().on_follow(sender, message)
        else:
            self.early += ((sender, message),)

    def settle(self) -> None:
        super().settle()
        if self.is_idle and any(isinstance(message, Follow) for _, message in self.early):
            self.replay()


class Refused(Message, frozen=True, gc=False):
    """A process on the path was not idle: begin again."""

    requester: NodeId
    number: int


@BROKEN.add(endless, THREE, (2, Request()), wanting=(0, 1), outcome=Granted)
class Refuses(Process):
    """E7: a process that is not idle refuses a request, which begins again."""

    def on_seat_message(self, sender: NodeId, message: SeatMessage) -> None:
        if isinstance(message, Climb) and sender in self.children and not self.is_idle:
            for one in message.requests:
                for node in one.path:
                    self.send(node, Refused(one.requester, one.number))
        else:
            super().on_seat_message(sender, message)

    def on_answer(self, sender: NodeId, message: Any) -> None:
        if not isinstance(message, Refused):
            super().on_answer(sender, message)
        elif message.requester == self.me:
            self.climb()
        else:
            self.let_go({(message.requester, message.number)})


@BROKEN.add(with_data, THREE, [(1, Request()), (1, Leave())])
class LeavesWithTheData(Process):
    """E8: a process leaves before any other has fetched the data from it."""

    def may_leave(self) -> bool:
        keeps, self.keeps = self.keeps, None
        may = super().may_leave()
        self.keeps = keeps
        return may


@BROKEN.add(timed, THREE, [*ONCE, (1, Withdraw())])
class WithdrawsAtOnce(Process):
    """E9: a waiting claim is dropped without being taken out of the list."""

    def go_on(self, place: Place) -> None:
        super().go_on(place)
        if place.handle is None and not place.has_token and place.turn:
            self.remove(place.turn)


@BROKEN.add(elmp, THREE, [(1, Request()), (2, Request())])
class DoesNotWaitForChildren(Process):
    """E10: a seat is handed over while requests may be on their way to it."""

    def go_on_with_swap(self) -> None:
        assert self.swap is not None
        self.swap = replace(self.swap, waiting=frozenset())
        super().go_on_with_swap()

    def on_followed(self, sender: NodeId) -> None:
        """Ignore it."""


@BROKEN.add(elmp, THREAD, [(3, join_at(2))], config=LAZY)
class NeverRebuilds(Process):
    """E11: the tree below a process may have any height."""

    @classmethod
    def of(cls, machine: Elmp, state: ElmpState) -> Self:
        desk = super().of(machine, state)
        desk.config = replace(desk.config, slack=1e9)
        return desk


# --------------------------------------------------------------------------------------------------- what we left out


@BROKEN.add(elmp, FOUR, [(0, Leave()), (1, Leave())], is_endless=True)
class GivesWayToNobody(Process):
    """Two neighbours that leave have no order: they change seats with each other for ever."""

    def must_wait(self, _sender: NodeId, _message: Any) -> bool:
        return False


@BROKEN.add(endless, THREAD, (2, Request()), wanting=(0, 1), outcome=Granted)
class TakesTheNewestFirst(Process):
    """Queues are stacks: the oldest entry waits for ever if new ones keep coming."""

    def settle(self) -> None:
        self.queue.reverse()
        super().settle()
        self.queue.reverse()


@BROKEN.add(timed, THREE, ONCE, config=SELDOM)
class LastComeFirstServed(Process):
    """The root puts a new request before those that wait already."""

    def enqueue_all(self, requests: tuple[Asking, ...]) -> None:
        if len(self.places) == 1 and self.places[0].next is not None and len(requests) == 1:
            (one,), mine = requests, self.places[0]
            self.turns += 1
            self.put(replace(mine, next=(one.requester, self.turns)))
            given = Given(one.requester, one.number, one.path, self.turns, (self.me, mine.turn), mine.next)
            self.send_down([given])
        else:
            super().enqueue_all(requests)


@BROKEN.add(elmp, THREE, [(1, Request())])
class KeepsTheToken(Process):
    """A process that passes the token on keeps it as well."""

    def pass_on(self, place: Place) -> None:
        super().pass_on(place)
        self.put(replace(place, has_token=True))


@BROKEN.add(timed, THREE, [(0, Request()), (1, Request()), (1, Withdraw())])
class LosesTheToken(Process):
    """A withdrawn place does not pass the token on."""

    def on_token(self, message: Token) -> None:
        if self.known(message.turn).handle is not None:
            super().on_token(message)


@BROKEN.add(together, THREE, [(1, READS), (2, Request())])
class WaitsForNobody(Process):
    """A claim is granted as soon as the token comes, whatever other claims are held."""

    def wait(self, place: Place, handle: int, claim: Claim) -> Use:
        return super().wait(replace(place, active=()), handle, claim)


@BROKEN.add(together, THREE, PARTS)
class WaitsForThoseThatHold(Process):
    """A waiting claim reports that it is over, and a later one overtakes it."""

    def on_await(self, message: Await) -> None:
        (to, number), waiting = message.asker, [one for one in self.uses if not one.is_held and one.handle is not None]
        over = tuple(one.number for one in waiting if one.number in message.uses)
        if over:
            self.send(to, Done(number, self.me, over, is_changed=False))
        super().on_await(replace(message, uses=tuple(one for one in message.uses if one not in over)))


@BROKEN.add(elmp, THREE, [(1, READS), (1, Leave()), (2, Request())], is_in_order=False)
class LeavesWhileListed(Process):
    """A process leaves although the token lists a claim of it, for which another process waits."""

    def is_needed(self) -> bool:
        return self.keeps is not None or bool(self.uses)

    def on_queue_message(self, message: QueueMessage) -> None:
        if type(self.phase) is not Out:
            super().on_queue_message(message)


@BROKEN.add(timed, THREE, [*ONCE, (1, Withdraw())])
class ForgetsThePredecessor(Process):
    """The next process does not learn that one before it was passed over."""

    def on_relink(self, message: Relink) -> None:
        place = self.known(message.turn)
        super().on_relink(message)
        self.put(replace(place, is_unlinking=False))


@BROKEN.add(timed, THREE, ONCE)
class ForgetsTheEnd(Process):
    """The root does not record which process is the last."""

    def append(self, first: Ref, last: Ref) -> None:
        tail = self.tail
        super().append(first, last)
        self.tail = tail


@BROKEN.add(elmp, THREE, [(1, Request()), (2, Request())])
class StaysRoot(Process):
    """A process that has handed over the root's seat still gives turns."""

    def hand_down(self, swap: Swap) -> None:
        ranks, turns, tail = self.ranks, self.turns, self.tail
        super().hand_down(swap)
        self.ranks, self.turns, self.tail = ranks, turns, tail


@BROKEN.add(elmp, (None, 0, 1, 1), [(2, Request()), (4, join_at(3))], config=STRICT)
class TellsOnlyTheRequester(Process):
    """News of a place goes straight to the requester, and the path is free before it has arrived."""

    def send_down(self, places: list[Given]) -> None:
        for one in places:
            for node in one.path:
                self.send(node, Won((one,)))

    def on_won(self, message: Won) -> None:
        mine = tuple(one for one in message.places if one.requester == self.me)
        self.let_go({(one.requester, one.number) for one in message.places})
        if mine:
            super().on_won(Won(mine))


@BROKEN.add(elmp, (None, 0, 0, 0), [(1, Request()), (4, join_at(2))], config=STAR_SELDOM)
class IgnoresImpatience(Process):
    """A process that can no longer wait to hear of its place is not told of it."""

    def on_impatience(self, _sender: NodeId) -> None:
        """Do nothing."""


@BROKEN.add(timed, FOUR, [(4, join_at(3)), (0, Request()), (2, Request())], config=STRICT)
class GathersInSilence(Process):
    """The tree is rebuilt before every process that has a place knows it."""

    def gather(self, *, is_top: bool) -> None:
        untold, self.untold = self.untold, ()
        super().gather(is_top=is_top)
        self.untold = untold


@BROKEN.add(elmp, THREE, [(1, Request()), (1, Leave()), (2, Request())], user=Late, has_data=True, config=SELDOM)
class GivesUpTheToken(Process):
    """A process that needs the token to hand over the data lets itself be passed over, and asks again."""

    def begin_request(self, handle: int | None, claim: Claim = WHOLE) -> None:
        super().begin_request(handle, claim)
        self.places = tuple(replace(one, is_kept=False) for one in self.places)


@BROKEN.add(timed, THREE, TWICE, config=STAR_FOURTH)
class TakesOldNews(Process):
    """News of an old place is taken for that of the current request."""

    def appended(self, given: Given) -> None:
        super().appended(replace(given, number=self.asks))


@BROKEN.add(timed, STAR, [*ALL, (0, Withdraw())], config=STAR_SELDOM)
class KeepsTheTrailToItself(Process):
    """The root gives up its place, and the processes behind the next one never hear of their places."""

    def go_on(self, place: Place) -> None:
        untold, self.untold = self.untold, ()
        super().go_on(place)
        self.untold = untold or self.untold


@BROKEN.add(timed, STAR, [*ALL, (2, Leave())], config=STAR_SELDOM)
class TrustsTheTrail(Process):
    """The token goes where the root sent it, even if that process has been passed over since."""

    def on_token(self, message: Token) -> None:
        if message.trail:
            self.put(replace(self.known(message.turn), next=None))
        super().on_token(message)


@BROKEN.add(ONE_HOST, is_stopped=False, is_merged=True)
class MergesFirst(Process):
    """A process entrusted with the data merges all parts first; the result counts if the token is still there."""

    def on_fetched(self, fetched: Fetched) -> None:
        super().on_fetched(fetched)
        for place in self.places:
            data = place.data
            if data is not None and data.parts:
                self.put(replace(place, data=replace(data, version=data.version + 1, parts=())))


@BROKEN.add(BOTH_LEAVE)
class TakesAnyWord(Process):
    """What was fetched of a version counts for any claim that holds now."""

    def on_fetched(self, fetched: Fetched) -> None:
        held = [use.number for use in self.uses if use.is_held and use.claim.is_plain]
        super().on_fetched(replace(fetched, use=held[0] if held else 0))


BROKEN["fetches-on"] = partial(
    TWO_HOSTS, is_stopped=False, title="data is still being fetched to where another process writes"
)

__all__ = ["BROKEN"]
