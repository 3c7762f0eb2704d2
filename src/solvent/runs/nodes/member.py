"""A process that has nodes of a run by lease, and takes over those of others that have died.

All members are alike. Each has a heartbeat in the store, looks at who has which node, and takes what nobody has, or
somebody who is presumed dead: it opens the node's journal, which begins the node's next life and shuts out whoever
had it before, and goes on from there. A member that has nothing (a spare) comes first; others wait for
a beat of their heartbeat. Nobody else is needed: the run goes on as long as one member does.

A member that was only stopped finds out at its next word: the journal refuses it (`store_journal`).
"""

from __future__ import annotations

import asyncio
import os
import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.engine.reaction import Stopped
from solvent.errors import Conflict, SolventError, StoreError
from solvent.net import Identity, TcpTransport, address_from_text, text_from_address
from solvent.protocols.machine import NodeId
from solvent.runs.nodes.node import problem_from
from solvent.runs.nodes.shared import FAILED, INERT, Board, Ending, Seen, SharedRun
from solvent.runs.nodes.work import Work
from solvent.store.leases import HEARTBEATS_PER_TTL, Heartbeat, Heartbeats, Lease

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.lang.functions import Functions
    from solvent.net import Address, Codec, Transport
    from solvent.net.tls import Tls
    from solvent.runs.nodes.control import Part, Status
    from solvent.runs.nodes.store_journal import StoreJournal
    from solvent.store.heartbeat import HeartbeatProcess

_TOGETHER_SECONDS = 0.02
"""How long a look waits for more news."""
_LOOKS_PER_BEAT = 4
"""How often a member looks while there is a node that it may take soon."""
_PASSING = frozenset({"E402", "E403", "E409", "E410"})
"""What is wrong with a store for a while only, or with this member: somebody starts the node again."""


class InStore:
    """Where a node keeps its part and its journal, as long as it is this member's."""

    def __init__(self, board: Board, node: int, revision: int, *, is_sure: Callable[[float], bool]) -> None:
        self._board = board
        self._node = node
        self._revision = revision
        self._is_sure = is_sure
        self.opened: StoreJournal | None = None

    def journal(self, record_type: Any) -> StoreJournal:
        """Give the journal, not open yet."""
        self.opened = self._board.journal(self._node, record_type, is_sure=self._is_sure)
        return self.opened

    def save(self, part: Part) -> None:
        """Keep the part instead of the one before, unless another member has done so."""
        with suppress(Conflict):
            self._revision = self._board.save_part(part, expected=self._revision)


class Hosted:
    """A node that a member has."""

    def __init__(self, node: int, lease: Lease) -> None:
        self.node = node
        self.lease = lease
        self.phase = "empty"
        self.is_stopping = False
        self.work: Work | None = None
        self.watching: asyncio.Task[None] | None = None
        self.noted: Status | None = None


class Member:
    """One member; `run` is its whole life, in an event loop."""

    def __init__(
        self,
        board: Board,
        record: SharedRun,
        name: str,
        functions: Functions,
        *,
        first: int | None = None,
        host: str = "127.0.0.1",
        url: str = "",
        tls: Tls | None = None,
        heartbeat: HeartbeatProcess | None = None,
    ) -> None:
        """`first` is the node it begins with; `url` that of the NATS servers, where nodes talk by them.

        `heartbeat` beats for it, whatever functions do; without one a thread does.
        """
        self.name = name
        self.hosted: dict[int, Hosted] = {}
        self._board = board
        self._record = record
        self._functions = functions
        self._first = first
        self._host = host
        self._url = url
        self._tls = tls
        self._heartbeat = Heartbeat(board.store, name, ttl=record.ttl, process=heartbeat)
        self._heartbeats = Heartbeats(board.store, ttl=record.ttl)
        self._addresses: dict[NodeId, Address] = {}
        #: Since when nodes could be taken, and until when not again after something went wrong with them.
        self._free_since: dict[int, float] = {}
        self._not_before: dict[int, float] = {}
        self._to_release: list[Lease] = []
        self._is_leaving = False
        self._wakes: asyncio.Event | None = None

    def leave(self) -> None:
        """Let others have everything, soon; called in the loop."""
        self._is_leaving = True
        for one in self.hosted.values():
            one.is_stopping = True
        if self._wakes is not None:
            self._wakes.set()

    async def run(self) -> None:
        """Take part until the run is over, or until it leaves."""
        self._wakes = asyncio.Event()
        with self._heartbeat, self._board.store.watch([self._board.below]) as watch:
            waiting: asyncio.Future[Any] | None = None
            while not self._is_leaving:
                ending = await self._turn()
                if ending is not None:
                    await self._leave(ending)
                    return
                waiting = waiting or asyncio.ensure_future(asyncio.to_thread(self._wait, watch))
                woken = asyncio.ensure_future(self._wakes.wait())
                await asyncio.wait((waiting, woken), return_when=asyncio.FIRST_COMPLETED)
                woken.cancel()
                if waiting.done():
                    waiting = None
                    await asyncio.sleep(_TOGETHER_SECONDS)
            await self._leave(None)

    def _wait(self, watch: Any) -> None:
        seconds = self._record.ttl / HEARTBEATS_PER_TTL
        try:
            watch.wait(seconds / _LOOKS_PER_BEAT if self._free_since else seconds)
        except StoreError:
            time.sleep(self._record.ttl / HEARTBEATS_PER_TTL)

    # --- A turn.

    async def _turn(self) -> Ending | None:
        """See what there is to do, and do it; give how the run has ended, if it has."""
        try:
            seen, taken = await asyncio.to_thread(self._look)
        except StoreError:
            # What is here stops by itself as soon as it has something to save.
            return None
        if seen.ending is not None:
            return seen.ending
        for node, text in seen.addresses.items():
            self._addresses[NodeId(node)] = address_from_text(text)
        for node, one in list(self.hosted.items()):
            holder = seen.holders.get(node)
            if holder is None or (holder.agent, holder.epoch) != (self.name, one.lease.epoch):
                await self._drop(one)
        for one in taken:
            await self._begin(one)
        await asyncio.to_thread(self._note_all, self._statuses())
        return None

    def _look(self) -> tuple[Seen, list[Hosted]]:
        while self._to_release:
            self._to_release[-1].release()
            self._to_release.pop()
        self._heartbeats.look()
        seen = self._board.look()
        taken = list[Hosted]()
        now = time.monotonic()
        if seen.ending is None and not self._is_leaving:
            for node in range(self._record.nodes):
                if node not in self.hosted and self._may_take(seen, node, now, len(self.hosted) + len(taken)):
                    lease = Lease(self._board.store, self._board.lease(node), self.name)
                    if lease.take(self._heartbeats, known=seen.holders.get(node)) is not None:
                        taken.append(Hosted(node, lease))
                        self._free_since.pop(node, None)
        return seen, taken

    def _may_take(self, seen: Seen, node: int, now: float, load: int) -> bool:
        holder, ttl = seen.holders.get(node), self._record.ttl
        is_new = holder is None
        if holder is not None and holder.agent and not self._heartbeats.is_presumed_dead(holder.agent):
            self._free_since.pop(node, None)
            return False
        if now < self._not_before.get(node, 0):
            return False
        if is_new and node == self._first:
            return True
        # Whoever has nothing comes first; and a node that nobody ever had has a member that is about to take it.
        since = self._free_since.setdefault(node, now)
        return now - since >= (ttl if is_new else 0.0) + (ttl / HEARTBEATS_PER_TTL if load else 0.0)

    def _is_sure(self, at: float) -> bool:
        """Say whether nobody can have taken a node over since it was this member's at some moment."""
        # A heartbeat may be fresh again after it was still for too long.
        return time.monotonic() - at < self._record.ttl / 2 and self._heartbeat.is_fresh()

    # --- Nodes.

    async def _begin(self, one: Hosted) -> None:
        """Start a node from its journal."""
        self.hosted[one.node] = one
        try:
            part, revision = await asyncio.to_thread(self._board.part, one.node)
            keeping = InStore(self._board, one.node, revision, is_sure=self._is_sure)
            work = one.work = Work(
                part,
                self._functions,
                keeping,
                self._connect,
                told_phase=lambda phase: self._on_phase(one, keeping, phase),
                should_stop=lambda: one.is_stopping,
            )
            await work.start(lambda: self._announce(one, work))
        except Exception as error:  # noqa: BLE001 - whoever waits for the run is told
            await self._on_error(one, error)
            return
        work.begin()
        one.watching = asyncio.get_running_loop().create_task(self._watch(one, work))

    async def _announce(self, one: Hosted, work: Work) -> None:
        transport = work.transport
        if isinstance(transport, TcpTransport):
            self._board.announce(one.node, text_from_address(transport.address))

    def _connect(self, part: Part, protocol: str, codec: Codec) -> Transport:
        identity = Identity(part.node, protocol, part.run, bytes.fromhex(self._record.secret))
        if self._record.transport == "nats":
            from solvent.runs.nodes.nats_transport import NatsTransport

            return NatsTransport(identity, codec, self._url)
        return TcpTransport(identity, codec, host=self._host, find=self._addresses.get, tls=self._tls)

    def _on_phase(self, one: Hosted, keeping: InStore, phase: str) -> None:
        one.phase = phase
        if phase == INERT and one.node == 0:
            assert keeping.opened is not None
            # One that was replaced must not have the last word.
            keeping.opened.check()
            self._board.end(INERT)

    async def _watch(self, one: Hosted, work: Work) -> None:
        try:
            await work.host.wait()
        except Stopped:
            pass
        except Exception as error:  # noqa: BLE001 - whoever waits for the run is told
            await self._on_error(one, error)

    async def _on_error(self, one: Hosted, error: Exception) -> None:
        if os.environ.get("SOLVENT_DEBUG"):
            import traceback

            traceback.print_exception(error, file=sys.stderr)
        one.watching = None
        await self._drop(one)
        self._not_before[one.node] = time.monotonic() + self._record.ttl / HEARTBEATS_PER_TTL
        try:
            if not isinstance(error, StoreError) or error.code not in _PASSING:
                await asyncio.to_thread(self._board.end, FAILED, problem_from(error))
            await asyncio.to_thread(one.lease.release)
        except StoreError:
            # The store cannot be told now.
            self._to_release.append(one.lease)

    async def _drop(self, one: Hosted) -> None:
        """Have a node no more: it is another's, or it is to be started anew."""
        if self.hosted.get(one.node) is one:
            del self.hosted[one.node]
        one.is_stopping = True
        if one.watching is not None:
            one.watching.cancel()
        if one.work is not None:
            with suppress(SolventError):
                await one.work.stop()

    async def _leave(self, ending: Ending | None) -> None:
        """Stop all nodes where they are, and let others have them."""
        for one in list(self.hosted.values()):
            one.is_stopping = True
        for one in list(self.hosted.values()):
            await self._drop(one)
            phase = INERT if ending is not None and ending.how == INERT else "halted"
            with suppress(SolventError):
                if one.work is not None and ending is not None:
                    await asyncio.to_thread(self._board.note, one.work.status(phase))
                await asyncio.to_thread(one.lease.release)

    def _statuses(self) -> list[tuple[Hosted, Status]]:
        """Give how the nodes are, if that has changed."""
        found: list[tuple[Hosted, Status]] = []
        for one in self.hosted.values():
            if one.work is not None and one.phase != "empty":
                status = one.work.status(one.phase)
                if one.noted is None or _told(status) != _told(one.noted):
                    found.append((one, status))
        return found

    def _note_all(self, statuses: list[tuple[Hosted, Status]]) -> None:
        for one, status in statuses:
            with suppress(StoreError):
                self._board.note(status)
                one.noted = status


def _told(status: Status) -> tuple[Any, ...]:
    return status.phase, status.mode, status.molecules, status.reactions, status.messages_sent, status.life


__all__ = ["Hosted", "InStore", "Member"]
