"""One step of a node while it is being made: the state so far, and the effects so far.

Handlers only note what an event says; conclusions are drawn afterwards, by rules (`settling`). The ring's own machine
counts its nodes by their places in the ring; here they get their names.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from immutables import Map
from msgspec.structs import replace

from solvent.protocols.link.messages import Cheap
from solvent.protocols.machine import CancelTimer, Effect, Event, NodeId, Report, Save, Send, SetTimer
from solvent.protocols.token.group.messages import Append, Member, Passed, Said, Search, Seen, View
from solvent.protocols.token.group.state import ELECT, Promised
from solvent.protocols.token.group.vocabulary import Delivered, Epoch, LockLost, MemberChanged, ViewBegan
from solvent.protocols.token.messages import Granted, Moved, Token
from solvent.protocols.token.node import REST, Ring, TokenState, ring_node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.protocols.machine import Configured
    from solvent.protocols.token.group.messages import Line
    from solvent.protocols.token.group.state import GroupConfig, GroupState
    from solvent.protocols.token.node import TokenConfig


_MAX_FAILURES = 5
"""After so many elections in vain a node does not wait longer any more."""


@lru_cache(maxsize=4096)
def ring_for(config: TokenConfig, place: int, size: int) -> Configured[Ring, TokenState]:
    """Give the machine of one place in a ring."""
    return ring_node(replace(config, node=NodeId(place), size=size), tells_moves=True)


class Desk:
    """The state of a node during one step."""

    __slots__ = ("config", "effects", "me", "state")

    def __init__(self, config: GroupConfig, state: GroupState) -> None:
        self.config = config
        self.me = config.node
        self.state = state
        self.effects: list[Effect] = []

    def set(self, **changes: Any) -> None:
        """Change the state."""
        self.state = replace(self.state, **changes)

    def send(self, to: NodeId, message: Any) -> None:
        """Say what must arrive."""
        self.effects.append(Send(to, message))

    def hint(self, to: NodeId, message: Any) -> None:
        """Say what may be lost."""
        self.effects.append(Send(to, Cheap(message)))

    def save(self, record: Any) -> None:
        """Keep what a crash must not take."""
        self.effects.append(Save(record))

    def tell(self, outcome: Any) -> None:
        """Tell the user."""
        self.effects.append(Report(outcome))

    def others(self, nodes: Iterable[NodeId]) -> list[NodeId]:
        """Give all of these but this node, in order."""
        return sorted([node for node in nodes if node != self.me])

    # ----------------------------------------------------------------------------------------------- the token

    @property
    def has_token(self) -> bool:
        """Whether the token is here."""
        inner = self.state.inner
        return inner is not None and (inner.token is not None or self.state.is_beginning)

    @property
    def ring(self) -> Configured[Ring, TokenState]:
        """This node's part of the ring."""
        ring = self.state.ring
        return ring_for(self.config.ring, ring.index(self.me), len(ring))

    def hand(self, event: Event) -> None:
        """Let the ring's machine take an event."""
        state = self.state
        inner, effects = self.ring.step(state.inner, event)  # type: ignore[arg-type]
        self.set(inner=inner)
        for effect in effects:
            kind = type(effect)
            if kind is Send:
                self._carry(effect.to, effect.message)  # type: ignore[union-attr]
            elif kind is Report:
                self._report(effect.outcome)  # type: ignore[union-attr]
            else:
                self.effects.append(effect)

    def _carry(self, to: NodeId, message: Any) -> None:
        """Send what the ring's machine says, with what the others must know of it."""
        state = self.state
        if type(message) is Token:
            assert not state.is_appending, "the token waits until what was written is safe"
            passed = Passed(state.epoch, message, state.log.length, state.low, state.low_so_far)
            self.effects.append(Send(state.ring[to], passed))
        else:
            self.hint(state.ring[to], Search(state.epoch, message))

    def _report(self, outcome: Any) -> None:
        """Take what the ring's machine reports."""
        if type(outcome) is Granted:
            self.set(granted=outcome.number, has_locked=False, has_appended=False, quiet=0, calm=1)
        else:
            assert type(outcome) is Moved
            self.tell(Moved(self.state.ring[outcome.to], outcome.why))

    def drop_token(self) -> None:
        """Take no part in the ring any more; whoever has the lock is told."""
        fence = self.state.fence
        if fence is not None:
            self.tell(LockLost(fence))
        if self.state.inner is not None and self.state.inner.rest:
            self.effects.append(CancelTimer(REST))
        self.set(
            inner=None,
            fence=None,
            granted=None,
            has_locked=False,
            is_appending=False,
            has_appended=False,
            is_beginning=False,
            appended=0,
            acks=Map(),
            refused=frozenset(),
            early=None,
            low=0,
            low_so_far=0,
        )

    # ------------------------------------------------------------------------------------------------- epochs

    def hear(self, epoch: Epoch) -> None:
        """Note that somebody spoke of an epoch."""
        if epoch > self.state.heard:
            self.set(heard=epoch)

    def promise(self, epoch: Epoch) -> None:
        """Heed no older epoch from here on."""
        self.save(Promised(epoch))
        self.drop_token()
        election = self.state.election
        if self.state.is_seeking or (election is not None and election.epoch < epoch):
            self.stop_electing()
        self.hear(epoch)
        self.set(promised=epoch)

    def stop_electing(self) -> None:
        """Leave a new token to others, or do without."""
        self.effects.append(CancelTimer(ELECT))
        if self.state.election is not None:
            self.set(failures=self.state.failures + 1)
        self.set(election=None, is_seeking=False)

    def await_answers(self) -> None:
        """Wait for others, for a while."""
        self.effects.append(SetTimer(ELECT, self.config.wait << min(self.state.failures, _MAX_FAILURES)))

    def enter(self, line: Line) -> None:
        """Take part in the ring of a new epoch."""
        assert isinstance(line.entry, View)
        early = self.state.early
        self.drop_token()
        if self.state.election is not None or self.state.is_seeking:
            self.stop_electing()
        ring = line.entry.ring
        if early is not None and early[1].epoch != line.epoch:
            early = None
        hellos = self.state.hellos
        for node in ring:
            if node in hellos:
                hellos = hellos.delete(node)
        self.set(
            epoch=line.epoch, ring=ring, early=early, seekers=frozenset(), hellos=hellos, quiet=0, calm=1, failures=0
        )
        self.begin_ring()
        self.tell(ViewBegan(line.epoch, ring))

    def begin_ring(self) -> None:
        """Begin in the ring as one that does not have the token."""
        if self.me in self.state.ring and not self.state.is_gone:
            # Numbers of requests of a former life in this epoch must not be used again.
            inner, _ = self.ring.start((), self.state.life + 1)
            self.set(inner=inner)

    def refresh(self) -> None:
        """Note that there is news of the token."""
        if not self.state.is_fresh:
            self.set(is_fresh=True)
        if self.state.is_seeking:
            self.stop_electing()

    def answer_seekers(self) -> None:
        """Tell those who want to know that the token is here."""
        if self.state.seekers:
            for node in sorted(self.state.seekers):
                self.hint(node, Seen(self.state.epoch))
            self.set(seekers=frozenset())

    # ------------------------------------------------------------------------------------------------ the log

    def lines_from(self, first: int, epoch: Epoch) -> Append:
        """Give the lines from `first` on, for one who has those before; if they are many, the first of them."""
        log = self.state.log
        first = min(max(first, log.base), log.length)
        lines = log.some_between(first, log.length, self.config.max_bytes)
        is_whole = first + len(lines) == log.length
        return Append(epoch, first, log.epoch_before(first), lines, self.state.committed, is_whole=is_whole)

    def all_from(self, first: int, epoch: Epoch) -> Append:
        """Give the lines from `first` on, for one who may have nothing before them."""
        append = self.lines_from(first, epoch)
        return replace(append, members=tuple(sorted(self.state.log.members_at(append.first).items())))

    def commit(self, length: int) -> None:
        """Tell the user of lines that are safe now."""
        state = self.state
        if length <= state.committed:
            return
        self.set(committed=length)
        for place in range(state.committed, length):
            entry = state.log.lines[place].entry
            if type(entry) is Said:
                is_own = entry.origin == self.me and entry.life == state.life
                if is_own:
                    self.set(outbox=self.state.outbox[1:], appended=max(0, self.state.appended - 1))
                self.tell(Delivered(place, entry.origin, entry.number, entry.data, is_own))
            elif type(entry) is Member:
                self._on_member(place, entry)

    def _on_member(self, place: int, member: Member) -> None:
        self.tell(MemberChanged(place, member.node, member.where, member.is_member))
        self.set(changes=tuple(change for change in self.state.changes if change != member))


__all__ = ["Desk", "ring_for"]
