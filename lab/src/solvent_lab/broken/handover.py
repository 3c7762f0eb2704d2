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
    """A process that opens a resource creates it, founder or not."""

    def on_open(self, resource: str) -> None:
        self.made(resource)
        self.report(Opened(resource))


@BROKEN.add(space, 2, [], newcomers=[(0,)], opened=())
class LetsInAtOnce(Process):
    """A new process is let in before all others know it."""

    def have_noted(self, node: NodeId, news: Came | Went, known: frozenset[NodeId] = frozenset()) -> None:
        super().have_noted(node, news, known)
        if node in self.standing.noting:
            self.settle(node)


@BROKEN.add(space, 3, [*wants(1, 2), (1, Go())], deaths=1, victims=(1,), is_instant=True)
class SaysNoGoodbye(Process):
    """A process that has left all resources may go while others still need what it has sent."""

    def say_goodbye(self) -> None:
        self.change(has_resigned=True, noting=self.standing.noting.set(self.me, frozenset()))
        self.ask_to_go()

    def on_going(self, sender: NodeId, going: Going) -> None:
        super().on_going(sender, replace(going, noted=()))


@BROKEN.add(space, 3, [(1, Go())], newcomers=[(0,)], opened=())
class HidesFromNewcomers(Process):
    """A process that has said goodbye does not say it to those that enter later."""

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
    """Messages of an earlier epoch count: the old token comes back."""

    def on_within(self, sender: NodeId, within: Within) -> None:
        super().on_within(sender, replace(within, epoch=max(within.epoch, self.standing.epoch)))


@BROKEN.add(space, 3, suspects((1, 0), (1, 2), (0, 1)), opened=())
class NeedsNoMajority(Process):
    """A process that believes all others dead continues alone."""

    def judge(self, answers: Mapping[NodeId, Attendance]) -> Verdict:
        return judged(answers, self.standing.dead, needs_majority=False)


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
class WaitsForNoAgreement(Process):
    """A repair completes as soon as it is planned, and counts processes that another repair has mustered."""

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
    """A process that has agreed to one repair does not say so when it answers another."""

    def agree(self, renew: Renew) -> None:
        super().agree(renew)
        self.change(agreements=())


@BROKEN.add(space, 3, suspects((0, 1), (1, 0)), opened=())
class AnswersTwice(Process):
    """A process that has answered a muster answers an earlier one too, and continues when either is done."""

    def on_muster(self, sender: NodeId, muster: Muster) -> None:
        if muster.ballot < self.standing.promised:
            self.change(promised=muster.ballot)
            self.send(sender, Present(muster.ballot, self.attendance({})))
            return
        super().on_muster(sender, muster)


@BROKEN.add(space, 4, [(3, Go()), *suspects((0, 1), (0, 2), (1, 0))], opened=())
class GoersVote(Process):
    """A process that has said goodbye still votes, although those that heard it no longer count it."""

    def attendance(self, found: Found) -> Attendance:
        return replace(super().attendance(found), is_voter=self.standing.role is Role.INSIDE)


@BROKEN.add(remembering, 3, wants(1), deaths=2, victims=(1, 2))
class AsksNobodyAgain(Process):
    """If a process dies before it answers a muster, the others are not asked again what they find."""

    def be_without(self, node: NodeId) -> None:
        mustering = self.standing.mustering
        if mustering is None or node in mustering.attendances:
            super().be_without(node)
        else:
            self.consider_renewing()


# -------------------------------------------------------------------------------------------------------- plans


@BROKEN.add(remembering, 2, wants(0, 1), deaths=1)
class AsksForNoData(Process):
    """Processes are not asked what data they have."""

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
    """A new token is made although a process has the old one."""

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
    """Waiting places are not carried over."""

    def seen(self, one: Attendance) -> Attendance:
        parts = [
            (name, replace(part, places=tuple(place for place in part.places if place.has_token)))
            for name, part in one.parts
        ]
        return replace(one, parts=tuple(parts))


@BROKEN.add(space, 3, [(1, In(R, Request(claim=READ))), *wants(2)], deaths=1, is_in_order=False)
class WaitsForTheDead(Process):
    """A claim keeps waiting for one of a process that has died."""

    def proceed(self, renew: Renew) -> None:
        renewals = []
        for name, renewal in renew.renewals:
            old = self.resources.get(name)
            entries = () if old is None else tuple(one for use in old.uses for one in use.earlier)
            renewals.append((name, replace(renewal, entries=(*renewal.entries, *entries))))
        super().proceed(replace(renew, renewals=tuple(renewals)))


@BROKEN.add(space, 2, wants(0, 1), deaths=1)
class CountsOn(Process):
    """Turns continue from what survivors know, although a dead process knew of later ones."""

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
    """A claim stays held though its data was at a process that died, and its user cannot fetch the data."""

    def left_of(self, state: ElmpState) -> ElmpState:
        return replace(state, uses=tuple(replace(use, data=None) if use.is_held else use for use in state.uses))


@BROKEN.add(space, 3, [*wants(1), *wants(2, patience=1)], keepers=(1,), deaths=1, victims=(0,))
class ForgetsPatience(_Forgetting):
    """A claim with a time limit waits for ever after a repair."""

    def left_of(self, state: ElmpState) -> ElmpState:
        return replace(state, timed=())


@BROKEN.add(space, 2, [*wants(0), *wants(1, patience=1), *suspects((1, 0))], keepers=(0,))
class GrantsWhoGaveUp(Process):
    """A claim that was given up after the muster is back after the repair."""

    def still_wanted(self, resource: str, renewal: Renewal) -> Renewal:
        del resource
        return renewal


@BROKEN.add(space, 3, leaves(1), deaths=1, victims=(0, 2))
class ForgetsWhoLeaves(_Forgetting):
    """A process that was about to leave a resource stays in it after a repair, and is not told."""

    def left_of(self, state: ElmpState) -> ElmpState:
        return replace(state, departure=None)


# --------------------------------------------------------------------------------------------------- parts in a repair


class _Finding(Process):
    """Changes what was found."""

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
        return super().plans(
            [replace(one, found=tuple((name, self.seen(data)) for name, data in one.found)) for one in answers], ballot
        )

    def seen(self, data: Data) -> Data:
        raise NotImplementedError


class LaysPartsAnyhow(_Finding):
    """Of parts that overlap, any one counts instead of the latest."""

    def seen(self, data: Data) -> Data:
        turn = max((part.turn for part in data.parts), default=0)
        return replace(data, parts=tuple(replace(part, turn=turn) for part in data.parts))


class TakesAllPartsForNew(_Finding):
    """A part counts over every version, even if it changed an earlier one."""

    def seen(self, data: Data) -> Data:
        turns = 1 << 60
        return replace(data, parts=tuple(replace(part, turn=part.turn + turns, base=0) for part in data.parts))


class WantsAllInOneMemory(_Finding):
    """A version with a gap in one memory does not count, even if parts of another one cover the gap."""

    def seen(self, data: Data) -> Data:
        return replace(data, version=-1, details="lost", gaps=()) if data.gaps else data


class OverlooksGaps(_Finding):
    """A version counts although a part of it is nowhere any more."""

    def seen(self, data: Data) -> Data:
        return replace(data, gaps=())


PARTS = {one.__name__: one for one in (LaysPartsAnyhow, OverlooksGaps, TakesAllPartsForNew, WantsAllInOneMemory)}

__all__ = ["BROKEN", "PARTS"]
