"""A node of a ring, as its user sees it: what `solvent.ring` gives.

    async with solvent.ring.join(node=0, peers="0=127.0.0.1:7000,1=127.0.0.1:7001") as ring:
        async with ring.lock() as lock:
            ...
        place = await ring.broadcast({"temperature": 21.5})
        async for message in ring.messages():
            print(message.place, message.origin, message.data)

The protocol is `protocols.token.group`: a token goes round; who has it has the lock and may write to a log that is the
same everywhere. It survives the loss of nodes as long as most members are there.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Self

from solvent.errors import Misuse, RingProblem
from solvent.net import text_from_address
from solvent.net.status_files import Poster, board_from
from solvent.protocols.machine import NodeId
from solvent.protocols.token.group.messages import Leave, Remove
from solvent.ring.data import packed
from solvent.ring.lock import Lock
from solvent.ring.node import RingNode
from solvent.ring.place import RingPlace, place_from

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping
    from os import PathLike
    from pathlib import Path
    from types import TracebackType

    from solvent.net import Address, Counters
    from solvent.net.secrecy import Secret
    from solvent.ring.deliveries import RingMessage


@dataclass(frozen=True, slots=True)
class RingStatus:
    """What a node knows of its ring: what `Ring.status` returns.

    >>> import asyncio
    >>> from solvent import ring
    >>> async def look() -> ring.RingStatus:
    ...     async with ring.join() as node:
    ...         return node.status()
    >>> asyncio.run(look()).members
    (0,)
    """

    node: int
    #: The number of the token's epoch.
    epoch: int
    #: The nodes among which the token goes round.
    ring: tuple[int, ...]
    members: tuple[int, ...]
    #: Whether the token is at this node.
    has_token: bool
    #: Where the token went when it was here last; it may have moved since. `None`: it has not been here.
    holder: int | None
    #: How often the token has left this node.
    moves: int
    #: The place of the last message received; -1: none.
    place: int


class Ring:
    """A node of a ring, made by `ring.join` and entered with `async with`, once.

    At the end of the block a node without a journal leaves the ring; one with a journal only stops, and may come back.

    >>> import asyncio
    >>> from solvent import ring
    >>> async def count() -> int:
    ...     async with ring.join() as node:
    ...         async with node.lock():
    ...             await node.broadcast({"count": 1})
    ...         return len(node.members)
    >>> asyncio.run(count())
    1
    """

    def __init__(self, place: RingPlace, watch: Callable[[Any], None] | None = None, board: Path | None = None) -> None:
        self._node = RingNode(place, watch)
        self._is_entered = False
        self._poster = None if board is None else Poster(board, "ring", place.name, place.node, self._described)

    @property
    def node(self) -> int:
        """The number of this node."""
        return self._node.place.node

    @property
    def address(self) -> str:
        """The address at which this node listens."""
        return text_from_address(self._node.address)

    @property
    def members(self) -> dict[int, str]:
        """The members that this node knows, and their addresses."""
        return dict(sorted(self._node.state.log.members.items()))

    @property
    def place(self) -> int:
        """The place of the last message that this node has received; -1 before the first."""
        return self._node.heard.place

    @property
    def counters(self) -> Counters:
        """Counters of this node: messages, bytes, steps."""
        return self._node.host.counters

    def status(self) -> RingStatus:
        """Return what this node knows: the epoch, the ring, and where the token is."""
        state = self._node.state
        has_token = state.inner is not None and state.inner.token is not None
        return RingStatus(
            node=self.node,
            epoch=state.epoch.number,
            ring=state.ring,
            members=tuple(sorted(state.log.members)),
            has_token=has_token,
            holder=self.node if has_token else self._node.holder,
            moves=self._node.moves_count,
            place=self.place,
        )

    def _described(self) -> dict[str, Any]:
        """Tell lookers-on how things stand here."""
        status, queue = self.status(), self._node.queue
        return {
            **asdict(status),
            "members": {str(node): address for node, address in self.members.items()},
            "address": self.address,
            "is_locked": queue.is_held,
            "waiting": queue.waiting_count,
            "messages": self.counters.messages_sent,
        }

    def lock(self, *, timeout: float | None = None) -> Lock:
        """Return the lock, to be entered: `async with ring.lock():`. At most one task of one node has it.

        With a timeout, in seconds, entering raises `TimeoutError` when it takes longer.

        Raises `Misuse` (P345) if the ring has not been entered.
        """
        _ = self._node.host
        return Lock(self._node.queue, timeout)

    async def broadcast(self, data: Any) -> int:
        """Send data to all nodes, which receive messages in one order; return its place there when it is safe.

        It is safe when most members have it. Cancelling the call does not take the message back. Data is what
        MessagePack can carry, up to a megabyte: `None`, booleans, numbers, text, bytes, lists and mappings.

        Raises `Misuse`: P341 for other data, P342 for too much of it; `RingProblem` if this node cannot continue.
        """
        _ = self._node.host
        return await self._node.said.say(packed(data))

    def messages(self, *, after: int | None = None) -> AsyncIterator[RingMessage]:
        """Return all broadcasts in the common order: those that are kept, then each as it comes.

        With `after`, only those after that place: `after=ring.place` begins now. Any number of tasks may listen at
        once.

        Raises `Misuse` (P343) if messages after that place are not kept any more; `RingProblem` if this node cannot
        continue.
        """
        _ = self._node.host
        return self._node.heard.listen(after)

    async def remove(self, node: int) -> None:
        """Remove a member that is gone for good; return when that is safe.

        Raises `Misuse` (P345) for this node, and for one that is no member.
        """
        self._node.check()
        if node == self.node:
            raise Misuse("P345", "a node does not remove itself", hint="leave: `await ring.leave()`")
        if node not in self._node.state.log.members:
            raise Misuse("P345", f"node {node} is no member", hint=f"members: {', '.join(map(str, self.members))}")
        self._node.ask(Remove(NodeId(node)))
        await self._node.removal(node)

    async def leave(self) -> None:
        """Leave the ring; return when the other nodes need nothing of this one any more.

        Raises `Misuse` (P345) while this node has the lock.
        """
        node = self._node
        node.check()
        if node.queue.is_held:
            raise Misuse("P345", "this node has the lock", hint="leave the ring after the block of `ring.lock()`")
        await self._leave()

    async def _leave(self) -> None:
        node = self._node
        node.check()
        node.ask(Leave())
        await node.is_out.wait()
        node.check()
        await node.drain()
        await node.close()

    async def __aenter__(self) -> Self:
        if self._is_entered:
            raise Misuse("P345", "a ring is entered once", hint="call `solvent.ring.join(...)` again")
        self._is_entered = True
        await self._node.start()
        if self._poster is not None:
            self._poster.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        node = self._node
        try:
            if self._poster is not None:
                self._poster.stop()
            if not node.is_closed and node.fault is None:
                with suppress(TimeoutError, RingProblem):
                    async with asyncio.timeout(1.0 + 2 * node.place.patience):
                        if node.place.journal is None:
                            # Nobody will come back under this number, and the others should not count on it.
                            await self._leave()
                        else:
                            await node.retire()
        finally:
            # Also if Ctrl-C cancels this.
            await node.close()


def join(
    name: str = "",
    *,
    node: int | None = None,
    peers: Mapping[int, str | Address] | str | None = None,
    join: str | Address | tuple[str, ...] | list[str] | None = None,
    listen: str | Address | None = None,
    address: str | Address | None = None,
    journal: str | Path | None = None,
    fsync: bool = False,
    secret: Secret = None,
    patience: float = 1.0,
    kept: int = 100_000,
    watch: Callable[[Any], None] | None = None,
    board: bool | str | PathLike[str] | None = None,
) -> Ring:
    """Return a node of a ring, to be entered: `async with ring.join(...) as node:`.

    The first members know each other by `peers`; all others `join` at the address of any member. Without arguments the
    node is alone, until others join.

    - `name`: nodes of rings with different names do not talk to each other.
    - `node`: the number of this node.
    - `peers`: the first members, a mapping or text: `"0=127.0.0.1:7000,1=127.0.0.1:7001"`; the same for all of them.
    - `join`: instead of `peers`, the address of a member, or of several; a number is not needed then.
    - `listen`, `address`: where to listen, if `peers` does not say; where others reach this node, if that is elsewhere.
    - `journal`: a folder or file for what the node must remember after a restart; without it the node forgets all.
    - `fsync`: whether the journal also survives a loss of power.
    - `secret`: only nodes with the same secret can join. Without one, only processes of this user on this machine can.
      Beyond this machine one is required, or `secret=False` to let in anybody. Messages are not encrypted.
    - `patience`: after how many seconds without news the token is taken for lost.
    - `kept`: how many messages are kept for those who begin to listen later.
    - `watch`: called with everything that the node reports.
    - `board`: `True`, or a folder: publish the status, for `solvent web`; also `SOLVENT_BOARD=on`.

    Raises `Misuse` (P340, S210) and `NodeProblem` (N1xx) for arguments that are wrong; entering raises `NodeProblem`
    (N130, N132) if no member answers or lets it in, `RingProblem` (N203) if it has forgotten what it was.

    >>> import asyncio
    >>> from solvent import ring
    >>> async def main() -> object:
    ...     async with ring.join() as node:
    ...         async with node.lock():
    ...             await node.broadcast({"temperature": 21.5})
    ...         async for message in node.messages():
    ...             return message.data
    >>> asyncio.run(main())
    {'temperature': 21.5}
    """
    place = place_from(
        node=node,
        listen=listen,
        address=address,
        peers=peers,
        join=join,
        journal=journal,
        fsync=fsync,
        secret=secret,
        patience=patience,
        name=name,
        kept=kept,
    )
    return Ring(place, watch, board_from(board))


__all__ = ["Ring", "RingStatus", "join"]
