"""One end of the line between two nodes: what goes out, what comes in, and in which life the other one is.

Numbers count the messages of one session, from zero. A session is a pair of lives, so a restart of either side begins
a new one. Outgoing:

      acked         sent              next
    ....|.............|.................|
     taken   under way      waiting           `queue` holds what is not taken yet

At most `window` messages are under way. What is not taken in time is sent again from `acked` on, with a small window
that grows as the other side answers; so a burst that was lost as a whole comes through quickly, and a node that is
down is not flooded.

Incoming messages up to `taken` have been taken by the machine; those that came too early wait in `early`.
"""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from solvent.protocols.machine import Value
from solvent.protocols.maps import Map

MAX_WINDOW = 256
"""Messages under way to one peer, and early ones kept from it."""
MAX_RESENT = 16
"""Messages sent again at once."""
MAX_PATIENCE = 16
"""Ticks of the resend timer between two attempts, at most; the pause doubles until then."""

NOTHING: Map[int, Any] = Map()


class Line(Value, frozen=True, gc=False):
    """What a node knows of its exchange with one peer."""

    #: The peer's life.
    life: int = 0
    #: Whether the peer has shown that it knows this node's life.
    is_met: bool = True
    queue: Map[int, Any] = NOTHING
    acked: int = 0
    sent: int = 0
    next: int = 0
    window: int = MAX_WINDOW
    #: Ticks of the resend timer since the peer last took something, and how many to wait.
    age: int = 0
    patience: int = 1
    taken: int = 0
    early: Map[int, Any] = NOTHING
    #: Messages taken, and frames to be answered, since the last frame to the peer.
    owed: int = 0
    #: Whether the timer for acknowledgements will look at this line.
    is_listed: bool = False

    @property
    def waiting(self) -> int:
        """How many messages the peer has not taken."""
        return self.next - self.acked

    @property
    def is_open(self) -> bool:
        """Whether a message that waits may be sent."""
        return self.sent < self.next and self.sent < self.acked + self.window


def enqueued(line: Line, message: Any) -> Line:
    """Add a message for the peer."""
    return replace(line, queue=line.queue.set(line.next, message), next=line.next + 1)


def acknowledged(line: Line, taken: int) -> Line:
    """Forget what the peer has taken: `taken` messages of this session, more than before."""
    if taken == line.next:
        queue = NOTHING
    elif taken == line.acked + 1:
        queue = line.queue.delete(line.acked)
    else:
        queue = line.queue.without(range(line.acked, taken))
    return replace(
        line,
        queue=queue,
        acked=taken,
        # An answer to what was sent before the window went back.
        sent=max(line.sent, taken),
        window=min(MAX_WINDOW, line.window * 2),
        age=0,
        patience=1,
    )


def older(line: Line, max_patience: int = MAX_PATIENCE) -> tuple[Line, bool]:
    """Let a tick pass; say whether it is time to send again, or to introduce oneself again."""
    if not line.waiting and line.is_met:
        return line, False
    # A message may have been sent a moment before the tick: one tick more than the patience is a full wait.
    if line.age < min(line.patience, max_patience):
        return replace(line, age=line.age + 1), False
    patience = max(1, min(max_patience, line.patience * 2))
    return replace(line, age=0, patience=patience, sent=line.acked, window=MAX_RESENT), True


def restarted(line: Line, life: int, *, is_met: bool) -> Line:
    """Begin a session with the peer's new life; what was under way to the former one is gone."""
    return Line(life=life, is_met=is_met, is_listed=line.is_listed)


__all__ = [
    "MAX_PATIENCE",
    "MAX_RESENT",
    "MAX_WINDOW",
    "NOTHING",
    "Line",
    "acknowledged",
    "enqueued",
    "older",
    "restarted",
]
