"""Alarms: who is to notice that a process dies, who is told, and who hears that it was taken for dead.

Everybody watches a few others. Whoever hears of a death tells the founder, or if that is dead the lowest that lives;
that one makes a repair (`repair`). While this process waits for somebody, it watches that one as well.

Who was taken for dead and lives is fenced: nobody takes what it says, and it hears so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.handover.desk import Gate
from solvent.protocols.handover.members import Membership
from solvent.protocols.handover.messages import Alarm, Charge, Fenced, Stray
from solvent.protocols.handover.state import Role
from solvent.protocols.handover.vocabulary import Expelled
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from solvent.protocols.handover.vocabulary import Ballot


class Alarming(Membership):
    """A process that notices the death of others."""

    __slots__ = ()

    @property
    def lost(self) -> frozenset[NodeId]:
        """Those who are dead, or seem to be."""
        return self.standing.dead | self.standing.suspects

    def to_be_watched(self) -> tuple[NodeId, ...]:
        """Say whose death matters: of the next few in the circle of names, and of those that this process waits for."""
        standing = self.standing
        if standing.role is Role.ENTERING:
            found = {standing.contact, standing.promised[1]} - {None, NodeId(-1)}
        elif standing.role is not Role.INSIDE:
            return ()
        elif standing.mustering is not None:
            found = set(standing.mustering.asked)
        else:
            circle = sorted(self.others - standing.dead)
            after = [node for node in circle if node > self.me] + [node for node in circle if node < self.me]
            # All count on the founder.
            found = {*after[: self.config.watched], *standing.leavers, standing.founder}
            if standing.noting:
                # It waits for some of all; and who watches those may only be about to come in, or not count on them.
                found |= self.others.union(*standing.noting.values())
            if not standing.is_running or standing.has_resigned or self.lost & frozenset(standing.members):
                # It waits for one of these.
                found |= {*self.makers, self.coordinator}
            if not standing.is_running:
                found |= standing.doubted
        return tuple(sorted(node for node in found - standing.dead - {self.me} if node is not None))

    @property
    def makers(self) -> set[NodeId]:
        """Those whose repairs this process has answered, and waits for."""
        standing = self.standing
        return {standing.promised[1], *([standing.agreed.ballot[1]] if standing.agreed is not None else [])}

    @property
    def coordinator(self) -> NodeId:
        """Who is to make a repair: the founder, or the lowest that lives.

        Who waits to be let go does not know who has come since, and makes none unless nobody else is left.
        """
        standing, lost = self.standing, self.lost | self.standing.unfit
        if self.is_gone:
            lost |= {self.me}
        if standing.founder not in lost and standing.founder in standing.members:
            return standing.founder
        return min((node for node in standing.members if node not in lost), default=self.me)

    def on_died(self, peer: NodeId, *, is_certain: bool) -> None:
        """See to it that a death is dealt with."""
        standing = self.standing
        if peer in standing.dead or (not is_certain and peer in standing.suspects) or peer == self.me:
            return
        if is_certain:
            self.change(dead=standing.dead | {peer}, suspects=standing.suspects - {peer})
        else:
            self.change(suspects=standing.suspects | {peer})
        if standing.role is Role.ENTERING and peer in (standing.contact, standing.promised[1]):
            self.go_astray()
        elif standing.role is Role.INSIDE:
            self.forget_leaver(peer)
            self.forget_knock(peer)
            self.wait_no_longer_for(peer)
            self.be_without(peer)

    def consider_alarm(self) -> None:
        """Have a repair made if a member is dead, or who makes one is."""
        standing = self.standing
        lost = self.lost & frozenset(standing.members)
        if standing.role is not Role.INSIDE or standing.mustering is not None:
            return
        is_stuck = not standing.is_running and bool(self.makers & self.lost)
        if not is_stuck and not (standing.is_running and lost):
            return
        coordinator = self.coordinator
        if coordinator == self.me and self.is_gone:
            self.depart()
        elif coordinator == self.me:
            self.muster()
        else:
            dead, suspects = lost & standing.dead, lost & standing.suspects
            self.send(coordinator, Alarm(standing.epoch, tuple(sorted(dead)), tuple(sorted(suspects))))
            if is_stuck:
                # Who was to make the repair may not be a member any more, and is missed by nobody else.
                self.send(coordinator, Charge(is_pressing=True))

    def on_alarm(self, sender: NodeId, alarm: Alarm) -> None:
        """Have a repair made; by this process, if it is asked and nobody else is at it."""
        standing = self.standing
        if standing.role in (Role.OUTSIDE, Role.ENTERING) or self.is_gone:
            self.send(sender, Stray())
            return
        gate = self.gate(sender, alarm.epoch)
        if gate is Gate.KEEP:
            self.change(early=(*standing.early, (sender, alarm)))
        if self.standing.role is not Role.INSIDE:
            return
        if sender not in standing.members:
            if alarm.epoch == standing.epoch:
                # It has been let go, and has not heard it.
                self.fence(sender)
            return
        news = frozenset(alarm.dead) - standing.dead - {self.me}
        self.change(dead=standing.dead | news, suspects=standing.suspects - news)
        if gate is Gate.TAKE and frozenset((*alarm.dead, *alarm.suspects)) & frozenset(standing.members):
            self.muster()
            return
        for node in sorted(news):
            self.be_without(node)

    def on_charge(self, sender: NodeId, charge: Charge) -> None:
        """Make a repair for somebody who cannot; to be the founder is nothing for who wants to go itself."""
        standing = self.standing
        is_able = charge.is_pressing or not standing.is_going
        if standing.mustering is not None and sender in standing.mustering.asked:
            return
        if standing.role is Role.INSIDE and sender in standing.members and is_able:
            self.muster()
        elif standing.role is not Role.OVER:
            self.send(sender, Stray())

    # ------------------------------------------------------------------------------------------------------ fences

    def fence(self, node: NodeId) -> None:
        """Tell a process that the others went on without it."""
        self.send(node, Fenced(self.standing.epoch))

    def on_fenced(self, epoch: Ballot) -> None:
        """Take no part any more, since the others believe this process to be dead; a new one has to try again."""
        if self.standing.role is Role.ENTERING:
            self.go_astray()
        elif self.standing.role is Role.INSIDE and (epoch > self.standing.epoch or self.is_gone):
            self.be_expelled()

    @property
    def is_gone(self) -> bool:
        """Whether this process has told that it has left all resources, and only waits to be let go."""
        return self.standing.has_resigned and not self.is_founder

    def be_expelled(self) -> None:
        """Forget everything; or if nothing is left, go."""
        if self.is_gone:
            self.depart()
            return
        self.end()
        self.report(Expelled())

    # -------------------------------------------------------------------------------------------------- for repairs

    def muster(self) -> None:
        """Make a repair."""
        raise NotImplementedError

    def wait_no_longer_for(self, node: NodeId) -> None:
        """Go without an answer of one that had said goodbye itself and then died; the founder sees to its death."""
        standing = self.standing
        waiting = standing.noting.get(self.me)
        if waiting is not None and node in waiting and node not in standing.members and standing.is_running:
            self.wait_no_more(self.me, node)

    def be_without(self, node: NodeId) -> None:
        """Go on with a repair without a process that has answered, or has not; or have one made."""
        raise NotImplementedError


__all__ = ["Alarming"]
