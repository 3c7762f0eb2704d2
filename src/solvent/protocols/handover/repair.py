"""Repairs: what is done when a process dies, or seems to.

Whoever hears of a death tells the founder, or if that is dead the lowest that lives. That one musters everybody: each
stops, takes nothing of the old epoch any more, asks its application what data it can find, and says what it has. When
all that live have answered (or enough: see `quorum`), everybody gets its part of what is to be (`plan`); when all have
agreed, everybody goes on in the new epoch. So whatever was going on when somebody died is forgotten, and what counts is
kept: who holds, who waits and in which order, where the data is.

If somebody dies meanwhile, or two repairs meet, the later ballot counts: who has answered it answers and agrees to no
earlier one, so an earlier repair that needs it is not completed. What each has is what it had when it stopped, in
whichever epoch: nothing that was said since counts.

Who was taken for dead and lives is fenced: nobody takes what it says, and it hears so. Turns only ever grow, so whoever
guards the data can tell its claims from later ones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.handover.alarm import Alarming
from solvent.protocols.handover.desk import ABSENT, wrapped
from solvent.protocols.handover.messages import (
    Agreed,
    Agreement,
    Attendance,
    Charge,
    Fenced,
    Muster,
    Present,
    Proceed,
    Refused,
    Renew,
    Survivor,
)
from solvent.protocols.handover.plan import planned
from solvent.protocols.handover.quorum import Verdict, judged
from solvent.protocols.handover.renewal import renewed, survivor
from solvent.protocols.handover.state import Mustering, Role
from solvent.protocols.handover.vocabulary import Arrived, Entered, Gone, Inventory, Of, Renewed, Repaired, Stays
from solvent.protocols.machine import Ask, NodeId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from solvent.protocols.elmp.state import ElmpState
    from solvent.protocols.elmp.vocabulary import Data
    from solvent.protocols.handover.messages import Renewal
    from solvent.protocols.handover.vocabulary import Ballot, Found


class Repairing(Alarming):
    """A process that goes on when others die."""

    __slots__ = ()

    # ----------------------------------------------------------------------------------------------------- musters

    def be_without(self, node: NodeId) -> None:
        """Go on with a repair without a process that has answered, or has not; or have one made.

        Who has answered is asked again, since it may only be slow. All are: what they have found may be older than what
        it released before it died; and if it only seems to be dead, others may know.
        """
        standing, mustering = self.standing, self.standing.mustering
        if mustering is None:
            if node in standing.dead & standing.doubted and not standing.is_running:
                # Whoever makes the repair may wait for nothing else.
                self.look_for_data()
            self.consider_alarm()
            return
        is_missed = node in self.lost and node in mustering.asked and mustering.agreeing is None
        if node in mustering.attendances or is_missed:
            self.muster()
        else:
            self.consider_renewing()

    def muster(self) -> None:
        """Have everybody that lives stop and say what it has."""
        standing = self.standing
        ballot = (max(standing.promised[0], standing.epoch[0]) + 1, self.me)
        agreed = {node: address for one in standing.agreements for node, address in one.members}
        asked = (self.others | frozenset(agreed)) - standing.dead - {self.me}
        suspects = tuple(sorted(standing.suspects & asked))
        self.change(promised=ballot, early=(), agreed=None, mustering=Mustering(ballot, asked))
        for node in sorted(asked):
            if node not in standing.members:
                self.report(Arrived(node, agreed[node]))
            self.send(node, Muster(ballot, self.address, suspects))
        self.look_for_data()

    def on_muster(self, sender: NodeId, muster: Muster) -> None:
        """Stop and say what is here, unless a later ballot was answered."""
        standing = self.standing
        if standing.role is Role.OVER:
            return
        if standing.role is Role.INSIDE and not self.is_known(sender):
            self.fence(sender)
            return
        if standing.role is not Role.INSIDE:
            self.change(role=Role.ENTERING, contact=standing.contact if standing.contact is not None else sender)
            self.report(Arrived(sender, muster.address))
        if muster.ballot < standing.promised:
            self.send(sender, Refused(standing.promised))
            return
        doubted = frozenset(muster.suspects) & self.others
        self.change(promised=muster.ballot, mustering=None, doubted=doubted, suspects=standing.suspects - {sender})
        if not self.standing.is_waiting:
            self.change(early=(), agreed=None)
        self.look_for_data()

    def is_known(self, node: NodeId) -> bool:
        """Whether a process takes part in this epoch, or in one that this process has agreed to."""
        return node in self.standing.members or any(
            node == other for one in self.standing.agreements for other, _ in one.members
        )

    def look_for_data(self) -> None:
        """Ask the application what data it can find, if it has not been asked already."""
        if not self.config.asks_inventory:
            self.attend({})
        elif not self.standing.is_asked:
            self.change(is_asked=True)
            self.effects.append(Ask(Inventory(tuple(sorted(self.resources)))))

    def on_answered(self, found: Found) -> None:
        """Say what is here, with what the application has found, to whoever makes a repair now."""
        self.change(is_asked=False)
        if self.standing.role in (Role.ENTERING, Role.INSIDE) and not self.standing.is_running:
            self.attend(found)

    def attend(self, found: Found) -> None:
        """Answer the last muster."""
        standing, attendance = self.standing, self.attendance(found)
        if standing.mustering is not None:
            self.count(attendance)
        elif standing.promised[1] != self.me:
            self.send(standing.promised[1], Present(standing.promised, attendance))

    def attendance(self, found: Found) -> Attendance:
        """Say what is here that counts across epochs."""
        standing = self.standing
        known = [(name, survivor(self.me, state)) for name, state in sorted(self.resources.items())]
        return Attendance(
            self.me,
            standing.epoch,
            tuple(sorted(standing.members.items())),
            is_voter=standing.role is Role.INSIDE and not self.is_gone,
            agreements=standing.agreements,
            dead=tuple(sorted(standing.dead & frozenset(standing.members))),
            parts=tuple((name, part) for name, part in known if part is not None),
            found=tuple((name, one) for name, data in sorted(dict(found).items()) for one in _each(data)),
        )

    def on_present(self, present: Present) -> None:
        """Count who has answered."""
        mustering = self.standing.mustering
        if mustering is not None and mustering.ballot == present.ballot and mustering.agreeing is None:
            self.count(present.attendance)

    def count(self, one: Attendance) -> None:
        """Keep an answer, and muster those of whom nobody had told yet."""
        standing, mustering = self.standing, self.standing.mustering
        assert mustering is not None
        dead = standing.dead | (frozenset(one.dead) - {self.me})
        new = {node: address for node, address in one.members if node not in mustering.asked and node not in dead}
        if one.epoch < standing.epoch:
            new = {}
        new.pop(self.me, None)
        attendances = mustering.attendances.set(one.node, one)
        for node in dead:
            attendances = attendances.delete(node) if node in attendances else attendances
        asked = mustering.asked | frozenset(new)
        self.change(
            dead=dead,
            suspects=standing.suspects - {one.node} - dead,
            members=standing.members.update(new),
            mustering=replace(mustering, asked=asked, attendances=attendances),
        )
        for node, address in sorted(new.items()):
            self.report(Arrived(node, address))
            self.send(node, Muster(mustering.ballot, self.address))
        if (dead - standing.dead) & asked:
            # What others have found may be older than what it released before it died.
            self.muster()
        else:
            self.consider_renewing()

    def on_refused(self, ballot: Ballot) -> None:
        """Leave the repair to whoever makes a later one, unless that one is dead.

        If it only seems to be, and this process seems so to it, the lower one must win: else neither would for ever.
        If it is dead, those who have answered it will notice.
        """
        mustering = self.standing.mustering
        if mustering is None or ballot <= mustering.ballot:
            return
        rival = ballot[1]
        self.change(promised=ballot)
        if rival in self.standing.dead or (rival in self.standing.suspects and self.me < rival):
            self.muster()
        else:
            self.change(mustering=None)

    # ---------------------------------------------------------------------------------------------------- renewals

    def consider_renewing(self) -> None:
        """When all have answered, or enough, tell everybody what is to be."""
        mustering = self.standing.mustering
        if mustering is None or mustering.agreeing is not None or self.me not in mustering.attendances:
            return
        if self.expected(mustering) - frozenset(mustering.attendances) - self.lost:
            return
        verdict = self.judge(mustering.attendances)
        if verdict.is_enough and self.me in verdict.members:
            self.renew(mustering, verdict)
        elif verdict.is_enough and verdict.members:
            # Another repair may have been completed, without this process.
            self.send(min(verdict.members), Charge(is_pressing=True))

    def expected(self, mustering: Mustering) -> frozenset[NodeId]:
        """Give those whose answers must be waited for: if a later epoch has begun, those who take part in it."""
        latest = max(one.epoch for one in mustering.attendances.values())
        if latest == self.standing.epoch:
            return mustering.asked
        return frozenset(
            node for one in mustering.attendances.values() if one.epoch == latest for node, _ in one.members
        )

    def judge(self, answers: Mapping[NodeId, Attendance]) -> Verdict:
        """Say who may go on."""
        return judged(answers, self.standing.dead, needs_majority=self.config.needs_majority)

    def renew(self, mustering: Mustering, verdict: Verdict) -> None:
        """Tell everybody what is to be, and wait until all have agreed."""
        ballot, known = mustering.ballot, dict(self.standing.members)
        for one in mustering.attendances.values():
            known |= dict(one.members)
            known |= {node: address for agreement in one.agreements for node, address in agreement.members}
        members = tuple((node, known[node]) for node in sorted(verdict.members))
        plans = self.plans([mustering.attendances[node] for node, _ in members], ballot)
        # What others have found tells also of data that was released and is lost.
        found = {name for name, plan in plans if any(renewal.data is not None for renewal in plan.values())}
        released, own = tuple(sorted(self.standing.released | found)), None
        for node, _ in members:
            renewals = tuple((name, plan[node]) for name, plan in plans if node in plan)
            renew = Renew(ballot, verdict.after, members, renewals, released)
            if node == self.me:
                own = renew
            else:
                self.send(node, renew)
        assert own is not None
        agreeing = verdict.members - {self.me}
        self.agree(own)
        self.change(mustering=replace(mustering, agreeing=agreeing))
        if not agreeing:
            self.complete()

    def plans(self, answers: list[Attendance], ballot: Ballot) -> list[tuple[str, dict[NodeId, Renewal]]]:
        """Plan each resource; this process takes part in all from now on."""
        parts: dict[str, list[Survivor]] = {}
        found: dict[str, list[Data]] = {}
        for one in answers:
            for name, part in one.parts:
                parts.setdefault(name, []).append(part)
            for name, data in one.found:
                found.setdefault(name, []).append(data)
        plans = []
        for name in sorted(parts.keys() | found.keys()):
            survivors = parts.get(name, [])
            if not any(one.node == self.me for one in survivors):
                survivors = [*survivors, Survivor(self.me, 0)]
            plans.append((name, planned(survivors, found.get(name, ()), self.config.locks.order, ballot[0])))
        return plans

    def on_renew(self, sender: NodeId, renew: Renew) -> None:
        """Agree, unless a later muster was answered."""
        standing = self.standing
        is_newcomer = standing.role in (Role.OUTSIDE, Role.ENTERING) and renew.ballot > standing.promised
        if standing.role is Role.OVER:
            return
        if renew.ballot == standing.promised or is_newcomer:
            self.agree(renew)
            self.send(sender, Agreed(renew.ballot))
        else:
            self.send(sender, Refused(standing.promised))

    def agree(self, renew: Renew) -> None:
        """Remember what is to be."""
        agreement = Agreement(renew.ballot, renew.members)
        self.change(promised=renew.ballot, agreed=renew, agreements=(*self.standing.agreements, agreement))

    def on_agreed(self, sender: NodeId, ballot: Ballot) -> None:
        """Count who has agreed."""
        mustering = self.standing.mustering
        if mustering is None or mustering.ballot != ballot or mustering.agreeing is None:
            return
        agreeing = mustering.agreeing - {sender}
        self.change(mustering=replace(mustering, agreeing=agreeing))
        if not agreeing:
            self.complete()

    def complete(self) -> None:
        """Let everybody go on, and tell those that were taken for dead."""
        standing, mustering = self.standing, self.standing.mustering
        assert standing.agreed is not None
        assert mustering is not None
        members = [node for node, _ in standing.agreed.members if node != self.me]
        for node in members:
            self.send(node, Proceed(mustering.ballot))
        for node in sorted(mustering.asked - frozenset(members) - standing.dead):
            self.send(node, Fenced(mustering.ballot))
        self.proceed(standing.agreed)

    def on_proceed(self, ballot: Ballot) -> None:
        """Go on, unless another repair has begun."""
        agreed = self.standing.agreed
        if agreed is not None and agreed.ballot == ballot and self.standing.is_waiting:
            self.proceed(agreed)

    def proceed(self, renew: Renew) -> None:
        """Go on in the new epoch, first with what came too early."""
        old, members = self.standing, Map(renew.members)
        self.standing = type(old)(
            Role.INSIDE,
            renew.ballot,
            renew.ballot,
            members,
            dead=old.dead - (frozenset(old.members) - frozenset(members)),
            knocks=old.knocks,
            leavers=old.leavers,
            is_going=old.is_going,
            is_asked=old.is_asked,
            watched=old.watched,
            released=old.released.union(renew.released),
        )
        self.tell_of_change(old.members, members)
        if old.role is not Role.INSIDE:
            self.report(Entered(renew.ballot))
        else:
            lost = tuple(sorted(frozenset(old.members) - frozenset(members)))
            self.report(Repaired(renew.ballot, renew.after, lost, tuple(_told(*one) for one in renew.renewals)))
        for resource, renewal in renew.renewals:
            state, effects = renewed(self.locks, self.staying(resource), self.still_wanted(resource, renewal))
            self.resources = self.resources.set(resource, state)
            self.effects += wrapped(effects, renew.ballot, resource)
        for node, address in sorted(old.knocks.items()):
            if node in members or node in old.dead:
                self.forget_knock(node)
            else:
                self.pass_on_knock(node, address)
        self.replay(old.early, old.wishes)
        self.consider_alarm()
        self.consider_going()

    def staying(self, resource: str) -> ElmpState:
        """Give what is here of a resource; whoever has become the founder leaves none, or it would be made again."""
        state = self.resources.get(resource, ABSENT)
        if self.is_founder and state.departure is not None:
            self.report(Of(resource, Stays()))
            return replace(state, departure=None)
        return state

    def tell_of_change(self, old: Mapping[NodeId, str], new: Mapping[NodeId, str]) -> None:
        """Tell who has come and who has gone."""
        for node, address in sorted(new.items()):
            if node not in old and node != self.me:
                self.report(Arrived(node, address))
        for node in sorted(old):
            if node not in new:
                self.report(Gone(node))

    def replay(self, early: tuple[tuple[NodeId, Any], ...], wishes: tuple[Any, ...]) -> None:
        """Take what came too early."""
        raise NotImplementedError


def _each(data: Data | tuple[Data, ...]) -> tuple[Data, ...]:
    return data if isinstance(data, tuple) else (data,)


def _told(resource: str, renewal: Renewal) -> Renewed:
    data = renewal.data
    if data is None:
        return Renewed(resource, renewal.is_new_token, renewal.is_older)
    return Renewed(resource, renewal.is_new_token, renewal.is_older, data.version, data.holder)


__all__ = ["Repairing"]
