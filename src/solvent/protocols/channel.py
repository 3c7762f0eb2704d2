"""What two nodes say to each other over connections that break: every message once and in order. Without I/O.

A node writes to connections that it has dialled, and hears over those that others have dialled. Of one such connection:

    dialler                              acceptor
    its life                       ->
                                   <-    its life
    proof that this is the one     ->
                                   <-    how many frames it has taken: at first, now and then, and when asked
    frames                         ->

A frame is kept until the acceptor says that it has taken it. What was not taken is written again to the next
connection, before anything else. So frames carry no numbers, and none is taken twice.

A *session* is a pair of lives. A node begins a new life whenever it starts; the first is life 0, which a node that was
not met yet is believed to be in. When a peer turns out to be in a later life, the session is new: what was said to the
former life is gone, taken or not, and both sides count from zero. The machine gets `PeerRestarted` before anything that
the new life says, and says again what still matters. A node that claims to be in an earlier life is refused.

A count is said when the steps on those frames were made and what they saved is safe. Then a crash of the acceptor
loses nothing that the dialler has forgotten; the host sees to that order (`net.direct`).
"""

from __future__ import annotations

from collections import deque
from typing import Any

import msgspec


class Outdated(Exception):
    """A peer says that it is in a life that is over: it has forgotten what it was."""


class WrongCount(Exception):
    """A peer says that it has taken what was never written, or less than before; the text is for people."""


class Session(msgspec.Struct):
    """One node's side of what it exchanges with a peer, both in one of their lives."""

    #: The peer's life.
    life: int = 0
    #: Messages that are in no frame yet.
    waiting: list[Any] = []
    #: Frames that were written and that the peer has not said to have taken, the oldest first.
    kept: deque[Any] = msgspec.field(default_factory=deque)
    #: How many the peer has said to have taken.
    acknowledged: int = 0
    #: How many frames of the peer were taken here.
    taken: int = 0
    #: The connection whose frames are taken: the one that the peer proved last.
    source: Any = None


def has_restarted(session: Session, life: int) -> bool:
    """Decide whether a peer that is in this life has restarted since it was met; raise `Outdated` for a former life."""
    if life < session.life:
        raise Outdated
    return life > session.life


def restart(session: Session, life: int) -> None:
    """Begin a session with a peer's new life."""
    session.life = life
    session.waiting = []
    session.kept.clear()
    session.acknowledged = session.taken = 0
    session.source = None


def accept(session: Session, source: Any) -> int:
    """Take frames from a new connection alone, which the peer has proved; return the count to be said over it."""
    session.source = source
    return session.taken


def receive(session: Session, source: Any) -> bool:
    """Count a frame as taken; false where it is to be dropped, since its connection was given up by the peer."""
    if source is not session.source:
        return False
    session.taken += 1
    return True


def write(session: Session, frame: Any) -> None:
    """Keep a frame that is written to the connection."""
    session.kept.append(frame)


def acknowledge(session: Session, count: int) -> None:
    """Forget what the peer has taken: so many frames of this session."""
    fresh = count - session.acknowledged
    if not 0 <= fresh <= len(session.kept):
        written = session.acknowledged + len(session.kept)
        raise WrongCount(f"it has taken {count} frames after {session.acknowledged}, and {written} were written")
    for _ in range(fresh):
        session.kept.popleft()
    session.acknowledged = count


def resume(session: Session, count: int) -> tuple[Any, ...]:
    """Hear the first count over a new connection; return the frames to be written to it before any other."""
    acknowledge(session, count)
    return tuple(session.kept)


__all__ = [
    "Outdated",
    "Session",
    "WrongCount",
    "accept",
    "acknowledge",
    "has_restarted",
    "receive",
    "restart",
    "resume",
    "write",
]
