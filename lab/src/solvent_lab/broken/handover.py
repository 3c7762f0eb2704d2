"""Processes of a space as they must not be: one known fault each.

The checker finds all but the last four, which are wrong about parts in a repair: the simulator finds those
(`tests/simulation/test_handover_parts.py`), where real hosts would lose what was released.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.elmp.vocabulary import Request
from solvent.protocols.handover.machine import Process
from solvent.protocols.handover.messages import Muster, Present, Within
from solvent.protocols.handover.plan import NUMBERS_BITS
from solvent.protocols.handover.quorum import Verdict, judged
from solvent.protocols.handover.state import Role
from solvent.protocols.handover.vocabulary import Go, In, Open, Opened
from solvent_lab.checker.registry import Variants
from solvent_lab.models.handover_world import READ, R, S, leaves, remembering, space, suspects, wants

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.protocols.elmp.state import ElmpState
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.messages import Attendance, Came, Going, Renew, Renewal, Went
    from solvent.protocols.handover.state import Mustering
    from solvent.protocols.handover.vocabulary import Ballot, Found
    from solvent.protocols.machine import NodeId

BROKEN = Variants()

# --------------------------------------------------------------------------------------------- coming and going


@BROKEN.add(space, 2, [(1, Open(R))], opened=())
class MakesItsOwn(Process):
    """Who opens a resource makes it, founder or not."""

    def on_open(self, resource: str) -> None:
        self.made(resource)
        self.report(Opened(resource))


@BROKEN.add(space, 2, [], newcomers=[(0,)], opened=())
class LetsInAtOnce(Process):
    """A new process is let in before all know of it."""

    def have_noted(self, node: NodeId, news: Came | Went, known: frozenset[NodeId] = frozenset()) -> None:
        super().have_noted(node, news, known)
        if node in self.standing.noting:
            self.settle(node)


@BROKEN.add(space, 3, [*wants(1, 2), (1, Go())], deaths=1, victims=(1,), is_instant=True)
class SaysNoGoodbye(Process):
    """Who has left all resources is let go while others may still need what it has said."""

    def say_goodbye(self) -> None:
        self.change(has_resigned=True, noting=self.standing.noting.set(self.me, frozenset()))
        self.ask_to_go()

    def on_going(self, sender: NodeId, going: Going) -> None:
        super().on_going(sender, replace(going, noted=()))


@BROKEN.add(space, 3, [(1, Go())], newcomers=[(0,)], opened=())
class HidesFromNewcomers(Process):
    """Who has said goodbye does not say it to those who come meanwhile."""

    def on_came(self, sender: NodeId, came: Came) -> None:
        waiting = self.standing.noting.get(self.me)
        if waiting is not None:
            self.change(noting=self.standing.noting.delete(self.me))
        super().on_came(sender, came)
        if waiting is not None:
            self.change(noting=self.standing.noting.set(self.me, waiting))


# ------------------------------------------------------------------------------------------------------- epochs


@BROKEN.add(space, 3, [*suspects((0, 2)), *wants(1, 2)], is_instant=True)
class TakesWhatIsOver(Process):
    """What was said in an epoch that is over counts: the old token comes back."""

    def on_within(self, sender: NodeId, within: Within) -> None:
        super().on_within(sender, replace(within, epoch=max(within.epoch, self.standing.epoch)))


@BROKEN.add(space, 3, suspects((1, 0), (1, 2), (0, 1)), opened=())
class NeedsNoMajority(Process):
    """Who believes all others dead goes on alone."""

    def judge(self, answers: Mapping[NodeId, Attendance]) -> Verdict:
        return judged(answers, self.standing.dead, needs_majority=False)


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
class WaitsForNoAgreement(Process):
    """A repair is completed as soon as it is planned: who was mustered by another one meanwhile is counted."""

    def on_renew(self, sender: NodeId, renew: Renew) -> None:
        super().on_renew(sender, renew)
        self.on_proceed(renew.ballot)

    def renew(self, mustering: Mustering, verdict: Verdict) -> None:
        super().renew(mustering, verdict)
        agreed = self.standing.agreed
        if agreed is not None:
            self.proceed(agreed)


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
class ForgetsWhatItAgreedTo(Process):
    """Who has agreed to a repair and answers another one does not say so."""

    def agree(self, renew: Renew) -> None:
        super().agree(renew)
        self.change(agreements=())


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
class AnswersTwice(Process):
    """Who has answered one muster answers an earlier one as well, and goes on when either is done."""

    def on_muster(self, sender: NodeId, muster: Muster) -> None:
        if muster.ballot < self.standing.promised:
            self.change(promised=muster.ballot)
            self.send(sender, Present(muster.ballot, self.attendance({})))
            return
        super().on_muster(sender, muster)


@BROKEN.add(space, 4, [(3, Go()), *suspects((0, 1), (0, 2), (1, 0))], opened=())
class GoersVote(Process):
    """Who has said goodbye counts all the same: those who have heard it do not count it among all."""

    def attendance(self, found: Found) -> Attendance:
        return replace(super().attendance(found), is_voter=self.standing.role is Role.INSIDE)


@BROKEN.add(remembering, 3, wants(1), deaths=2, victims=(1, 2))
class AsksNobodyAgain(Process):
    """If one dies that has not answered a muster, the others are not asked again what they find."""

    def be_without(self, node: NodeId) -> None:
        mustering = self.standing.mustering
        if mustering is None or node in mustering.attendances:
            super().be_without(node)
        else:
            self.consider_renewing()


# -------------------------------------------------------------------------------------------------------- plans


@BROKEN.add(remembering, 2, wants(0, 1), deaths=1)
class AsksForNoData(Process):
    """Nobody is asked what data is at hand."""

    def attendance(self, found: Found) -> Attendance:
        del found
        return super().attendance({})


class _Planning(Process):
    """Changes what is planned."""

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
        return super().plans([self.seen(one) for one in answers], ballot)

    def seen(self, one: Attendance) -> Attendance:
        raise NotImplementedError


@BROKEN.add(space, 3, wants(1, 2), deaths=1)
class MakesATokenAlways(_Planning):
    """A new token is made although somebody has the old one."""

    def seen(self, one: Attendance) -> Attendance:
        parts = [
            (name, replace(part, places=tuple(place for place in part.places if not place.has_token)))
            for name, part in one.parts
        ]
        return replace(one, parts=tuple(parts))

    def proceed(self, renew: Renew) -> None:
        renewals = []
        for name, renewal in renew.renewals:
            old = self.resources.get(name)
            kept = () if old is None else tuple(place for place in old.places if place.has_token)
            renewals.append((name, replace(renewal, places=(*kept, *renewal.places))))
        super().proceed(replace(renew, renewals=tuple(renewals)))


@BROKEN.add(space, 3, wants(1, 2), deaths=1)
class ForgetsWhoWaits(_Planning):
    """Places of those who wait are not carried over."""

    def seen(self, one: Attendance) -> Attendance:
        parts = [
            (name, replace(part, places=tuple(place for place in part.places if place.has_token)))
            for name, part in one.parts
        ]
        return replace(one, parts=tuple(parts))


@BROKEN.add(space, 3, [(1, In(R, Request(claim=READ))), *wants(2)], deaths=1, is_in_order=False)
class WaitsForTheDead(Process):
    """A claim that waits for one of a process that died goes on waiting."""

    def proceed(self, renew: Renew) -> None:
        renewals = []
        for name, renewal in renew.renewals:
            old = self.resources.get(name)
            entries = () if old is None else tuple(one for use in old.uses for one in use.earlier)
            renewals.append((name, replace(renewal, entries=(*renewal.entries, *entries))))
        super().proceed(replace(renew, renewals=tuple(renewals)))


@BROKEN.add(space, 2, wants(0, 1), deaths=1)
class CountsOn(Process):
    """Turns go on from what survivors know, and who knew more has died."""

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
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


@BROKEN.add(remembering, 2, [*wants(1), *wants(0, resource=S)], second=(0, 1), deaths=1)
class TakesOneForAnother(Process):
    """What is found of one resource counts for all."""

    def attendance(self, found: Found) -> Attendance:
        last = max(found.values(), key=lambda one: cast("Data", one).version, default=None)
        return super().attendance({} if last is None else dict.fromkeys((*self.resources, *found), last))


class _Forgetting(Process):
    """Changes what is carried over."""

    def proceed(self, renew: Renew) -> None:
        self.resources = Map((name, self.left_of(state)) for name, state in self.resources.items())
        super().proceed(renew)

    def left_of(self, state: ElmpState) -> ElmpState:
        raise NotImplementedError


@BROKEN.add(remembering, 3, wants(1), deaths=1, victims=(0,), is_late=True)
class GrantsNothingAgain(_Forgetting):
    """A claim whose data was at who died holds on, and its user looks for the data in vain."""

    def left_of(self, state: ElmpState) -> ElmpState:
        return replace(state, uses=tuple(replace(use, data=None) if use.is_held else use for use in state.uses))


@BROKEN.add(space, 3, [*wants(1), *wants(2, patience=1)], keepers=(1,), deaths=1, victims=(0,))
class ForgetsPatience(_Forgetting):
    """Who would wait for a while only waits for ever after a repair."""

    def left_of(self, state: ElmpState) -> ElmpState:
        return replace(state, timed=())


@BROKEN.add(space, 2, [*wants(0), *wants(1, patience=1), *suspects((1, 0))], keepers=(0,))
class GrantsWhoGaveUp(Process):
    """A claim that was given up since it was told of in answer to a muster is there again after the repair."""

    def still_wanted(self, resource: str, renewal: Renewal) -> Renewal:
        del resource
        return renewal


@BROKEN.add(space, 3, leaves(1), deaths=1, victims=(0, 2))
class ForgetsWhoLeaves(_Forgetting):
    """Who was about to leave a resource stays in it after a repair, and is told nothing."""

    def left_of(self, state: ElmpState) -> ElmpState:
        return replace(state, departure=None)


# --------------------------------------------------------------------------------------------------- parts in a repair


class _Finding(Process):
    """Looks at what was found in another way."""

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
        return super().plans(
            [replace(one, found=tuple((name, self.seen(data)) for name, data in one.found)) for one in answers], ballot
        )

    def seen(self, data: Data) -> Data:
        raise NotImplementedError


class LaysPartsAnyhow(_Finding):
    """Of parts that overlap not the later one counts, but any."""

    def seen(self, data: Data) -> Data:
        turn = max((part.turn for part in data.parts), default=0)
        return replace(data, parts=tuple(replace(part, turn=turn) for part in data.parts))


class TakesAllPartsForNew(_Finding):
    """A part counts over whichever version does, though it was a change of an earlier one."""

    def seen(self, data: Data) -> Data:
        turns = 1 << 60
        return replace(data, parts=tuple(replace(part, turn=part.turn + turns, base=0) for part in data.parts))


class WantsAllInOneMemory(_Finding):
    """A version of which a stretch is missing in a memory does not count, though parts of another one lie over it."""

    def seen(self, data: Data) -> Data:
        return replace(data, version=-1, details="lost", gaps=()) if data.gaps else data


class OverlooksGaps(_Finding):
    """A version counts of which a stretch is nowhere any more."""

    def seen(self, data: Data) -> Data:
        return replace(data, gaps=())


PARTS = {one.__name__: one for one in (LaysPartsAnyhow, OverlooksGaps, TakesAllPartsForNew, WantsAllInOneMemory)}

__all__ = ["BROKEN", "PARTS"]
