"""Processes of a space as they must not be: one known fault each, for the checker to find."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.handover.machine import Process
from solvent.protocols.handover.messages import Muster, Present, Within
from solvent.protocols.handover.plan import NUMBERS_BITS
from solvent.protocols.handover.quorum import Verdict, judged
from solvent.protocols.handover.state import Role
from solvent.protocols.handover.vocabulary import Opened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.protocols.elmp.state import ElmpState
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.messages import Attendance, Came, Going, Renew, Renewal, Went
    from solvent.protocols.handover.state import Mustering
    from solvent.protocols.handover.vocabulary import Ballot, Found
    from solvent.protocols.machine import NodeId

# --------------------------------------------------------------------------------------------- coming and going


class MakesItsOwn(Process):
    """Who opens a resource makes it, founder or not."""

    __slots__ = ()

    def on_open(self, resource: str) -> None:
        """Have it at once."""
        self.made(resource)
        self.report(Opened(resource))


class LetsInAtOnce(Process):
    """A new process is let in before all know of it."""

    __slots__ = ()

    def have_noted(self, node: NodeId, news: Came | Went, known: frozenset[NodeId] = frozenset()) -> None:
        """Wait for nobody."""
        super().have_noted(node, news, known)
        if node in self.standing.noting:
            self.settle(node)


class SaysNoGoodbye(Process):
    """Who has left all resources is let go while others may still need what it has said."""

    __slots__ = ()

    def say_goodbye(self) -> None:
        """Ask at once."""
        self.change(has_resigned=True, noting=self.standing.noting.set(self.me, frozenset()))
        self.ask_to_go()

    def on_going(self, sender: NodeId, going: Going) -> None:
        """Have everybody know of it."""
        super().on_going(sender, replace(going, noted=()))


class HidesFromNewcomers(Process):
    """Who has said goodbye does not say it to those who come meanwhile."""

    __slots__ = ()

    def on_came(self, sender: NodeId, came: Came) -> None:
        """Know a new process, and tell it nothing."""
        waiting = self.standing.noting.get(self.me)
        if waiting is not None:
            self.change(noting=self.standing.noting.delete(self.me))
        super().on_came(sender, came)
        if waiting is not None:
            self.change(noting=self.standing.noting.set(self.me, waiting))


# ------------------------------------------------------------------------------------------------------- epochs


class TakesWhatIsOver(Process):
    """What was said in an epoch that is over counts: the old token comes back."""

    __slots__ = ()

    def on_within(self, sender: NodeId, within: Within) -> None:
        """Take it for something of now."""
        super().on_within(sender, replace(within, epoch=max(within.epoch, self.standing.epoch)))


class NeedsNoMajority(Process):
    """Who believes all others dead goes on alone."""

    __slots__ = ()

    def judge(self, answers: Mapping[NodeId, Attendance]) -> Verdict:
        """Take any answers for enough."""
        return judged(answers, self.standing.dead, needs_majority=False)


class WaitsForNoAgreement(Process):
    """A repair is completed as soon as it is planned: who was mustered by another one meanwhile is counted."""

    __slots__ = ()

    def on_renew(self, sender: NodeId, renew: Renew) -> None:
        """Go on at once, unless it is too late."""
        super().on_renew(sender, renew)
        self.on_proceed(renew.ballot)

    def renew(self, mustering: Mustering, verdict: Verdict) -> None:
        """Go on at once."""
        super().renew(mustering, verdict)
        agreed = self.standing.agreed
        if agreed is not None:
            self.proceed(agreed)


class ForgetsWhatItAgreedTo(Process):
    """Who has agreed to a repair and answers another one does not say so."""

    __slots__ = ()

    def agree(self, renew: Renew) -> None:
        """Remember what is to be, but not that it is."""
        super().agree(renew)
        self.change(agreements=())


class AnswersTwice(Process):
    """Who has answered one muster answers an earlier one as well, and goes on when either is done."""

    __slots__ = ()

    def on_muster(self, sender: NodeId, muster: Muster) -> None:
        """Answer any."""
        if muster.ballot < self.standing.promised:
            self.change(promised=muster.ballot)
            self.send(sender, Present(muster.ballot, self.attendance({})))
            return
        super().on_muster(sender, muster)


class GoersVote(Process):
    """Who has said goodbye counts all the same: those who have heard it do not count it among all."""

    __slots__ = ()

    def attendance(self, found: Found) -> Attendance:
        """Have a vote."""
        return replace(super().attendance(found), is_voter=self.standing.role is Role.INSIDE)


class AsksNobodyAgain(Process):
    """If one dies that has not answered a muster, the others are not asked again what they find."""

    __slots__ = ()

    def be_without(self, node: NodeId) -> None:
        """Go on with the answers that are here."""
        mustering = self.standing.mustering
        if mustering is None or node in mustering.attendances:
            super().be_without(node)
        else:
            self.consider_renewing()


# -------------------------------------------------------------------------------------------------------- plans


class AsksForNoData(Process):
    """Nobody is asked what data is at hand."""

    __slots__ = ()

    def attendance(self, found: Found) -> Attendance:
        """Tell of nothing that was found."""
        del found
        return super().attendance({})


class _Planning(Process):
    """Changes what is planned."""

    __slots__ = ()

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
        """Look at the answers in another way."""
        return super().plans([self.seen(one) for one in answers], ballot)

    def seen(self, one: Attendance) -> Attendance:
        """Give an answer as it is seen."""
        raise NotImplementedError


class MakesATokenAlways(_Planning):
    """A new token is made although somebody has the old one."""

    __slots__ = ()

    def seen(self, one: Attendance) -> Attendance:
        """See no token."""
        parts = [
            (name, replace(part, places=tuple(place for place in part.places if not place.has_token)))
            for name, part in one.parts
        ]
        return replace(one, parts=tuple(parts))

    def proceed(self, renew: Renew) -> None:
        """Keep a token that is here."""
        renewals = []
        for name, renewal in renew.renewals:
            old = self.resources.get(name)
            kept = () if old is None else tuple(place for place in old.places if place.has_token)
            renewals.append((name, replace(renewal, places=(*kept, *renewal.places))))
        super().proceed(replace(renew, renewals=tuple(renewals)))


class ForgetsWhoWaits(_Planning):
    """Places of those who wait are not carried over."""

    __slots__ = ()

    def seen(self, one: Attendance) -> Attendance:
        """See nobody wait."""
        parts = [
            (name, replace(part, places=tuple(place for place in part.places if place.has_token)))
            for name, part in one.parts
        ]
        return replace(one, parts=tuple(parts))


class WaitsForTheDead(Process):
    """A claim that waits for one of a process that died goes on waiting."""

    __slots__ = ()

    def proceed(self, renew: Renew) -> None:
        """Take those that it waits for to live."""
        renewals = []
        for name, renewal in renew.renewals:
            old = self.resources.get(name)
            entries = () if old is None else tuple(one for use in old.uses for one in use.earlier)
            renewals.append((name, replace(renewal, entries=(*renewal.entries, *entries))))
        super().proceed(replace(renew, renewals=tuple(renewals)))


class CountsOn(Process):
    """Turns go on from what survivors know, and who knew more has died."""

    __slots__ = ()

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
        """Give lower turns."""
        places = [place.turn for one in answers for _, part in one.parts for place in part.places]
        turns = max([0, *places])
        less = (ballot[0] << NUMBERS_BITS) - turns

        def lower(renewal: Renewal) -> Renewal:
            seat = renewal.seat
            places = tuple(
                replace(place, turn=place.turn - less) if place.turn > turns else place for place in renewal.places
            )
            tail = seat.tail if seat.tail is None or seat.tail[1] <= turns else (seat.tail[0], seat.tail[1] - less)
            return replace(renewal, places=places, seat=replace(seat, turns=max(0, seat.turns - less), tail=tail))

        plans = super().plans(answers, ballot)
        return [(name, {node: lower(one) for node, one in plan.items()}) for name, plan in plans]


class TakesOneForAnother(Process):
    """What is found of one resource counts for all."""

    __slots__ = ()

    def attendance(self, found: Found) -> Attendance:
        """Tell of it for each."""
        last = max(found.values(), key=lambda one: cast("Data", one).version, default=None)
        return super().attendance({} if last is None else dict.fromkeys((*self.resources, *found), last))


class _Forgetting(Process):
    """Changes what is carried over."""

    __slots__ = ()

    def proceed(self, renew: Renew) -> None:
        """Go on with less than was here."""
        self.resources = Map((name, self.left_of(state)) for name, state in self.resources.items())
        super().proceed(renew)

    def left_of(self, state: ElmpState) -> ElmpState:
        """Give what is carried over of a resource."""
        raise NotImplementedError


class GrantsNothingAgain(_Forgetting):
    """A claim whose data was at who died holds on, and its user looks for the data in vain."""

    __slots__ = ()

    def left_of(self, state: ElmpState) -> ElmpState:
        """Take no claim that holds to need data of others."""
        return replace(state, uses=tuple(replace(use, data=None) if use.is_held else use for use in state.uses))


class ForgetsPatience(_Forgetting):
    """Who would wait for a while only waits for ever after a repair."""

    __slots__ = ()

    def left_of(self, state: ElmpState) -> ElmpState:
        """Take everybody to wait for ever."""
        return replace(state, timed=())


class GrantsWhoGaveUp(Process):
    """A claim that was given up since it was told of in answer to a muster is there again after the repair."""

    __slots__ = ()

    def still_wanted(self, resource: str, renewal: Renewal) -> Renewal:
        """Take what the repair has given."""
        del resource
        return renewal


class ForgetsWhoLeaves(_Forgetting):
    """Who was about to leave a resource stays in it after a repair, and is told nothing."""

    __slots__ = ()

    def left_of(self, state: ElmpState) -> ElmpState:
        """Take nobody to leave."""
        return replace(state, departure=None)


__all__ = [
    "AnswersTwice",
    "AsksForNoData",
    "AsksNobodyAgain",
    "CountsOn",
    "ForgetsPatience",
    "ForgetsWhatItAgreedTo",
    "ForgetsWhoLeaves",
    "ForgetsWhoWaits",
    "GoersVote",
    "GrantsNothingAgain",
    "GrantsWhoGaveUp",
    "HidesFromNewcomers",
    "LetsInAtOnce",
    "MakesATokenAlways",
    "MakesItsOwn",
    "NeedsNoMajority",
    "SaysNoGoodbye",
    "TakesOneForAnother",
    "TakesWhatIsOver",
    "WaitsForNoAgreement",
    "WaitsForTheDead",
]
