"""Runs one machine without an event loop: whoever waits works (see `threads`); or within one (`attach`).

Whatever goes wrong in the machine or in the application ends the host, and everybody who waits or wants something gets
it. What a peer does wrong is dropped and told (`PeerFault`). Ctrl-C interrupts a wait, and never a step (see `shield`).
A copy of the process (`fork`) has nothing of the host but the memory; there it is closed.
"""

from __future__ import annotations

import atexit
import os
import weakref
from contextlib import suppress
from threading import get_ident
from typing import TYPE_CHECKING, Any, Generic, Protocol

from solvent.errors import Misuse
from solvent.net.direct.attached import Attached
from solvent.net.direct.board import Board
from solvent.net.direct.shield import SHIELD
from solvent.net.direct.steps import Steps
from solvent.net.direct.threads import MAX_EVENTS, Working
from solvent.protocols.machine import Machine, NodeId, Requested, State

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from solvent.net.addresses import Address
    from solvent.net.codec import Codec
    from solvent.net.handshake import Births, Identity
    from solvent.net.journal import Journal
    from solvent.net.transport import Counters

PATIENCE_SECONDS = 5.0
MAX_CLOSE_SECONDS = 2.0
"""How long `close` tries to get rid of what was said."""
_HOSTS = weakref.WeakSet["DirectHost[Any]"]()


class DirectApplication(Protocol):
    """Whoever a machine serves. It is called by whichever thread works, and nobody else works meanwhile."""

    def answer(self, question: Any) -> Any:
        """Answer what the machine asks, at once."""

    def told(self, outcome: Any) -> None:
        """Hear what the machine reports, and of peers' faults."""

    def lost(self, peer: NodeId, why: str) -> None:
        """Hear that a node that is watched is not to be reached any more."""


class DirectHost(Generic[State]):
    """One machine, worked by those who wait for it.

    Port 0 takes any free one; `address` tells which, as soon as the host is started.
    """

    def __init__(
        self,
        machine: Machine[State] | None,
        identity: Identity,
        codec: Codec,
        *,
        listen: Address,
        application: DirectApplication,
        find: Callable[[NodeId], Address | None] = lambda _: None,
        journal: Journal | None = None,
        births: Births | None = None,
        on_end: Callable[[BaseException | None], None] = lambda _: None,
    ) -> None:
        """`on_end` is told once when the host is over, with what ended it unless it was closed."""
        self._board = board = Board(identity, codec, listen=listen, find=find, births=births)
        self._steps = steps = Steps(machine, board, application, journal)
        board.deliver, board.restart = steps.deliver, steps.restart
        board.tell, board.lose = application.told, application.lost
        self._working: Working | Attached = Working(board, steps, self._over)
        self._on_end = on_end
        self._journal = journal
        self._has_shield = False

    @property
    def address(self) -> Address:
        """Where the node listens."""
        return self._board.address

    @property
    def state(self) -> State:
        """The machine's state, to be looked at."""
        if self._steps.state is None:
            raise Misuse("P321", "the node has not been started")
        return self._steps.state

    @property
    def counters(self) -> Counters:
        """What the node has done so far."""
        return self._board.counters

    @property
    def is_running(self) -> bool:
        """Whether it has been started and is not over."""
        return self._working.is_running

    @property
    def is_flushed(self) -> bool:
        """Whether nothing waits for a connection that is there or is being made."""
        return self._board.is_flushed()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Listen, and have an event loop do all the work; to be called in its thread, as all else then.

        Others are shaken hands with from now on, and what they say waits for `start`. Nothing may wait (`wait`), and
        what goes wrong is told to `on_end` alone.
        """
        self._working = working = Attached(self._board, self._steps, self._over, loop)
        self._open()
        working.open()

    def start(self, machine: Machine[State] | None = None) -> None:
        """Listen, start the machine, and serve others from then on.

        The machine may be given here, when it is known where the host listens (`attach`).
        """
        self._steps.machine = machine or self._steps.machine
        if isinstance(self._working, Working):
            self._open()
            self._has_shield = SHIELD.install()
        self._working.start()

    def _open(self) -> None:
        journal = self._journal
        if journal is not None and not journal.is_open:
            journal.open()
        self._board.open(life=0 if journal is None else journal.life)
        _HOSTS.add(self)

    def request(self, request: Any, *, is_last: bool = False) -> None:
        """Tell the machine that something is wanted: at once, or behind the step that this thread is in.

        What is wanted as the last comes behind what others have said, where others have things done here.
        """
        steps, working = self._steps, self._working
        if working.owner == get_ident():
            steps.own.append(Requested(request))
        else:
            told = steps.told
            working.in_turn(self._take_last if is_last and working.is_serving else self._take_request, request)
            if steps.told != told:
                working.give_way()

    def wait(self, is_done: Callable[[], bool], timeout: float | None = None) -> bool:
        """Work until something is done, or so many seconds have passed; tell whether it is done.

        `is_done` is called by whichever thread works, and must not raise. It may be so when all is over.
        """
        if self._working.owner == get_ident():
            raise Misuse("P350", "whoever is told something must not wait: the node stands still meanwhile")
        return self._working.wait(is_done, timeout)

    def wake(self) -> None:
        """Have those that wait look whether what they wait for has happened, outside the machine."""
        self._call(lambda: None)

    def watch(self, peers: Iterable[NodeId], *, patience: float = PATIENCE_SECONDS) -> None:
        """Keep a line to these nodes, and no others, and tell the application which are lost."""
        self._call(lambda: self._board.watch(peers, patience))

    def greet(self, nodes: Iterable[NodeId]) -> None:
        """Have these nodes hear that this one is there: after a restart, what was said to its former life is lost."""
        self._call(lambda: self._board.greet(nodes))

    def settle(self, nodes: Iterable[NodeId]) -> bool:
        """Tell these nodes what was taken of them, and ask the same; tell whether they have taken all."""
        nodes = tuple(nodes)
        self._call(lambda: self._board.settle(nodes))
        return self._board.is_settled(nodes)

    def said_address(self, node: NodeId) -> Address | None:
        """Tell where a node says that it is, if it was met."""
        return self._board.said.get(node)

    def rest(self, node: NodeId) -> None:
        """Dial a node no more, until there is something new to say to it, or it is heard of."""
        self._call(lambda: self._board.rest(node))

    def forget(self, node: NodeId) -> None:
        """Have nothing to do with a node any more."""
        self._call(lambda: self._board.forget(node))

    def close(self) -> None:
        """Send what was said, as far as it is taken soon, and end the host. Nothing happens afterwards.

        Whoever is interrupted meanwhile has ended it, or can close it again.
        """
        working = self._working
        if working.is_mine():
            raise Misuse("P350", "whoever is told something must not close the node: it is in the middle of a step")
        try:
            # Whatever has ended it, or ends it meanwhile, has been told to whom it concerns.
            if working.is_running:
                with suppress(Exception):
                    working.wait(self._board.is_flushed, MAX_CLOSE_SECONDS)
        finally:
            working.stop()
            SHIELD.give_back()
            working.join(MAX_CLOSE_SECONDS)

    def _take_request(self, request: Any) -> None:
        self._steps.take(Requested(request))
        board = self._board
        if not board.used:
            # Nobody else is to do anything. What has come is taken at once: whoever has a lock in a loop would else
            # never hear that others want it. Who has said something to others is about to listen anyway.
            board.take(board.poll.poll(0, MAX_EVENTS))

    def _take_last(self, request: Any) -> None:
        # Whoever gives turns to others would else be in time for the next one before those that had theirs earlier.
        self._board.take(self._board.poll.poll(0, MAX_EVENTS))
        self._steps.take(Requested(request))

    def _call(self, what: Callable[[], None]) -> None:
        if self._working.is_mine():
            what()
        else:
            self._working.in_turn(what)

    def _over(self, fault: BaseException | None) -> None:
        """Have nothing open any more."""
        _HOSTS.discard(self)
        if self._has_shield:
            SHIELD.remove()
        self._board.close()
        if self._journal is not None:
            self._journal.close()
        self._on_end(fault)

    def _abandon(self) -> None:
        """Have nothing of it any more, in a copy of the process; those that are connected hear nothing."""
        self._working.abandon(Misuse("P351", "the node belongs to the process that this one is a copy of"))
        self._board.abandon()


def _abandon_all() -> None:
    SHIELD.forget()
    for host in list(_HOSTS):
        host._abandon()  # noqa: SLF001
    _HOSTS.clear()


def _close_all() -> None:
    for host in list(_HOSTS):
        # The loop of one that is attached is closed by now.
        with suppress(RuntimeError):
            host.close()


os.register_at_fork(after_in_child=_abandon_all)
atexit.register(_close_all)

__all__ = ["MAX_CLOSE_SECONDS", "PATIENCE_SECONDS", "DirectApplication", "DirectHost"]
