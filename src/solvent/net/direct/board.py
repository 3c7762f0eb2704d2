"""All connections of one node, worked by one thread at a time.

A node dials another when it first has something to say to it, and writes only to connections that it has dialled; so
two nodes that dial each other at the same moment need not agree on one of them. Nothing blocks but `poll`, which may be
waited for by one thread while another one sends.

*Watching.* Of nodes that are watched something must be heard at least every `patience` seconds: where nothing comes by
itself they are asked. A node is told as lost once: when nobody listens any more where it was, or when it is silent for
too long. If this process itself was stopped meanwhile, that time does not count against others.
"""

from __future__ import annotations

import select
import socket
import time
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

from solvent.errors import NodeProblem
from solvent.net.addresses import Address, address_from_text, text_from_address
from solvent.net.direct.caller import Caller
from solvent.net.direct.clock import NEVER, Clock
from solvent.net.direct.places import listen, tune
from solvent.net.direct.way import Phase, Way
from solvent.net.handshake import Births
from solvent.net.transport import Complain, Counters, Deliver, PeerFault
from solvent.protocols import channel
from solvent.protocols.channel import Session
from solvent.protocols.machine import Cheap, NodeId

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from solvent.net.codec import Codec
    from solvent.net.handshake import Identity

MAX_ACCEPTED = 64
"""Connections taken at a time, before those that are there are looked at again."""
ASKS_PER_PATIENCE = 4
MAX_WAITING = 100_000
"""Messages that may wait for a node before it is told."""
_WATCH = "watch"


class OnEvent(Protocol):
    """Whatever has a socket."""

    def on_event(self, mask: int) -> None:
        """Do what can be done now."""

    def abandon(self) -> None:
        """Close it, in a copy of the process."""


class Door:
    """A socket that takes connections."""

    def __init__(self, board: Board, listening: socket.socket) -> None:
        self._board = board
        self._listening = listening

    def on_event(self, mask: int) -> None:
        """Let them in."""
        del mask
        board = self._board
        for _ in range(MAX_ACCEPTED):
            try:
                line, address = self._listening.accept()
            except OSError:
                # Nobody is left, or somebody is gone already, or there are no more files to be had.
                return
            line.setblocking(False)
            tune(line)
            caller = Caller(board, line, f"{address[0]}:{address[1]}" if isinstance(address, tuple) else "somebody")
            if not caller.is_closed:
                board.lines[line.fileno()] = caller
                board.poll.register(line, select.EPOLLIN)

    def abandon(self) -> None:
        """Close it."""
        self._listening.close()


class Board:
    """Connections, and who is at their other ends."""

    def __init__(
        self,
        identity: Identity,
        codec: Codec,
        *,
        listen: Address,
        find: Callable[[NodeId], Address | None],
        births: Births | None = None,
    ) -> None:
        self.identity = identity
        self.codec = codec
        self.address = listen
        self.births = births or Births()
        self.counters = Counters()
        self.clock = Clock()
        self.now = time.monotonic()
        self.poll = select.epoll()
        self.lines = dict[int, OnEvent]()
        self.strangers = set[Caller]()
        self.known = dict[NodeId, Caller]()
        #: When something was last heard of a node.
        self.heard = dict[NodeId, float]()
        #: Connections over which it is to be said at the end of the turn how many frames were taken.
        self.owing = set[Caller]()
        self.deliver: Deliver = lambda _, __: None
        self.tell: Complain = lambda _: None
        self.lose: Callable[[NodeId, str], None] = lambda _, __: None
        #: Told of a node that has restarted, and what has everything forgotten that was said to it.
        self.restart: Callable[[NodeId, Callable[[], None]], None] = lambda _, forget: forget()
        self._find = find
        #: Where nodes say that they are; for those that nobody else knows.
        self.said = dict[NodeId, Address]()
        self._sessions = dict[NodeId, Session]()
        self._ways = dict[NodeId, Way]()
        #: Those to whom something is to be handed over.
        self.used = dict[NodeId, Way]()
        self._forgotten = set[NodeId]()
        self._watched = frozenset[NodeId]()
        self._patience = 0.0
        self._looked_at = 0.0
        self._doors = list[socket.socket]()

    def open(self, *, life: int) -> None:
        """Listen, as a node in one of its lives; raise `NodeProblem` where that is not possible."""
        self._doors, self.address = listen(self.address)
        for door in self._doors:
            self.lines[door.fileno()] = Door(self, door)
            self.poll.register(door, select.EPOLLIN)
        where = self.identity.where or text_from_address(self.address)
        # A node that has forgotten what it took would be sent the wrong rest: it is not the same any more.
        birth = self.identity.birth or ("" if life else token_hex(8))
        self.identity = replace(self.identity, where=where, birth=birth, life=life)

    # ------------------------------------------------------------------------------------------------- messages

    def send(self, to: NodeId, message: Any) -> None:
        """Take a message to be sent at the next `flush`."""
        way = self._ways.get(to)
        if way is None:
            if to in self._forgotten:
                self.counters.messages_dropped += 1
                return
            way = self._way_to(to)
        self.used[to] = way
        waiting = way.session.waiting
        if type(message) is Cheap:
            if len(waiting) >= MAX_WAITING:
                self.counters.messages_dropped += 1
                return
            message = message.message
        waiting.append(message)
        if len(waiting) == MAX_WAITING:
            self.complain(PeerFault(f"node {to}", f"{MAX_WAITING} messages wait for it"))

    def flush(self) -> None:
        """Hand over what was taken; to whom something was said last, first. Then say what was taken of others.

        Whoever gets something may run at once in this process's place. What was said last is what was wanted here, such
        as a lock that is released; what came of others' messages before it can wait.
        """
        used = self.used
        if used:
            self.used = {}
            for way in reversed(used.values()):
                way.flush()
        if self.owing:
            owing, self.owing = self.owing, set()
            for caller in owing:
                caller.say_taken()

    def take(self, events: Iterable[tuple[int, int]]) -> None:
        """Do what can be done, as the system says."""
        lines = self.lines
        for number, mask in events:
            line = lines.get(number)
            if line is not None:
                line.on_event(mask)

    def is_flushed(self) -> bool:
        """Whether nothing waits for a connection that is there or is being made."""
        return not any(
            way.phase is Phase.FULL or (way.session.waiting and way.phase is not Phase.DOWN)
            for way in self._ways.values()
        )

    # ---------------------------------------------------------------------------------------------- other nodes

    def forget(self, node: NodeId) -> None:
        """Say nothing to a node any more, and hear nothing of it."""
        self._forgotten.add(node)
        self.used.pop(node, None)
        self.heard.pop(node, None)
        if node in self._watched:
            # Whoever has it watched waits for something, and is told soon.
            self.heard[node] = -NEVER
        self._sessions.pop(node, None)
        way, caller = self._ways.pop(node, None), self.known.get(node)
        if way is not None:
            way.close()
        if caller is not None:
            caller.close()

    def address_of(self, node: NodeId) -> Address | None:
        """Tell where to look for a node."""
        return self._find(node) or self.said.get(node)

    def session(self, node: NodeId) -> Session:
        """Return what this node knows of its exchange with another."""
        return self._sessions.setdefault(node, Session())

    def life_of(self, node: NodeId) -> int:
        """Return the life that a node was last met in; 0 if it was not."""
        session = self._sessions.get(node)
        return 0 if session is None else session.life

    def meet(self, node: NodeId, life: int, line: Way | Caller) -> None:
        """Hear over a connection which life a node is in; raise `Outdated` if that is over."""
        session = self.session(node)
        if not channel.has_restarted(session, life):
            return

        def forget() -> None:
            channel.restart(session, life)
            way, caller = self._ways.get(node), self.known.get(node)
            if way is not None and way is not line:
                way.on_restarted()
            if caller is not None and caller is not line:
                caller.close()

        self.restart(node, forget)

    def greet(self, nodes: Iterable[NodeId]) -> None:
        """Have these nodes hear of this one, though there may be nothing to say to them."""
        for node in nodes:
            if node != self.identity.node and node not in self._forgotten:
                self._way_to(node).greet()

    def settle(self, nodes: Iterable[NodeId]) -> None:
        """Tell nodes what was taken of them, and ask the same."""
        for node in nodes:
            caller, way = self.known.get(node), self._ways.get(node)
            if caller is not None:
                self.owing.add(caller)
            if way is not None:
                way.ask()

    def is_settled(self, nodes: Iterable[NodeId]) -> bool:
        """Whether these nodes have taken all that was said to them."""
        sessions = [self._sessions[node] for node in nodes if node in self._sessions]
        return not any(session.waiting or session.kept for session in sessions)

    def rest(self, node: NodeId) -> None:
        """Dial a node no more, until there is something new to say to it, or it is heard of."""
        way = self._ways.get(node)
        if way is not None:
            way.rest()

    def on_met(self, node: NodeId, where: str) -> None:
        """Note where a node is, and answer one that came back without waiting for the next attempt to reach it."""
        self.heard[node] = self.now
        with suppress(NodeProblem):
            self.said[node] = address_from_text(where)
        way = self._ways.get(node)
        if way is not None:
            way.hurry()

    def number_of(self, node: NodeId | None) -> int:
        """Give the number of the connection over which a node speaks; -1 where there is none."""
        caller = None if node is None else self.known.get(node)
        return -1 if caller is None else caller.fileno()

    def is_forgotten(self, node: NodeId) -> bool:
        """Whether a node was given up."""
        return node in self._forgotten

    def on_refused(self, node: NodeId) -> None:
        """Hear that nobody listens where a node was."""
        if node in self._watched:
            self._lose(node, "nobody listens where it was")

    def complain(self, fault: PeerFault) -> None:
        """Count nonsense and tell of it."""
        self.counters.peer_faults += 1
        self.tell(fault)

    def too_large(self, message: Any) -> None:
        """Tell that a message cannot be sent."""
        self.counters.messages_dropped += 1
        reason = f"a message `{type(message).__name__}` too large for a frame: not sent"
        self.tell(PeerFault(f"node {self.identity.node}", reason))

    # ------------------------------------------------------------------------------------------------- watching

    def watch(self, peers: Iterable[NodeId], patience: float) -> None:
        """Watch these nodes and no others."""
        before, self._watched = self._watched, frozenset(peers) - {self.identity.node}
        self._patience, self._looked_at = patience, self.now
        for node in sorted(self._watched - before):
            if node in self._forgotten:
                self.heard[node] = -NEVER
            else:
                self.heard[node] = self.now
                # Where there is a line, it is asked when it has been silent for a while.
                self._way_to(node).dial()
        if self._watched:
            self.clock.set(_WATCH, self.now + patience / ASKS_PER_PATIENCE, self._look)
        else:
            self.clock.stop(_WATCH)

    def is_watched(self, node: NodeId) -> bool:
        """Whether a node is watched."""
        return node in self._watched

    def _look(self, _: Any) -> None:
        """Ask those that were not heard of, and give up those that do not answer."""
        pause = self._patience / ASKS_PER_PATIENCE
        # Time in which this process did not run says nothing about others.
        stopped = max(0.0, self.now - self._looked_at - 2 * pause)
        self._looked_at = self.now
        for node in sorted(self._watched):
            if stopped:
                self.heard[node] += stopped
            silent = self.now - self.heard[node]
            if silent > self._patience:
                self._lose(node, f"it was silent for {self._patience:g} seconds")
            elif silent > pause / 2:
                self._way_to(node).ask()
        if self._watched:
            self.clock.set(_WATCH, self.now + pause, self._look)

    def _way_to(self, node: NodeId) -> Way:
        way = self._ways.get(node)
        if way is None:
            way = self._ways[node] = Way(self, node, self.session(node))
        return way

    def _lose(self, node: NodeId, why: str) -> None:
        self._watched -= {node}
        self.lose(node, why)

    # --------------------------------------------------------------------------------------------------- closing

    def close(self) -> None:
        """Close all connections."""
        for way in list(self._ways.values()):
            way.close()
        for caller in (*self.strangers, *self.known.values()):
            caller.close()
        for door in self._doors:
            door.close()
        self.lines.clear()
        self.clock.clear()
        self.poll.close()

    def abandon(self) -> None:
        """Close what a copy of this process has of it, without a word to those that are connected."""
        for line in self.lines.values():
            line.abandon()
        self.poll.close()


__all__ = ["ASKS_PER_PATIENCE", "MAX_ACCEPTED", "Board", "OnEvent"]
