"""What happens in a ring, as events that people and programs read; and how things stand after them.

An event is a mapping with `event` (its kind), `seconds` (since the start) and `node`, and what belongs to its kind. The
same events are printed as lines of JSON, put into words, and drawn; they come from one node, or from all of a ring.
"""

from __future__ import annotations

from collections import Counter, deque
from typing import Any, TypeAlias

from solvent.cli.render import shortened

Event: TypeAlias = dict[str, Any]
_MAX_MESSAGES = 5
_MAX_TEXT = 80


def event_from(outcome: Any) -> Event | None:
    """Give the event that a report of a node is; None for what tells people nothing."""
    from solvent.net import PeerFault
    from solvent.protocols.link import LinkFault
    from solvent.protocols.token.group.vocabulary import MemberChanged, Suspected, ViewBegan
    from solvent.protocols.token.vocabulary import Moved

    match outcome:
        case Moved(to, why):
            return {"event": "moved", "to": to, "why": why}
        case ViewBegan(epoch, ring):
            return {"event": "ring", "epoch": epoch.number, "ring": list(ring)}
        case MemberChanged(place, node, where, is_member):
            kind = "joined" if is_member else "left"
            return {"event": kind, "who": node, "address": where, "place": place}
        case Suspected():
            return {"event": "missed"}
        case PeerFault(peer, reason):
            return {"event": "fault", "peer": peer, "reason": reason}
        case LinkFault(peer, reason):
            return {"event": "fault", "peer": f"node {peer}", "reason": reason}
    return None


def said(event: Event) -> str:
    """Put an event into words."""
    match event:
        case {"event": "began", "address": address}:
            return f"listens at {address}"
        case {"event": "moved", "to": to, "why": why}:
            return f"the token goes to node {to} ({why})"
        case {"event": "locked", "fence": fence}:
            return f"has the lock, fence {'.'.join(map(str, fence))}"
        case {"event": "heard", "place": place, "origin": origin, "data": data}:
            return f"hears node {origin} at place {place}: {shortened(str(data), _MAX_TEXT)}"
        case {"event": "said", "place": place}:
            return f"has said something that is safe at place {place}"
        case {"event": "ring", "epoch": epoch, "ring": ring}:
            return f"a token of epoch {epoch} goes round {' '.join(map(str, ring))}"
        case {"event": "joined" | "left" as kind, "who": who}:
            return f"node {who} {'is a member' if kind == 'joined' else 'is no member any more'}"
        case {"event": "fault", "peer": peer, "reason": reason}:
            return f"{peer}: {reason}"
        case {"event": "back", "gap": gap}:
            return f"has the lock {gap:.2f} s after its holder was killed"
    return _WORDS[event["event"]]


_WORDS = {
    "unlocked": "leaves the lock",
    "lost": "has lost the lock: the others took it for dead",
    "missed": "has the others agree on a new token",
    "ended": "has ended",
    "killed": "is killed while it has the lock",
    "started": "is started again",
}


class Board:
    """How things stand, as far as the events tell."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.epoch = 0
        self.ring: tuple[int, ...] = ()
        self.holder: int | None = None
        self.locker: int | None = None
        self.moves = 0
        self.locks = Counter[int]()
        self.dead = set[int]()
        self.place = -1
        self.messages = deque[Event](maxlen=_MAX_MESSAGES)
        self.gaps = list[float]()
        self._recent = deque[float]()

    @property
    def moves_per_second(self) -> float:
        """How often the token moved in the last second."""
        while self._recent and self._recent[0] < self.seconds - 1:
            self._recent.popleft()
        return len(self._recent) / max(min(self.seconds, 1.0), 0.1)

    def take(self, event: Event) -> None:
        """Take an event."""
        self.seconds = max(self.seconds, event["seconds"])
        node = event["node"]
        match event["event"]:
            case "moved":
                self.moves += 1
                self._recent.append(event["seconds"])
                self.holder = event["to"]
            case "locked":
                self.holder = self.locker = node
                self.locks[node] += 1
            case "unlocked" | "lost":
                self.locker = None if self.locker == node else self.locker
            case "ring":
                if event["epoch"] >= self.epoch:
                    self.epoch, self.ring = event["epoch"], tuple(event["ring"])
            case "heard":
                if event["place"] > self.place:
                    self.place = event["place"]
                    self.messages.append(event)
            case "killed" | "ended":
                self.dead.add(node)
                self.locker = None if self.locker == node else self.locker
            case "began":
                self.dead.discard(node)
            case "back":
                self.gaps.append(event["gap"])


__all__ = ["Board", "Event", "event_from", "said"]
