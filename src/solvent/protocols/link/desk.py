"""One step of a link while it is being made: the state taken apart, what is to be done, and the effects so far.

A step of the link may be several steps of the machine inside, and each may change any line; so the parts lie here,
are changed, and become a state again at the end. Nobody outside sees a desk.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.protocols.link.line import MAX_WINDOW, Line, acknowledged, enqueued, older, restarted
from solvent.protocols.link.messages import Ack, AllTaken, Announce, Congested, Data, LinkFault, Loose, PeerLife
from solvent.protocols.link.state import ACK, MORE, RESEND, Deliver, LinkState, Restart, TellAllTaken
from solvent.protocols.machine import (
    Ask,
    Cheap,
    Choose,
    Effect,
    Effects,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Requested,
    Save,
    Send,
    SetTimer,
    TimerFired,
)

if TYPE_CHECKING:
    from solvent.protocols.link.linked import Linked

MAX_TODO = 256
"""What is done in one step, so that a machine that goes on writing to itself does not keep the host for ever."""
MAX_OWED = 32
"""Messages that may wait for their acknowledgement; the next one brings it at once."""
MAX_WAITING = 100_000
"""Messages that may wait for a peer before it is reported."""
_FIRST = Line()
_FRAMES = frozenset((Data, Ack, Announce, Loose))
_ALL_TAKEN = Requested(AllTaken())


class Desk:
    """The parts of a link's state during one step."""

    __slots__ = (
        "at",
        "effects",
        "inner",
        "is_asked",
        "is_resending",
        "life",
        "lines",
        "link",
        "owing",
        "todo",
        "unacknowledged",
    )

    def __init__(self, link: Linked[Any], state: LinkState, at: int) -> None:
        self.link = link
        self.at = at
        self.inner = state.inner
        self.life = state.life
        self.lines = state.lines
        self.unacknowledged = state.unacknowledged
        self.todo = deque(state.todo)
        self.owing = state.owing
        self.is_resending = state.is_resending
        self.effects: list[Effect] = []
        self.is_asked = False

    def line(self, peer: NodeId) -> Line:
        """Give the line to a peer."""
        return self.lines.get(peer, _FIRST)

    # ---------------------------------------------------------------------------------------------- doing things

    def work(self) -> None:
        """Do what is to be done, until the machine inside asks something."""
        for _ in range(MAX_TODO):
            if not self.todo or self.is_asked:
                return
            self.do(self.todo.popleft())

    def do(self, what: Any) -> None:
        """Do one thing: what happens most is looked at first."""
        kind = type(what)
        if kind is Received:
            if what.sender == self.link.me:
                self.tell(what, what.sender)
            else:
                self.on_frame(what, what.sender, what.message)
            return
        if kind is Requested:
            self.tell(what)
            return
        match what:
            case Deliver(peer):
                self.on_deliver(peer)
            case Restart(peer, life):
                self.on_restart(peer, life)
            case TellAllTaken():
                if not self.unacknowledged:
                    self.tell(_ALL_TAKEN)
            case TimerFired(name) if name == ACK:
                self.on_ack_timer()
            case TimerFired(name) if name == RESEND:
                self.on_resend_timer()
            case TimerFired(name) if name == MORE:
                pass
            case PeerRestarted():
                # A host's own notice: the link finds out by itself, and knows what it means for its session.
                pass
            case _:
                self.tell(what)

    def tell(self, event: Any, sender: NodeId | None = None) -> None:
        """Give the machine inside an event; `sender` where that is a counted message."""
        self.inner, effects = self.link.inner.step(self.inner, event)
        self.carry(effects, sender)

    def carry(self, effects: Effects, sender: NodeId | None = None) -> None:
        """Pass the machine's effects on, its messages in frames."""
        saves = 0
        if sender is not None:
            # Whoever hears that a message was taken relies on what was saved for it.
            saves = sum([type(effect) is Save for effect in effects])
            if not saves:
                self.on_taken(sender)
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                self.send(effect.to, effect.message)  # type: ignore[union-attr]
                continue
            self.effects.append(effect)
            if kind is Save:
                saves -= 1
                if not saves and sender is not None:
                    self.on_taken(sender)
            elif kind is Ask or kind is Choose:
                self.is_asked = True

    # --------------------------------------------------------------------------------------------------- sending

    def send(self, to: NodeId, message: Any) -> None:
        """Send a message of the machine inside."""
        if to == self.link.me:
            message = message.message if type(message) is Cheap else message
            self.unacknowledged += 1
            self.todo.append(Received(to, message, self.at))
            return
        line = self.line(to)
        if type(message) is Cheap:
            self.effects.append(Send(to, Loose(self.life, line.life, message.message)))
            return
        self.unacknowledged += 1
        if line.sent == line.next < line.acked + line.window:
            # The common case in one go.
            number = line.next
            self.effects.append(Send(to, Data(self.life, line.life, number, line.taken, message)))
            queue = line.queue.set(number, message)
            line = replace(line, queue=queue, next=number + 1, sent=number + 1, owed=0)
        else:
            line = enqueued(line, message)
            if line.waiting == MAX_WAITING:
                self.effects.append(Report(Congested(to, line.waiting)))
        self.lines = self.lines.set(to, line)

    def pump(self, peer: NodeId, line: Line) -> Line:
        """Send what waits, as far as the window allows."""
        if not line.is_open:
            return line
        end = min(line.next, line.acked + line.window)
        for number in range(line.sent, end):
            self.effects.append(Send(peer, Data(self.life, line.life, number, line.taken, line.queue[number])))
        return replace(line, sent=end, owed=0)

    def acknowledge(self, peer: NodeId) -> None:
        """Tell a peer what was taken."""
        line = self.line(peer)
        self.effects.append(Send(peer, Ack(self.life, line.life, line.taken)))
        self.lines = self.lines.set(peer, replace(line, owed=0))

    def announce(self, peer: NodeId, line: Line) -> None:
        """Tell a peer which life this is."""
        self.effects.append(Send(peer, Announce(self.life, line.life)))

    def owe(self, peer: NodeId, line: Line) -> None:
        """Keep a line that owes its peer an answer; one will do, however often it is owed."""
        if not line.is_listed:
            self.owing = (*self.owing, peer)
        self.lines = self.lines.set(peer, replace(line, owed=line.owed or 1, is_listed=True))

    # ------------------------------------------------------------------------------------------------- receiving

    def on_frame(self, event: Received, sender: NodeId, frame: Any) -> None:
        """Take a frame: first see whose it is and for whom."""
        if type(frame) not in _FRAMES:
            self.effects.append(Report(LinkFault(sender, f"`{type(frame).__name__}` came without a frame")))
            return
        line = self.line(sender)
        if frame.life < line.life:
            # Late: said by a life that is over.
            return
        if frame.life > line.life:
            self.todo.extendleft((event, Restart(sender, frame.life)))
            return
        if frame.to != self.life:
            self.on_misaddressed(sender, line, frame.to)
            return
        if not line.is_met:
            line = replace(line, is_met=True)
            self.lines = self.lines.set(sender, line)
        kind = type(frame)
        if kind is Data:
            if frame.taken > line.acked:
                line = self.on_ack(sender, line, frame.taken)
            self.on_data(sender, line, frame.number, frame.message)
        elif kind is Ack:
            self.on_ack(sender, line, frame.taken)
        elif kind is Loose:
            self.tell(Received(sender, frame.message, self.at))
        else:
            # `Announce`, said again: the answer to the first was lost.
            self.owe(sender, line)

    def on_misaddressed(self, sender: NodeId, line: Line, life: int) -> None:
        """Drop a frame for another life of this node, and see that the sender hears of this one."""
        if life > self.life:
            reason = f"it knows life {life} of this node, which is in life {self.life}: was its journal lost?"
            self.effects.append(Report(LinkFault(sender, reason)))
            return
        self.owe(sender, line)

    def on_ack(self, sender: NodeId, line: Line, taken: int) -> Line:
        """Forget what the peer has taken."""
        if taken <= line.acked:
            return line
        if taken > line.next:
            self.effects.append(Report(LinkFault(sender, f"it has taken {taken} of {line.next} messages")))
            return line
        self.fewer(taken - line.acked)
        line = self.pump(sender, acknowledged(line, taken))
        self.lines = self.lines.set(sender, line)
        return line

    def on_data(self, sender: NodeId, line: Line, number: int, message: Any) -> None:
        """Take a message, or keep it if others are to come first."""
        if number == line.taken:
            if line.early:
                self.todo.appendleft(Deliver(sender))
            self.tell(Received(sender, message, self.at), sender)
        elif number < line.taken or number in line.early:
            # Doubled, or its acknowledgement was lost.
            self.owe(sender, line)
        elif number < line.taken + MAX_WINDOW:
            self.lines = self.lines.set(sender, replace(line, early=line.early.set(number, message)))

    def on_deliver(self, peer: NodeId) -> None:
        """Give the machine inside the next message of a peer."""
        line = self.line(peer)
        if line.taken not in line.early:
            # Still missing; or the peer has begun a new life, and this was said in the former.
            return
        message = line.early[line.taken]
        self.lines = self.lines.set(peer, replace(line, early=line.early.delete(line.taken)))
        self.todo.appendleft(Deliver(peer))
        self.tell(Received(peer, message, self.at), peer)

    def on_taken(self, sender: NodeId) -> None:
        """Count a message as taken: the machine has made its step on it, and what it saved is among the effects."""
        if sender == self.link.me:
            self.fewer(1)
            return
        line = self.line(sender)
        if not line.is_listed:
            self.owing = (*self.owing, sender)
        line = replace(line, taken=line.taken + 1, owed=line.owed + 1, is_listed=True)
        self.lines = self.lines.set(sender, line)
        if line.owed >= MAX_OWED:
            self.acknowledge(sender)

    def on_restart(self, peer: NodeId, life: int) -> None:
        """Begin a session with a peer's new life."""
        line = self.line(peer)
        if life <= line.life:
            return
        self.effects.append(Save(PeerLife(peer, life)))
        if line.waiting:
            self.fewer(line.waiting)
        self.owe(peer, restarted(line, life, is_met=not self.life))
        self.tell(PeerRestarted(peer))

    def fewer(self, count: int) -> None:
        """Count messages of the machine inside as taken, or as gone."""
        self.unacknowledged -= count
        if not self.unacknowledged and self.link.tells_all_taken:
            self.todo.append(TellAllTaken())

    # ---------------------------------------------------------------------------------------------------- timers

    def on_ack_timer(self) -> None:
        """Acknowledge what no message has acknowledged meanwhile."""
        owing, self.owing = self.owing, ()
        for peer in owing:
            line = replace(self.line(peer), is_listed=False)
            if line.owed:
                self.effects.append(Send(peer, Ack(self.life, line.life, line.taken)))
            self.lines = self.lines.set(peer, replace(line, owed=0))

    def on_resend_timer(self) -> None:
        """Send again what was not taken in time, and announce a new life again."""
        self.is_resending = False
        for peer in sorted(self.lines):
            before = self.lines[peer]
            line, is_due = older(before, self.link.max_patience)
            if is_due:
                if line.is_open:
                    line = self.pump(peer, line)
                else:
                    self.announce(peer, line)
            if line is not before:
                self.lines = self.lines.set(peer, line)

    # ------------------------------------------------------------------------------------------------------- end

    def finish(self, before: LinkState) -> tuple[LinkState, Effects]:
        """Put the parts together again."""
        link = self.link
        if self.owing and not link.ack_after:
            self.on_ack_timer()
        elif self.owing and not before.owing:
            self.effects.append(SetTimer(ACK, link.ack_after))
        if not self.is_resending and self.is_unfinished():
            self.is_resending = True
            self.effects.append(SetTimer(RESEND, link.resend_after))
        if self.todo:
            self.effects.append(SetTimer(MORE, 0))
        state = LinkState(
            self.inner, self.life, self.lines, self.unacknowledged, tuple(self.todo), self.owing, self.is_resending
        )
        return state, tuple(self.effects)

    def is_unfinished(self) -> bool:
        """Whether a peer has not taken something, or does not know this life."""
        if not self.unacknowledged and not self.life:
            return False
        return any(line.next > line.acked or not line.is_met for line in self.lines.values())


__all__ = ["MAX_OWED", "MAX_TODO", "MAX_WAITING", "Desk"]
