"""One node of a group: a token that survives crashes, a lock and a common order made of it, and members that change.

The ring's own machine (`token.node`) hands the token round and finds it. Around it this machine keeps a log, the same
at all members, which only the holder of the token writes to: broadcasts, changes of members, and the beginnings of
epochs. A holder keeps the token until most members have saved what it wrote. So whoever makes a new token, with most
members' promises, finds in their logs all that was ever safe.

What is in memory only: where the token is. What is saved: promises and the log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.machine import NodeId, PeerRestarted, Received, Requested, TimerFired
from solvent.protocols.token.group import confirming, electing, order
from solvent.protocols.token.group.desk import Desk
from solvent.protocols.token.group.log import FIRST, empty, started_at, written
from solvent.protocols.token.group.messages import (
    Append,
    Behind,
    Committed,
    Elect,
    Hello,
    Known,
    Member,
    Passed,
    Probe,
    Promise,
    Refuse,
    Resign,
    Said,
    Saved,
    Search,
    Seek,
    Seen,
    View,
)
from solvent.protocols.token.group.settling import settle
from solvent.protocols.token.group.state import ELECT, PATIENCE, GroupState, Promised, Started, Written
from solvent.protocols.token.group.vocabulary import Broadcast, Confirm, Leave, Lock, Remove, Retire, Unlock
from solvent.protocols.token.messages import Token

if TYPE_CHECKING:
    from solvent.protocols.machine import Event
    from solvent.protocols.token.group.state import GroupConfig, GroupStep


class Group:
    """One node."""

    def __init__(self, config: GroupConfig) -> None:
        self.config = config
        self.node = config.node

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> GroupStep:
        """Begin with what was saved; the first of the first members makes the first token."""
        config = self.config
        desk = Desk(config, recovered(config, saved, life))
        state = desk.state
        if state.promised == state.epoch and state.ring:
            desk.begin_ring()
        electing.set_patience(desk)
        if life or not state.log.members:
            # Whom it asks may be down too; it will ask another, or seek the token, when its patience ends.
            members = desk.others(state.log.members)
            for node in [node for node in members if node > self.node][:1] or members[:1] or config.contacts[:1]:
                electing.say_hello(desk, node)
        elif state.ring[0] == self.node:
            desk.hand(Received(NodeId(0), Token(visits=-1)))
        settle(desk)
        return desk.state, tuple(desk.effects)

    def step(self, state: GroupState, event: Event) -> GroupStep:
        """Take one event."""
        desk = Desk(self.config, state)
        # First what happens most.
        if type(event) is Received:
            self._on_message(desk, event.sender, event.message)
            settle(desk)
            return desk.state, tuple(desk.effects)
        match event:
            case Requested(request):
                _on_request(desk, request)
            case TimerFired(name) if name == PATIENCE:
                self.on_patience(desk)
            case TimerFired(name) if name == ELECT:
                electing.on_answers_awaited(desk)
            case TimerFired():
                if state.inner is not None:
                    desk.hand(event)
            case PeerRestarted(peer):
                electing.on_restarted(desk, peer)
        settle(desk)
        return desk.state, tuple(desk.effects)

    def on_patience(self, desk: Desk) -> None:
        """Look after the token."""
        electing.on_patience(desk)
        confirming.ask_again(desk)

    def _on_message(self, desk: Desk, sender: NodeId, message: Any) -> None:
        match message:
            case Passed():
                order.on_passed(desk, sender, message)
            case Search():
                order.on_search(desk, sender, message)
            case Append():
                order.on_append(desk, sender, message)
            case Saved():
                order.on_saved(desk, sender, message)
            case Committed():
                order.on_committed(desk, message)
            case Behind():
                order.on_behind(desk, sender, message)
            case Seek():
                electing.on_seek(desk, sender, message)
            case Seen():
                electing.on_seen(desk, sender, message)
            case Probe():
                confirming.on_probe(desk, sender, message)
            case Known():
                confirming.on_known(desk, sender, message)
            case Elect():
                electing.on_elect(desk, sender, message)
            case Promise():
                electing.on_promise(desk, sender, message)
            case Refuse():
                electing.on_refuse(desk, sender, message)
            case Resign():
                electing.on_resign(desk, message)
            case Hello():
                electing.on_hello(desk, sender, message)


def _on_request(desk: Desk, request: Any) -> None:
    """Note what the user wants."""
    state = desk.state
    match request:
        case Lock():
            if state.fence is None:
                desk.set(is_lock_wanted=True)
        case Unlock(is_again):
            desk.set(is_lock_wanted=is_again, fence=None)
        case Broadcast(data):
            said = Said(desk.me, state.life, state.said, data)
            desk.set(outbox=(*state.outbox, said), said=state.said + 1)
        case Remove(node):
            desk.set(changes=(*state.changes, Member(node, is_member=False)))
        case Confirm(number):
            confirming.confirm(desk, number)
        case Retire():
            desk.set(is_retiring=True)
        case Leave():
            desk.set(changes=(*state.changes, Member(desk.me, is_member=False)), is_leaving=True)


def recovered(config: GroupConfig, saved: tuple[Any, ...], life: int) -> GroupState:
    """Make a state of what was saved."""
    first = tuple(sorted(config.members))
    places = config.places or ("",) * len(first)
    log = empty(Map(zip(config.members, places, strict=True)))
    promised = FIRST
    for record in saved:
        match record:
            case Promised(epoch):
                promised = epoch
            case Started(place, before, members):
                log = started_at(place, before, Map(members))
            case Written(place, lines):
                log, _ = written(log, place, lines)
    state = GroupState(life=life, promised=promised, heard=promised, log=log, committed=log.base, ring=first)
    if log.view_at >= 0:
        line = log.lines[log.view_at]
        assert isinstance(line.entry, View)
        state = replace(state, epoch=line.epoch, ring=line.entry.ring)
    elif log.base:
        state = replace(state, ring=())
    return state


__all__ = ["Group", "recovered"]
