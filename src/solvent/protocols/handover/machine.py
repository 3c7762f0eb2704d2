"""One process of a space: pure, for any host.

    machine = SpaceMachine(NodeId(17), "tcp://10.0.0.3:5150", SpaceConfig(), is_first=False)
    host around Linked(machine, me=NodeId(17), peers=())

Messages must arrive once and in the order they were sent on each channel, as within a `Linked`. A node is one life of a
process: its name is never used again, and a machine that is started again is over. Nothing is saved.
"""

from __future__ import annotations

from typing import Any

from immutables import Map

from solvent.protocols.elmp.process import Elmp
from solvent.protocols.elmp.state import Out
from solvent.protocols.elmp.vocabulary import Leave
from solvent.protocols.handover.desk import OF_RESOURCE, wrapped
from solvent.protocols.handover.messages import (
    Admitted,
    Agreed,
    Alarm,
    Bye,
    Came,
    Charge,
    Exists,
    Farewell,
    Fenced,
    Going,
    Knock,
    Muster,
    Newcomer,
    Noted,
    Over,
    Present,
    Proceed,
    Refused,
    Renew,
    Stray,
    Went,
    Within,
)
from solvent.protocols.handover.repair import Repairing
from solvent.protocols.handover.state import Role, SpaceConfig, SpaceState, SpaceStep, Standing
from solvent.protocols.handover.vocabulary import Announce, Died, Enter, Entered, Go, In, Open
from solvent.protocols.machine import Answered, Event, NodeId, PeerRestarted, Received, Report, Requested, TimerFired


class Process(Repairing):
    """One step of a process."""

    __slots__ = ()

    def on_event(self, event: Event) -> None:
        """Take one event; what users want waits while a repair is under way."""
        match event:
            case Received(sender, message):
                self.on_message(sender, message)
            case Answered(answer):
                self.on_answered(answer)
            case Requested(Died(peer, is_certain)):
                self.on_died(peer, is_certain=is_certain)
            case PeerRestarted(peer):
                self.on_died(peer, is_certain=True)
            case Requested() if self.standing.role is Role.INSIDE and not self.standing.is_running:
                self.wish(event)
            case TimerFired(name) if self.standing.role is Role.INSIDE and not self.standing.is_running:
                self.on_impatience(name)
            case Requested(request):
                self.on_requested(request)
            case TimerFired(name):
                timer, _, resource = name.partition(OF_RESOURCE)
                self.inside(resource, TimerFired(timer, event.at))

    def on_requested(self, request: Any) -> None:
        """Do what the user wants."""
        match request:
            case Enter(contact):
                self.on_enter(contact)
            case Go():
                self.on_go()
            case Open(resource) if self.standing.role is Role.INSIDE and not self.standing.is_going:
                self.on_open(resource)
            case Announce(resource) if self.standing.role is Role.INSIDE:
                self.on_announce(resource)
            case In(resource, wanted):
                self.on_in(resource, wanted)

    def on_message(self, sender: NodeId, message: Any) -> None:
        """Take a message."""
        match message:
            case Within():
                self.on_within(sender, message)
            case Exists(resource):
                self.on_exists(sender, resource)
            case Knock(address):
                self.on_knock(sender, address)
            case Newcomer(newcomer, address):
                self.on_newcomer(newcomer, address)
            case Came():
                self.on_came(sender, message)
            case Noted():
                self.on_noted(sender, message)
            case Admitted():
                self.on_admitted(message)
            case Stray():
                self.on_stray(sender)
            case Bye():
                self.on_bye(sender, message)
            case Going():
                self.on_going(sender, message)
            case Went():
                self.on_went(sender, message)
            case Farewell():
                self.on_farewell(sender, message)
            case _:
                self.on_repair_message(sender, message)

    def on_repair_message(self, sender: NodeId, message: Any) -> None:
        """Take what belongs to a repair; who is over says so to whoever counts on it."""
        if self.standing.role is Role.OVER and isinstance(message, Alarm | Charge | Muster | Renew):
            self.send(sender, Over())
            return
        match message:
            case Over():
                self.on_died(sender, is_certain=True)
            case Alarm():
                self.on_alarm(sender, message)
            case Charge():
                self.on_charge(sender, message)
            case Muster():
                self.on_muster(sender, message)
            case Present():
                self.on_present(message)
            case Refused(ballot):
                self.on_refused(ballot)
            case Renew():
                self.on_renew(sender, message)
            case Agreed(ballot):
                self.on_agreed(sender, ballot)
            case Proceed(ballot):
                self.on_proceed(ballot)
            case Fenced(epoch):
                self.on_fenced(epoch)

    def replay(self, early: tuple[tuple[NodeId, Any], ...], wishes: tuple[Any, ...]) -> None:
        """Take what came too early."""
        for sender, message in early:
            self.on_message(sender, message)
        for event in wishes:
            self.on_event(event)


class SpaceMachine:
    """One process, reached at `address`; the first of a space founds it, and others enter it."""

    desk: type[Process] = Process

    def __init__(self, node: NodeId, address: str, config: SpaceConfig, *, is_first: bool) -> None:
        self.node = node
        self.address = address
        self.config = config
        self.is_first = is_first
        #: One machine for the locks of all resources.
        self.locks = Elmp(node, config.locks)

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> SpaceStep:
        """Begin: outside, unless it is the first; after a crash it is over."""
        del saved
        if life:
            return SpaceState(Standing(Role.OVER)), ()
        if not self.is_first:
            return SpaceState(Standing(Role.OUTSIDE)), ()
        epoch = (0, self.node)
        members = Map({self.node: self.address})
        return SpaceState(Standing(Role.INSIDE, epoch, epoch, members)), (Report(Entered(epoch)),)

    def step(self, state: SpaceState, event: Event) -> SpaceStep:
        """Take one event; what happens most, a message or a wish of a lock, in one go."""
        standing, kind = state.standing, type(event)
        epoch = standing.epoch
        inner: Event | None = None
        if kind is Received:
            said = event.message  # type: ignore[union-attr]
            if type(said) is Within and said.epoch == epoch:
                inner = Received(event.sender, said.message)  # type: ignore[union-attr]
        elif kind is Requested:
            said = event.request  # type: ignore[union-attr]
            if type(said) is In and type(said.wanted) is not Leave:
                inner = Requested(said.wanted)
        if inner is not None and standing.promised == epoch and not standing.is_going:
            resource, resources = said.resource, state.resources
            before = resources.get(resource)
            if before is not None and type(before.phase) is not Out:
                after, effects = self.locks.step(before, inner)
                return SpaceState(standing, resources.set(resource, after)), wrapped(effects, epoch, resource)
        desk = self.desk(self, state)
        desk.on_event(event)
        return desk.finish()


__all__ = ["Process", "SpaceMachine"]
