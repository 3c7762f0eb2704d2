"""The machine of a node: takes events one at a time and has their effects carried out, in order.

Whoever calls has the host's mutex. Without a journal, effects are carried out at once, but for what goes over the
network: that is put together for each peer and written when the turn is over. With a journal, what is said and told
waits until what was saved before is safe; the journal is written once for a turn, or before a question.
"""

from __future__ import annotations

import random
from collections import deque
from typing import TYPE_CHECKING, Any, Generic, assert_never

from solvent.protocols.machine import (
    Answered,
    Ask,
    CancelTimer,
    Choose,
    Chosen,
    Effects,
    Event,
    Machine,
    NodeId,
    PeerRestarted,
    Received,
    Report,
    Save,
    Send,
    SetTimer,
    State,
    Step,
    TimerFired,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from solvent.net.direct.board import Board
    from solvent.net.host import Application
    from solvent.net.journal import Journal

MAX_OWN = 512
"""Events of its own making that a node takes before it looks at its connections again."""


class Steps(Generic[State]):
    """A machine and its effects."""

    def __init__(
        self, machine: Machine[State] | None, board: Board, application: Application, journal: Journal | None = None
    ) -> None:
        self.state: State | None = None
        self.own = deque[Event]()
        #: How often the application was told something.
        self.told = 0
        #: Whose message it last was told something for.
        self.teller: NodeId | None = None
        self.machine = machine
        self._step: Callable[[State, Event], Step[State]]
        self._board = board
        self._counters = board.counters
        self._application = application
        self._journal = journal
        self._me = board.identity.node
        self._first = deque[Event]()
        self._behind = list[Send | Report]()
        self._chance = random.SystemRandom()

    def start(self) -> None:
        """Begin."""
        journal = self._journal
        if journal is not None and not journal.is_open:
            journal.open()
        saved, life = (journal.saved, journal.life) if journal is not None else ((), 0)
        assert self.machine is not None
        self.state, effects = self.machine.start(saved, life)
        # Some machines have it from then on only.
        self._step = self.machine.step
        self._carry_out(effects)
        self._answer()

    def take(self, event: Event) -> None:
        """Take one event, and the answers to what the machine asks about it."""
        self._counters.steps += 1
        self.state, effects = self._step(self.state, event)  # type: ignore[arg-type]
        if effects:
            self._carry_out(effects)
            if self._first:
                self._answer()

    def deliver(self, sender: NodeId, messages: Sequence[Any]) -> None:
        """Take messages of another node."""
        at, told = int(self._board.now * 1000), self.told
        for message in messages:
            self.take(Received(sender, message, at))
        if self.told != told:
            self.teller = sender

    def restart(self, peer: NodeId, forget: Callable[[], None]) -> None:
        """Tell the machine that a node has restarted; what was said to its former life is forgotten."""
        # Also what waits for the journal: it was said before the machine knew.
        self._say()
        forget()
        if self.state is None:
            self.own.append(PeerRestarted(peer))
        else:
            self.take(PeerRestarted(peer))

    def finish(self) -> None:
        """End a turn: take what came of itself, write what was saved, send what was said.

        Before the machine has begun nothing is said, not even what was taken; so others say nothing either.
        """
        if self.state is None:
            return
        if self.own:
            self._take_own()
        if self._journal is not None:
            self._say()
        board = self._board
        if board.used or board.owing:
            board.flush()

    def _take_own(self) -> None:
        own = self.own
        for _ in range(MAX_OWN):
            self.take(own.popleft())
            if not own:
                return

    def _answer(self) -> None:
        """Take answers, before anything else."""
        first = self._first
        while first:
            self._counters.steps += 1
            self.state, effects = self._step(self.state, first.popleft())  # type: ignore[arg-type]
            self._carry_out(effects)

    def _carry_out(self, effects: Effects) -> None:
        board, has_journal = self._board, self._journal is not None
        for effect in effects:
            kind = type(effect)
            if kind is Send or kind is Report:
                if has_journal:
                    self._behind.append(effect)  # type: ignore[arg-type]
                elif kind is Send and effect.to != self._me:  # type: ignore[union-attr]
                    board.send(effect.to, effect.message)  # type: ignore[union-attr]
                else:
                    self._do(effect)  # type: ignore[arg-type]
                continue
            match effect:
                case SetTimer(name, after):
                    board.clock.set(name, board.now + after / 1000, self._on_timer)
                case CancelTimer(name):
                    board.clock.stop(name)
                case Save(record):
                    self._save(record)
                case Choose(options):
                    self._first.append(Chosen(self._chance.randrange(options)))
                case Ask(question):
                    self._say()
                    self._first.append(Answered(self._application.answer(question)))
                case Send() | Report():
                    self._do(effect)
                case _:
                    assert_never(effect)

    def _do(self, effect: Send | Report) -> None:
        if type(effect) is Send:
            if effect.to == self._me:
                self.own.append(Received(self._me, effect.message, int(self._board.now * 1000)))
            else:
                self._board.send(effect.to, effect.message)
        else:
            self.told += 1
            self._application.told(effect.outcome)  # type: ignore[union-attr]

    def _save(self, record: Any) -> None:
        self._counters.records_saved += 1
        journal = self._journal
        if journal is not None:
            if self._behind and not journal.is_pending:
                # What was to be said before a record must not be lost with it.
                self._say()
            journal.append(record)

    def _say(self) -> None:
        if self._journal is None:
            return
        self._journal.commit()
        if self._behind:
            # Taken out first: whoever is told may have the node do more.
            said = tuple(self._behind)
            self._behind.clear()
            for effect in said:
                self._do(effect)

    def _on_timer(self, name: str) -> None:
        self.take(TimerFired(name, int(self._board.now * 1000)))


__all__ = ["MAX_OWN", "Steps"]
