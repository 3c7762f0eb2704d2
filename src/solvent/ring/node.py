"""The node behind a ring: the machine in its link, on TCP, with its journal; and what becomes of its reports."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, NodeProblem, RingProblem, SolventError
from solvent.net import Codec, Host, Identity, PeerFault, TcpTransport, address_from_text, text_from_address
from solvent.net.handshake import FORGETFUL
from solvent.protocols.link import Linked, LinkFault, LinkState
from solvent.protocols.machine import NodeId
from solvent.protocols.token.group import group_node
from solvent.protocols.token.group.messages import (
    Confirmed,
    Delivered,
    Left,
    Locked,
    LockLost,
    MemberChanged,
    Retire,
    Skipped,
    ViewBegan,
)
from solvent.protocols.token.group.state import GroupConfig, GroupState
from solvent.protocols.token.messages import Moved
from solvent.protocols.token.node import TokenConfig
from solvent.ring.data import unpacked
from solvent.ring.hearing import Heard, RingMessage
from solvent.ring.locking import Queue
from solvent.ring.opening import PROTOCOL, WIRE, births_of, find_members, forgotten, meet_most, memory
from solvent.ring.saying import Said
from solvent.ring.standstill import Standstill

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.net import Address, Journal
    from solvent.ring.place import RingPlace

ACK_AFTER_MS = 50
"""A token's acknowledgement may wait for what goes back anyway; the link sends again after `RESEND_AFTER_MS`."""
RESEND_AFTER_MS = 200
MAX_ROW = 64
_POLL_SECONDS = 0.005
_MEMBERS_NEVER_LOST = 2
"""Of so few members no node can be left behind: the others are not most."""


class RingNode:
    """One node."""

    def __init__(self, place: RingPlace, watch: Callable[[Any], None] | None) -> None:
        self.place = place
        self._standstill = Standstill(self.ask_at_once, place.patience, self._can_be_lost)
        self.queue = Queue(self.ask_at_once, self._standstill)
        self.said = Said(self.ask)
        self.heard = Heard(place.kept)
        #: Set when the node is in the ring, and when it is a member no longer; both when it is over.
        self.is_in = asyncio.Event()
        self.is_out = asyncio.Event()
        self.is_closed = False
        self.holder: int | None = None
        self.moves_count = 0
        self.fault: BaseException | None = None
        self._watch = watch or (lambda _: None)
        self._host: Host[Any] | None = None
        self._transport: TcpTransport | None = None
        self._waiting: asyncio.Task[None] | None = None
        self._removed = dict[int, list[asyncio.Future[None]]]()

    # ------------------------------------------------------------------------------------- coming and going

    async def start(self) -> None:
        """Find or meet the others, and begin; a newcomer has begun when it is in the ring."""
        journal, birth = memory(self.place)
        try:
            await self._start(journal, birth)
        except BaseException:
            if journal is not None:
                journal.close()
            raise

    async def _start(self, journal: Journal | None, birth: str) -> None:
        place = self.place
        where = "" if place.address is None else text_from_address(place.address)
        identity = Identity(place.node, PROTOCOL, place.name, place.secret, birth, where)
        is_first = journal is None or not journal.life
        contacts = await find_members(identity, place.contacts)
        if place.contacts and not contacts and is_first:
            raise NodeProblem("N130", f"nobody answers at {', '.join(map(text_from_address, place.contacts))}")
        known = contacts or dict(place.members)
        host, port = place.listen
        transport = TcpTransport(
            identity, Codec(WIRE), host=host, port=port, peers=known, find=self._find, births=births_of(journal)
        )
        machine = Linked(
            group_node(GroupConfig(place.node)),
            me=place.node,
            peers=place.members,
            ack_after=ACK_AFTER_MS,
            resend_after=RESEND_AFTER_MS,
        )

        async def before() -> None:
            # Now that the node listens, it knows where.
            machine.inner = group_node(self._config(tuple(contacts)))
            if is_first and len(place.members) > 1:
                await meet_most(identity, dict(place.members), self._watch)

        self._transport = transport
        self._host = Host(machine, transport, application=self, journal=journal, is_prompt=True)
        await self._host.start(before)
        self._standstill.start()
        self._waiting = asyncio.create_task(self._wait())
        if contacts and is_first:
            try:
                await self.is_in.wait()
                self.check()
            except BaseException:
                await self.close()
                raise

    def _config(self, contacts: tuple[NodeId, ...]) -> GroupConfig:
        place = self.place
        where = place.address or self.address
        addresses = {**place.members, place.node: where}
        members = tuple(sorted(place.members))
        patience = max(1, round(place.patience * 1000))
        return GroupConfig(
            place.node,
            members,
            places=tuple(text_from_address(addresses[node]) for node in members),
            where=text_from_address(where),
            contacts=contacts,
            patience=patience,
            wait=max(1, patience // 5),
            ring=TokenConfig(
                NodeId(0), 1, is_instant=False, max_rest=patience, max_row=MAX_ROW, again=max(1, patience // 2)
            ),
        )

    async def _wait(self) -> None:
        """Wait until the node is over, and let all know who wait for something of it."""
        fault: BaseException | None = None
        try:
            await self.host.wait()
        except SolventError as error:
            fault = error
        except Exception as error:  # noqa: BLE001 - whoever waits for something of the node gets it
            fault = RingProblem("N205", f"the node failed: {error!r}")
            fault.__cause__ = error
        self._end(fault)

    def _end(self, fault: BaseException | None) -> None:
        self.fault = self.fault or fault
        over = self.fault or _left()
        self.queue.end(over)
        self._standstill.stop()
        self.said.end(over)
        self.heard.end(self.fault)
        self.is_in.set()
        self.is_out.set()
        for waiting in self._removed.values():
            for removed in waiting:
                if not removed.done():
                    removed.set_exception(over)
                    # Who waits no longer must not be told by the loop that nobody looked.
                    removed.exception()

    async def retire(self) -> None:
        """Let the others have the token before this node stops for a while."""
        self.ask_at_once(Retire())
        await self.drain()

    async def drain(self) -> None:
        """Wait until the members have taken what was said, and know that this node has taken what they said."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.place.patience):
                while self._is_owed():  # noqa: ASYNC110 - the link has no event for it
                    await asyncio.sleep(_POLL_SECONDS)

    def _is_owed(self) -> bool:
        link: LinkState = self.host.state
        return bool(link.owing) or any(
            line.waiting for peer, line in link.lines.items() if peer in self.state.log.members
        )

    async def close(self) -> None:
        """End the node."""
        self.is_closed = True
        if self._host is not None:
            await self._host.stop()
        if self._waiting is not None:
            await self._waiting

    # --------------------------------------------------------------------------------------------- questions

    @property
    def host(self) -> Host[Any]:
        """What runs the node."""
        if self._host is None:
            raise Misuse("P345", "the ring has not been entered", hint="write `async with ring.join(...) as node:`")
        return self._host

    @property
    def address(self) -> Address:
        """Where the node listens."""
        _ = self.host
        assert self._transport is not None
        return self._transport.address

    @property
    def state(self) -> GroupState:
        """What the node knows."""
        state: GroupState = self.host.state.inner
        return state

    def check(self) -> None:
        """Raise what stopped the node, if it is over."""
        if self.fault is not None:
            raise self.fault
        if self.is_closed:
            raise _left()

    def ask(self, request: Any) -> None:
        """Tell the machine what is wanted."""
        self.host.request(request)

    def ask_at_once(self, request: Any) -> None:
        """Tell the machine what is wanted, before anything else."""
        self.host.request_at_once(request)

    async def removal(self, node: int) -> None:
        """Wait until a node is a member no longer."""
        removed = asyncio.get_running_loop().create_future()
        self._removed.setdefault(node, []).append(removed)
        await removed

    def _can_be_lost(self) -> bool:
        """Tell whether the other members are most, and can go on without this node."""
        return len(self.state.log.members) > _MEMBERS_NEVER_LOST

    def _find(self, node: NodeId) -> Address | None:
        """Tell the transport where a node is, if the ring knows."""
        with suppress(SolventError):
            state = self.state
            where = state.hellos.get(node) or state.log.members.get(node)
            return address_from_text(where) if where else None
        return None

    # ----------------------------------------------------------------------------------------------- reports

    def answer(self, question: Any) -> Any:
        """Answer nothing; a node of a ring asks nothing."""
        raise NotImplementedError(question)

    def told(self, outcome: Any) -> None:
        """Hear what the node reports."""
        match outcome:
            case Locked(fence):
                self.queue.on_locked(fence)
            case Moved(to, _):
                self.moves_count += 1
                self.holder = to
            case Delivered(place, origin, number, data, is_own):
                try:
                    self.heard.add(RingMessage(place, origin, unpacked(data)))
                except ValueError as error:
                    said = f"its message {place} does not read, and is left out: {error}"
                    self._watch(PeerFault(f"node {origin}", said))
                if is_own:
                    self.said.on_safe(number, place)
            case Skipped():
                message = "this node was no member for a while: whether what it said was heard, nobody can tell it"
                self.said.on_doubt(RingProblem("N204", message))
            case Confirmed(number):
                self._standstill.on_confirmed(number)
            case LockLost(fence):
                self.queue.on_lost(fence)
            case ViewBegan(_, ring):
                if self.place.node in ring:
                    self.is_in.set()
            case MemberChanged(_, node, where, is_member):
                self._on_member(node, where, is_member=is_member)
            case Left():
                self.is_out.set()
            case PeerFault(_, reason) if reason == f"it refuses: {FORGETFUL}":
                self._end(forgotten())
            case LinkFault(_, reason) if "was its journal lost?" in reason:
                self._end(forgotten())
        self._watch(outcome)

    def _on_member(self, node: NodeId, where: str, *, is_member: bool) -> None:
        transport = self._transport
        assert transport is not None
        if is_member:
            with suppress(NodeProblem):
                transport.know(node, *address_from_text(where))
            return
        for removed in self._removed.pop(node, ()):
            if not removed.done():
                removed.set_result(None)

        def forget() -> None:
            if node not in self.state.log.members and node != self.place.node:
                transport.forget(node)

        # It may still be told what it waits for before it goes.
        asyncio.get_running_loop().call_later(self.place.patience, forget)


def _left() -> RingProblem:
    return RingProblem("N202", "the ring was left")


__all__ = ["ACK_AFTER_MS", "MAX_ROW", "RESEND_AFTER_MS", "RingNode"]
