"""Insertions: a new process gets its rank from the root, and a seat.

It says hello to any process that it knows. That sends it up to the root, which gives it the highest rank so far. Then,
in a tree of order m, the root looks for a seat: it goes down to the lightest child again and again, until it finds a
process with fewer than m children. On the way everybody counts the new process in, so that many that come at once
spread over the tree. In a lazy tree the new process asks the one that it knows for a seat, and only if that has m
children already the way goes down from there. (Without this limit a process may have any number of children, and the
exchange of seats costs as many messages.)

Nobody is held for an insertion. What is on its way up or down waits its turn in the queues, as everything does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.protocols.elmp.departure import Departing
from solvent.protocols.elmp.desk import IDLE
from solvent.protocols.elmp.messages import Adopt, Attach, Enter, Hello, Own, Ranked, Unknown, Welcome
from solvent.protocols.elmp.state import Joining, Out
from solvent.protocols.elmp.vocabulary import Astray, Dropped, Joined, Left

if TYPE_CHECKING:
    from solvent.protocols.machine import NodeId


class Inserting(Departing):
    """A process that joins, or helps others to."""

    def on_join(self, known: NodeId) -> None:
        """Say hello to a process that is known."""
        if type(self.phase) is Out:
            self.phase = Joining(known)
            self.send(known, Hello())

    def on_enter(self, message: Enter) -> None:
        """Send a new process up, or give it its rank."""
        if not self.is_root:
            assert self.parent is not None
            self.send(self.parent, message)
            return
        self.ranks += 1
        if self.config.is_lazy:
            self.send(message.newcomer, Ranked(self.ranks))
        else:
            self.find_seat(message.newcomer, self.ranks)

    def find_seat(self, newcomer: NodeId, rank: int) -> None:
        """Take a new process for a child, or send it down to where fewest are."""
        self.is_reshaped = True
        if len(self.children) < self.config.order:
            self.children[newcomer] = (0, 1)
            self.send(newcomer, Welcome(rank))
            return
        lightest = min(self.children, key=lambda node: (self.children[node][1], self.children[node][0], node))
        height, weight = self.children[lightest]
        self.children[lightest] = (height, weight + 1)
        self.send(lightest, Adopt(newcomer, rank))

    def on_newcomer_message(self, sender: NodeId, message: Ranked | Welcome | Unknown) -> None:
        """Go on with joining."""
        assert isinstance(self.phase, Joining)
        match message:
            case Ranked(rank):
                self.send(self.phase.known, Attach(self.me, rank))
            case Welcome(rank):
                self.parent, self.rank, self.phase = sender, rank, IDLE
                self.report(Joined(rank))
            case _:
                self.report(Astray(self.phase.known))
                self.give_up()

    def give_up(self) -> None:
        """Take no part after all, and drop what was wanted for when it would."""
        for _, message in self.queue:
            if isinstance(message, Own):
                self.report(Dropped(message.handle))
        self.queue = []
        if self.departure is not None:
            self.report(Left())
        self.phase, self.departure = Out(), None


__all__ = ["Inserting"]
