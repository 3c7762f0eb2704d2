"""Who takes part: processes come and go.

A new process turns to any that it knows, which passes its wish on to the founder. The founder tells everybody, and when
all know of it lets the new process in. So whoever takes part in anything is known to all, and no repair misses it.

Who goes leaves all resources, and then says goodbye to everybody. When all have heard it, they have heard all that it
said before: nothing that others need, such as a token, is under way from it any more. Then the founder lets it go.

A founder that wants to go has another one take its place first: by a repair, which leaves everything else as it is.
Then it goes as others do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from immutables import Map

from solvent.protocols.elmp.state import Out
from solvent.protocols.elmp.vocabulary import Leave
from solvent.protocols.handover.desk import Desk, Gate
from solvent.protocols.handover.messages import (
    Admitted,
    Bye,
    Came,
    Charge,
    Farewell,
    Going,
    Knock,
    Newcomer,
    Noted,
    Stray,
    Went,
)
from solvent.protocols.handover.state import NOBODY, Role
from solvent.protocols.handover.vocabulary import Arrived, Astray, Departed, Entered, Gone
from solvent.protocols.machine import NodeId, Requested

if TYPE_CHECKING:
    from solvent.protocols.handover.vocabulary import Ballot


class Membership(Desk):
    """A process that comes and goes, and lets others."""

    __slots__ = ()

    # ----------------------------------------------------------------------------------------------------- coming

    def on_enter(self, contact: NodeId) -> None:
        """Turn to a process that is known."""
        if self.standing.role is not Role.OUTSIDE:
            return
        if contact in self.standing.dead:
            self.report(Astray(contact))
            return
        # If it seemed to be dead before, that is to be heard again.
        self.change(role=Role.ENTERING, contact=contact, suspects=self.standing.suspects - {contact})
        self.send(contact, Knock(self.address))

    def on_knock(self, sender: NodeId, address: str) -> None:
        """Pass the wish of a new process on to the founder, again after every repair until it is in."""
        if self.standing.role is not Role.INSIDE:
            self.report(Arrived(sender, address))
            self.send(sender, Stray())
            return
        self.change(knocks=self.standing.knocks.set(sender, address))
        if self.standing.is_running:
            self.pass_on_knock(sender, address)

    def pass_on_knock(self, newcomer: NodeId, address: str) -> None:
        """Let the founder know of a new process."""
        if self.is_founder:
            self.on_newcomer(newcomer, address)
        else:
            self.send(self.standing.founder, Newcomer(newcomer, address))

    def on_newcomer(self, newcomer: NodeId, address: str) -> None:
        """Have everybody know of a new process; who is no founder any more, or not yet, will be told again."""
        if not self.is_founder or not self.standing.is_running or newcomer in self.standing.dead:
            return
        self.forget_knock(newcomer)
        if newcomer not in self.standing.members:
            self.report(Arrived(newcomer, address))
            self.change(members=self.standing.members.set(newcomer, address))
            self.have_noted(newcomer, Came(self.standing.epoch, newcomer, address))
        elif newcomer not in self.standing.noting:
            self.settle(newcomer)

    def have_noted(self, node: NodeId, news: Came | Went, known: frozenset[NodeId] = frozenset()) -> None:
        """Tell all that have been let in that one comes or goes, and go on when all have noted it."""
        to = self.others - frozenset(self.standing.noting) - known - {node}
        self.change(noting=self.standing.noting.set(node, to))
        for one in sorted(to):
            self.send(one, news)
        if not to:
            self.settle(node)

    def on_came(self, sender: NodeId, came: Came) -> None:
        """Know a new process."""
        if self.is_now(sender, came.epoch, came):
            self.forget_knock(came.newcomer)
            self.report(Arrived(came.newcomer, came.address))
            self.change(members=self.standing.members.set(came.newcomer, came.address))
            self.send(sender, Noted(came.epoch, came.newcomer))
            waiting = self.standing.noting.get(self.me)
            if waiting is not None:
                # This process has said goodbye to all but the new one.
                self.change(noting=self.standing.noting.set(self.me, waiting | {came.newcomer}))
                self.send(came.newcomer, Bye(came.epoch))
            self.consider_alarm()

    def on_noted(self, sender: NodeId, noted: Noted) -> None:
        """Count who has noted something; a founder that hears it from the process itself knows that it has gone."""
        if sender == noted.node:
            self.forget_leaver(sender)
            return
        if noted.node in self.standing.noting and self.gate(sender, noted.epoch) is Gate.TAKE:
            self.wait_no_more(noted.node, sender)

    def wait_no_more(self, node: NodeId, other: NodeId) -> None:
        """Wait no more for one process to note that another one comes or goes."""
        waiting = self.standing.noting[node]
        self.change(noting=self.standing.noting.set(node, waiting - {other}))
        if waiting == {other} and node == self.me:
            self.ask_to_go()
        elif waiting == {other}:
            self.settle(node)

    def settle(self, node: NodeId) -> None:
        """Let a process in that all know, or go."""
        standing = self.standing
        if node in standing.noting:
            self.change(noting=standing.noting.delete(node))
        if node in standing.goers:
            self.send(node, Farewell(standing.epoch))
            self.change(
                goers=standing.goers - {node},
                leavers=standing.leavers | {node},
                members=standing.members.delete(node),
            )
            # It need not note any more who comes, and cannot if it dies now.
            for one in sorted(self.standing.noting):
                if one in self.standing.noting:
                    self.wait_no_more(one, node)
        else:
            # Who goes has told so before, and is not to be counted on.
            members = [one for one in standing.members.items() if one[0] not in standing.goers]
            self.send(node, Admitted(standing.epoch, tuple(sorted(members)), tuple(sorted(standing.released))))
        self.consider_going()

    def on_admitted(self, admitted: Admitted) -> None:
        """Be in; unless a repair has begun meanwhile, which lets this process in as well."""
        # Whom it turned to may have passed its wish on, and then gone and sent it to another one.
        is_waiting = self.standing.role in (Role.ENTERING, Role.OUTSIDE)
        if not is_waiting or admitted.epoch < self.standing.promised:
            return
        self.change(
            role=Role.INSIDE,
            epoch=admitted.epoch,
            promised=admitted.epoch,
            members=Map(one for one in admitted.members if one[0] not in self.standing.goers),
            goers=frozenset(),
            contact=None,
            agreed=None,
            agreements=(),
        )
        self.note_released(admitted.released)
        for node, address in sorted(self.standing.members.items()):
            if node != self.me:
                self.report(Arrived(node, address))
        self.report(Entered(admitted.epoch))
        self.consider_alarm()
        self.consider_going()

    def go_astray(self) -> None:
        """Hear that whom this process turned to cannot help."""
        contact = self.standing.contact
        assert contact is not None
        # What was answered to a repair counts no more, since this process had nothing; but what was agreed to does.
        promised = max((one.ballot for one in self.standing.agreements), default=NOBODY)
        self.change(role=Role.OUTSIDE, contact=None, promised=promised)
        self.report(Astray(contact))
        self.consider_going()

    def on_stray(self, sender: NodeId) -> None:
        """Hear that another process takes no part: whom this one turned to, or who was to make a repair."""
        standing = self.standing
        if standing.role is Role.ENTERING and sender == standing.contact and standing.promised == NOBODY:
            self.go_astray()
        elif standing.role is Role.INSIDE:
            self.change(unfit=standing.unfit | {sender}, has_resigned=standing.has_resigned and not self.is_founder)
            self.consider_alarm()
            self.consider_going()

    def forget_knock(self, node: NodeId) -> None:
        """Pass the wish of a new process on no more."""
        if node in self.standing.knocks:
            self.change(knocks=self.standing.knocks.delete(node))

    # ------------------------------------------------------------------------------------------------------ going

    def on_go(self) -> None:
        """Wish to go."""
        if self.standing.role is not Role.OVER:
            self.change(is_going=True)
            self.consider_going()

    def consider_going(self) -> None:
        """Do what is to be done next: leave the resources, have another founder, say that all is done."""
        standing = self.standing
        if not standing.is_going:
            return
        if standing.role is Role.OUTSIDE or (standing.is_running and not self.others):
            self.depart()
        elif not standing.is_running or standing.has_resigned:
            return
        elif self.is_founder:
            self.charge_another()
        elif not self.leave_all():
            self.say_goodbye()

    def charge_another(self) -> None:
        """Have another process become the founder; if none can, this one stays until one can, or all have gone."""
        standing = self.standing
        able = self.others - standing.unfit - standing.suspects - standing.goers - frozenset(standing.noting)
        if able:
            self.change(has_resigned=True)
            self.send(min(able), Charge())

    def leave_all(self) -> bool:
        """Leave all resources, and say whether one is left."""
        self.change(is_going=False)
        for resource, state in sorted(self.resources.items()):
            if type(state.phase) is not Out and state.departure is None:
                self.inside(resource, Requested(Leave()))
        self.change(is_going=True)
        return any(type(state.phase) is not Out for state in self.resources.values())

    def say_goodbye(self) -> None:
        """Have everybody know that this process goes."""
        standing = self.standing
        to = self.others - {standing.founder}
        self.change(has_resigned=True, noting=standing.noting.set(self.me, to))
        for node in sorted(to):
            self.send(node, Bye(standing.epoch))
        if not to:
            self.ask_to_go()

    def on_bye(self, sender: NodeId, bye: Bye) -> None:
        """Count on a process no more; who is about to come in hears it before it hears who is in."""
        if self.standing.role is Role.ENTERING and not self.standing.is_waiting:
            self.change(goers=self.standing.goers | {sender})
            self.send(sender, Noted(bye.epoch, sender))
        elif self.is_now(sender, bye.epoch, bye):
            self.count_out(sender)
            self.send(sender, Noted(bye.epoch, sender))

    def ask_to_go(self) -> None:
        """Have the founder let this process go."""
        standing = self.standing
        self.change(noting=standing.noting.delete(self.me))
        self.send(standing.founder, Going(standing.epoch, tuple(sorted(self.others))))

    def on_going(self, sender: NodeId, going: Going) -> None:
        """Let a process go when everybody knows; who has come meanwhile may not."""
        standing = self.standing
        if self.gate(sender, going.epoch) is Gate.TAKE and self.is_founder and sender not in standing.goers:
            self.change(goers=standing.goers | {sender})
            self.have_noted(sender, Went(standing.epoch, sender), frozenset(going.noted))

    def on_went(self, sender: NodeId, went: Went) -> None:
        """Count on a process no more."""
        if self.is_now(sender, went.epoch, went):
            self.count_out(went.goer)
            self.send(sender, Noted(went.epoch, went.goer))

    def count_out(self, goer: NodeId) -> None:
        """Count on a process no more."""
        if goer in self.standing.members:
            self.change(members=self.standing.members.delete(goer))
            self.report(Gone(goer))

    def on_farewell(self, sender: NodeId, farewell: Farewell) -> None:
        """Go."""
        if self.standing.role is Role.INSIDE and farewell.epoch == self.standing.epoch:
            self.send(sender, Noted(farewell.epoch, self.me))
            self.depart()

    def depart(self) -> None:
        """Take no part any more."""
        self.end()
        self.report(Departed())

    def end(self) -> None:
        """Be over, and send those away who had turned to this process."""
        for node, address in sorted(self.standing.knocks.items()):
            self.report(Arrived(node, address))
            self.send(node, Stray())
        self.standing = type(self.standing)(Role.OVER, watched=self.standing.watched)
        self.resources = Map()

    def forget_leaver(self, node: NodeId) -> None:
        """Hear that a process that was let go has gone."""
        if node in self.standing.leavers:
            self.change(leavers=self.standing.leavers - {node})
            self.report(Gone(node))

    # --------------------------------------------------------------------------------------------------- questions

    def is_now(self, sender: NodeId, epoch: Ballot, message: Came | Went | Bye) -> bool:
        """Whether a message is of this epoch; if it is of the next, it is kept."""
        gate = self.gate(sender, epoch)
        if gate is Gate.KEEP:
            self.change(early=(*self.standing.early, (sender, message)))
        return gate is Gate.TAKE

    def consider_alarm(self) -> None:
        """See to it that deaths are dealt with."""
        raise NotImplementedError


__all__ = ["Membership"]
