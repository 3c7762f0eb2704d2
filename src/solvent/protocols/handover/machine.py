"""One process of a space: pure, for any host.

    machine = SpaceMachine(NodeId(17), "tcp://10.0.0.3:5150", SpaceConfig(), is_first=False)
    host around Linked(machine, me=NodeId(17), peers=())

Messages must arrive once and in the order they were sent on each channel, as within a `Linked`. A node is one life of a
process: its name is never used again, and a machine that is started again is over. Nothing is saved.
"""

from __future__ import annotations

from typing import Any, assert_never

from msgspec.structs import replace

from solvent.protocols.elmp import lock
from solvent.protocols.handover import members, repair
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
    HandoverMessage,
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
from solvent.protocols.handover.state import Role, SpaceConfig, SpaceState, SpaceStep, Step
from solvent.protocols.handover.vocabulary import Announce, Died, Enter, Entered, Go, In, Open, Watch
from solvent.protocols.machine import Answered, Event, NodeId, PeerRestarted, Received, Report, Requested, TimerFired


class SpaceMachine:
    """One process, reached at `address`; the first of a space founds it, and others enter it."""

    def __init__(self, node: NodeId, address: str, config: SpaceConfig, *, is_first: bool) -> None:
        self.node = node
        self.address = address
        self.config = config
        self.is_first = is_first

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> SpaceStep:
        """Begin: outside, unless it is the first; after a crash it is over."""
        del saved
        if life:
            return SpaceState(Role.OVER), ()
        if not self.is_first:
            return SpaceState(Role.OUTSIDE), ()
        epoch = (0, self.node)
        return SpaceState(Role.INSIDE, epoch, epoch, {self.node: self.address}), (Report(Entered(epoch)),)

    def step(self, state: SpaceState, event: Event) -> SpaceStep:
        """Take one event; if others are to be watched now, say so."""
        now = Step(self.node, self.address, self.config, replace(state), [])
        # A pattern that does not match costs much: what comes most is first, here and below.
        match event:
            case Received() if type(event.message) is Within:
                members.on_within(now, event.sender, event.message)
            case Received():
                on_message(now, event.sender, event.message)
            case Requested():
                on_requested(now, event)
            case Answered():
                repair.on_answered(now, event.answer)
            case PeerRestarted():
                repair.on_died(now, event.peer, is_certain=True)
            case TimerFired() if state.role is Role.INSIDE and not state.is_running:
                members.on_impatience(now, event.name)
            case TimerFired():
                timer, _, resource = event.name.partition(members.OF_RESOURCE)
                part = members.begin_lock(now, resource)
                lock.on_timer(part, timer)
                members.end_lock(now, resource, part)
                if state.is_going:
                    members.consider_left(now, part)
        if now.kept:
            go_on(now)
            watch(now)
        elif not now.is_for_lock or state.is_going:
            watch(now)
        return now.state, tuple(now.effects)


def watch(now: Step) -> None:
    """Say whose death this process is to notice, if these are others than before."""
    watched = repair.to_be_watched(now)
    if watched != now.state.watched:
        now.state.watched = watched
        now.report(Watch(watched))


def on_requested(now: Step, event: Requested) -> None:
    """Do what the user wants; most of it waits while a repair is under way."""
    state, request = now.state, event.request
    if state.promised != state.epoch and state.role is Role.INSIDE and type(request) is not Died:
        members.wish(now, event)
        return
    match request:
        case In():
            members.on_in(now, request.resource, request.wanted)
        case Died():
            repair.on_died(now, request.peer, is_certain=request.is_certain)
        case Enter():
            members.on_enter(now, request.contact)
        case Go():
            members.on_go(now)
        case Open() if state.role is Role.INSIDE and not state.is_going:
            members.on_open(now, request.resource)
        case Announce() if state.role is Role.INSIDE:
            members.on_announce(now, request.resource)


def on_message(now: Step, sender: NodeId, message: HandoverMessage) -> None:
    """Take a message; a process that is over says so to whoever counts on it."""
    match message:
        case Within():
            members.on_within(now, sender, message)
        case Exists():
            members.on_exists(now, sender, message.resource)
        # Coming and going.
        case Knock():
            members.on_knock(now, sender, message.address)
        case Newcomer():
            members.on_newcomer(now, message.newcomer, message.address)
        case Came():
            if members.on_came(now, sender, message):
                repair.consider_alarm(now)
        case Noted():
            members.on_noted(now, sender, message)
        case Admitted():
            if members.on_admitted(now, message):
                repair.consider_alarm(now)
                members.consider_going(now)
        case Stray():
            if members.on_stray(now, sender):
                repair.consider_alarm(now)
                members.consider_going(now)
        case Bye():
            members.on_bye(now, sender, message)
        case Going():
            members.on_going(now, sender, message)
        case Went():
            members.on_went(now, sender, message)
        case Farewell():
            members.on_farewell(now, sender, message)
        case Fenced():
            members.on_fenced(now, message.epoch)
        # Repairs.
        case Alarm() | Charge() | Muster() | Renew() if now.state.role is Role.OVER:
            now.send(sender, Over())
        case Over():
            repair.on_died(now, sender, is_certain=True)
        case Alarm():
            repair.on_alarm(now, sender, message)
        case Charge():
            repair.on_charge(now, sender, message)
        case Muster():
            repair.on_muster(now, sender, message)
        case Present():
            repair.on_present(now, message)
        case Refused():
            repair.on_refused(now, message.ballot)
        case Renew():
            repair.on_renew(now, sender, message)
        case Agreed():
            repair.on_agreed(now, sender, message.ballot)
        case Proceed():
            repair.on_proceed(now, message.ballot)
        case _:
            assert_never(message)


def go_on(now: Step) -> None:
    """Take what came too early for the epoch that has just begun, and what users wanted meanwhile."""
    while now.kept:
        (early, wishes), *kept = now.kept
        now.kept = tuple(kept)
        for sender, message in early:
            on_message(now, sender, message)
        for event in wishes:
            on_requested(now, event)
        repair.consider_alarm(now)
        members.consider_going(now)


__all__ = ["SpaceMachine"]
