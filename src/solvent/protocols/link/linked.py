"""A machine that wraps another one and carries its messages without fail.

The network may lose, double and reorder; nodes may crash and come back. The machine inside sees each message exactly
once, in the order sent, or it is told that it may be lost:

- *Within a session*, a pair of lives, messages are numbered, acknowledged, sent again and put in order.
- *Restart of a peer.* As soon as a frame of the peer's new life arrives, the machine gets `PeerRestarted(peer)`, before
  anything the new life says. What was under way to the former life is dropped: it may have been taken before the crash
  or not, which only the peer knows, so the machine says again what still matters. Frames of a former life, or for
  one, are dropped too.
- *Own restart.* Lives of peers are saved when heard of, so a peer that restarted while this node was down is noticed.
  A node in a later life announces it to every peer until each has shown that it knows.

An acknowledgement means that the machine has made its step on the message and that what this step saved is safe; so a
reply that goes out before the last `Save` of the step does not carry it yet. When nothing the machine sent is under
way any more it is told (`AllTaken`), which detection of inertia needs. Acknowledgements ride on messages, or gather
until a short timer, so a burst costs one frame. Messages to oneself never leave the node.

The machine inside gets one event at a time and its questions (`Ask`, `Choose`) are answered first, as it may expect:
where a step of the link has more events for it, the rest waits (`todo`) for the next event or for a timer that fires at
once. A host's own `PeerRestarted` is ignored; the link finds out by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeAlias

from solvent.protocols.link.desk import Desk
from solvent.protocols.link.line import MAX_PATIENCE, Line
from solvent.protocols.link.messages import PeerLife
from solvent.protocols.link.state import LinkState
from solvent.protocols.machine import Answered, Chosen, Event, Machine, NodeId, Received, State, Step, TimerFired
from solvent.protocols.maps import Map

if TYPE_CHECKING:
    from collections.abc import Iterable

LinkStep: TypeAlias = Step[LinkState]


class Linked(Generic[State]):
    """Node `me`, one of `peers`, around the machine `inner`.

    Times are in ticks: `resend_after` until a message that was not taken is sent again, at first, and at most
    `max_patience` times as long later; `ack_after` until
    messages are acknowledged by a frame of its own, zero for at once. With `tells_all_taken` the machine inside gets
    `Requested(AllTaken())` whenever nothing that it sent is under way any more.
    """

    desk: type[Desk] = Desk

    def __init__(
        self,
        inner: Machine[State],
        *,
        me: NodeId,
        peers: Iterable[NodeId],
        resend_after: int = 200,
        max_patience: int = MAX_PATIENCE,
        ack_after: int = 5,
        tells_all_taken: bool = False,
    ) -> None:
        self.inner = inner
        self.me = me
        self.peers = tuple(sorted(peer for peer in peers if peer != me))
        self.resend_after = resend_after
        self.max_patience = max_patience
        self.ack_after = ack_after
        self.tells_all_taken = tells_all_taken

    def start(self, saved: tuple[Any, ...] = (), life: int = 0) -> LinkStep:
        """Begin; after a crash, let every peer know of the new life."""
        heard = {record.peer: record.life for record in saved if isinstance(record, PeerLife)}
        is_met = life == 0
        # Peers that came later are known by their lives only.
        peers = (*self.peers, *sorted(peer for peer in heard if peer not in self.peers))
        known = {peer: Line(life=heard.get(peer, 0), is_met=is_met) for peer in peers if peer in heard or life}
        rest = tuple(record for record in saved if not isinstance(record, PeerLife))
        inner, effects = self.inner.start(rest, life)
        state = LinkState(inner, life, Map(known))
        desk = self.desk(self, state, 0)
        desk.carry(effects)
        for peer in self.peers if life else ():
            line = desk.line(peer)
            if not line.waiting:
                desk.announce(peer, line)
        desk.work()
        return desk.finish(state)

    def step(self, state: LinkState, event: Event) -> LinkStep:
        """Take one event."""
        kind = type(event)
        at = event.at if kind is Received or kind is TimerFired else 0  # type: ignore[union-attr]
        desk = self.desk(self, state, at)
        if kind is Answered or kind is Chosen:
            # What waits has waited for this.
            desk.tell(event)
        elif desk.todo:
            desk.todo.append(event)
        else:
            desk.do(event)
        if desk.todo:
            desk.work()
        return desk.finish(state)


__all__ = ["LinkStep", "Linked"]
