"""The node behind a ring: the machine in its host, with its journal; and what becomes of its reports."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.errors import Misuse, NodeProblem, RingProblem, SolventError
from solvent.net import Codec, Identity, PeerFault, address_from_text, text_from_address
from solvent.net.direct import DirectHost
from solvent.net.handshake import FORGETFUL
from solvent.protocols.machine import NodeId
from solvent.protocols.token.group import group_node
from solvent.protocols.token.group.messages import (
    Confirmed,
    Delivered,
    GroupMessage,
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
from solvent.ring.broadcasts import Said
from solvent.ring.data import unpacked
from solvent.ring.deliveries import Heard, RingMessage
from solvent.ring.entry import PROTOCOL, births_of, find_members, forgotten, meet_most, memory
from solvent.ring.lock import Queue
from solvent.ring.standstill import Standstill

if TYPE_CHECKING:
    from collections.abc import Callable

    from solvent.net import Address, Journal
    from solvent.ring.place import RingPlace

MAX_ROW = 64
_POLL_SECONDS = 0.005
_MAX_CLOSE_SECONDS = 1.0
_MEMBERS_NEVER_LOST = 2
"""Of so few members no node can be left behind: the others are not most."""


class RingNode:
    """One node."""

    def __init__(self, place: RingPlace, watch: Callable[[Any], None] | None) -> None:
        self.place = place
        self._standstill = Standstill(self.ask, place.patience, self._can_be_lost)
        self.queue = Queue(self.ask, self._standstill)
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
        self._host: DirectHost[GroupState] | None = None
        #: Where others were at first, and how often each was looked for.
        self._known: dict[NodeId, Address] = {}
        self._sought = Counter[NodeId]()
        self._removed = dict[int, list[asyncio.Future[None]]]()

    # ------------------------------------------------------------------------------------- coming and going

    async def start(self) -> None:
        """Find or meet the others, and begin; a newcomer has begun when it is in the ring."""
        journal, birth = memory(self.place)
        try:
            await self._start(journal, birth)
        except BaseException:
            if self._host is not None:
                await self.close()
            elif journal is not None:
                journal.close()
            raise

    async def _start(self, journal: Journal | None, birth: str) -> None:
        place = self.place
        where = "" if place.address is None else text_from_address(place.address)
        life = 0 if journal is None else journal.life
        identity = Identity(place.node, PROTOCOL, place.name, place.secret, birth, where, life)
        contacts = await find_members(identity, place.contacts)
        if place.contacts and not contacts and not life:
            raise NodeProblem("N130", f"nobody answers at {', '.join(map(text_from_address, place.contacts))}")
        self._known = contacts or dict(place.members)
        host = DirectHost[GroupState](
            None,
            identity,
            Codec(GroupMessage),
            listen=place.listen,
            application=self,
            find=self._find,
            journal=journal,
            births=births_of(journal),
            on_end=self._on_end,
        )
        host.attach(asyncio.get_running_loop())
        self._host = host
        if not life and len(place.members) > 1:
            await meet_most(identity, dict(place.members), self._watch)
        # Now that the node listens, it knows where.
        host.start(group_node(self._config(tuple(contacts))))
        if life:
            host.greet(self._members())
        self._standstill.start()
        if contacts and not life:
            await self.is_in.wait()
            self.check()

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

    def _on_end(self, fault: BaseException | None) -> None:
        """Let all know who wait for something of the node that it is over."""
        if fault is not None and not isinstance(fault, SolventError):
            failure = RingProblem("N205", f"the node failed: {fault!r}")
            failure.__cause__ = fault
            fault = failure
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
        self.ask(Retire())
        await self.drain()

    async def drain(self) -> None:
        """Wait until the members have taken what was said, and know that this node has taken what they said."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self.place.patience):
                while self.host.is_running and not self.host.settle(self._members()):  # noqa: ASYNC110 - nobody tells
                    await asyncio.sleep(_POLL_SECONDS)

    def _members(self) -> tuple[NodeId, ...]:
        """Return the other members."""
        return tuple(node for node in self.state.log.members if node != self.place.node)

    async def close(self) -> None:
        """End the node."""
        self.is_closed = True
        host = self._host
        if host is not None and host.is_running:
            with suppress(TimeoutError):
                async with asyncio.timeout(_MAX_CLOSE_SECONDS):
                    while not host.is_flushed:  # noqa: ASYNC110 - nobody tells
                        await asyncio.sleep(_POLL_SECONDS)
            host.close()

    # --------------------------------------------------------------------------------------------- questions

    @property
    def host(self) -> DirectHost[GroupState]:
        """What runs the node."""
        if self._host is None:
            raise Misuse("P345", "the ring has not been entered", hint="write `async with ring.join(...) as node:`")
        return self._host

    @property
    def address(self) -> Address:
        """Where the node listens."""
        return self.host.address

    @property
    def state(self) -> GroupState:
        """What the node knows."""
        return self.host.state

    def check(self) -> None:
        """Raise what stopped the node, if it is over."""
        if self.fault is not None:
            raise self.fault
        if self.is_closed:
            raise _left()

    def ask(self, request: Any) -> None:
        """Tell the machine what is wanted; nothing, if the node is over."""
        if self.host.is_running:
            self.host.request(request)

    async def removal(self, node: int) -> None:
        """Wait until a node is a member no longer."""
        removed = asyncio.get_running_loop().create_future()
        self._removed.setdefault(node, []).append(removed)
        await removed

    def _can_be_lost(self) -> bool:
        """Tell whether the other members are most, and can go on without this node."""
        return len(self.state.log.members) > _MEMBERS_NEVER_LOST

    def _find(self, node: NodeId) -> Address | None:
        """Tell the host where to look for a node: where the ring says, where it was at first, where it says itself."""
        found: list[Address] = []
        with suppress(SolventError):
            state = self.state
            where = state.hellos.get(node) or state.log.members.get(node)
            if where:
                found.append(address_from_text(where))
        found += [one for one in (self._known.get(node), self.host.said_address(node)) if one is not None]
        places = list(dict.fromkeys(found))
        self._sought[node] += 1
        return places[self._sought[node] % len(places)] if places else None

    # ----------------------------------------------------------------------------------------------- reports

    def answer(self, question: Any) -> Any:
        """Answer nothing; a node of a ring asks nothing."""
        raise NotImplementedError(question)

    def lost(self, peer: NodeId, why: str) -> None:
        """Hear of no node that is lost: the ring finds out by itself whether its token is."""
        raise NotImplementedError(peer, why)

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
        self._watch(outcome)

    def _on_member(self, node: NodeId, where: str, *, is_member: bool) -> None:
        if is_member:
            with suppress(NodeProblem):
                self._known[node] = address_from_text(where)
            return
        for removed in self._removed.pop(node, ()):
            if not removed.done():
                removed.set_result(None)

        def rest() -> None:
            if self.host.is_running and node not in self.state.log.members and node != self.place.node:
                self._known.pop(node, None)
                self.host.rest(node)

        # It may still be told what it waits for before it goes.
        asyncio.get_running_loop().call_later(self.place.patience, rest)


def _left() -> RingProblem:
    return RingProblem("N202", "the ring was left")


__all__ = ["MAX_ROW", "RingNode"]
