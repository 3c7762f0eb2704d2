"""Messages over TCP: one listening port per node, one connection per direction and pair of nodes.

A node dials another when it first has something to say to it, and writes only to connections it has dialled, so two
nodes that dial each other at the same moment need not agree on one connection. Nodes are found by a table of
addresses that may grow while the node runs (`know`); whoever knows better from elsewhere is asked
first (`find`). Only this machine can connect unless a wider address is given.
With `tls`, connections are encrypted, and both sides show a certificate.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from solvent.errors import NodeProblem
from solvent.net.addresses import Address, address_from_text, cannot_listen, text_from_address
from solvent.net.incoming import Hall, Incoming
from solvent.net.outgoing import Way
from solvent.net.transport import Complain, Counters, Deliver, PeerFault
from solvent.protocols.machine import NodeId

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from solvent.net.codec import Codec
    from solvent.net.handshake import Identity
    from solvent.net.tls import Tls

LOOPBACK = "127.0.0.1"


class TcpTransport:
    """Carries messages between nodes over TCP.

    Port 0 takes any free one; `address` tells which, as soon as the transport is open.
    """

    def __init__(
        self,
        identity: Identity,
        codec: Codec,
        *,
        host: str = LOOPBACK,
        port: int = 0,
        peers: Mapping[NodeId, Address] | None = None,
        find: Callable[[NodeId], Address | None] = lambda _: None,
        tls: Tls | None = None,
    ) -> None:
        self.counters = Counters()
        self.address = (host, port)
        self._identity = identity
        self._codec = codec
        self._peers = dict(peers or {})
        self._find = find
        #: Where nodes say that they are; for those that nobody else knows.
        self._heard = dict[NodeId, Address]()
        self._dialled = Counter[NodeId]()
        self._tls = tls
        self._ways = dict[NodeId, Way]()
        self._used = dict[NodeId, Way]()
        self._own = list[Any]()
        self._hall: Hall | None = None
        self._server: asyncio.Server | None = None
        self._deliver: Deliver | None = None
        self._complain: Complain = lambda _: None

    def know(self, node: NodeId, host: str, port: int) -> None:
        """Note where a node listens; it may be noted anew when the node comes back elsewhere."""
        self._peers[node] = (host, port)

    async def open(self, deliver: Deliver, complain: Complain) -> None:
        """Listen; raise `NodeProblem` where that is not possible."""
        loop = asyncio.get_running_loop()
        self._deliver, self._complain = deliver, complain
        hall = Hall(self._identity, self._codec, self.counters, deliver, complain)
        host, port = self.address
        protected = {} if self._tls is None else self._tls.listening
        try:
            self._server = await loop.create_server(lambda: Incoming(hall), host, port, **protected)
        except (OSError, OverflowError) as error:
            raise cannot_listen((host, port), error) from error
        hall.on_met = self._on_met
        self._hall = hall
        self.address = self._server.sockets[0].getsockname()[:2]
        if not self._identity.where:
            self._identity = replace(self._identity, where=text_from_address(self.address))

    def send(self, to: NodeId, message: Any) -> None:
        """Take a message to be sent at the next `flush`."""
        if to == self._identity.node:
            self._own.append(message)
            return
        way = self._used.get(to)
        if way is None:
            self._used[to] = way = self._way(to)
        way.send(message)

    def flush(self) -> None:
        """Hand over what was taken."""
        used, self._used = self._used, {}
        for way in used.values():
            way.flush()
        if self._own:
            own, self._own = self._own, []
            assert self._deliver is not None
            self._deliver(self._identity.node, own)

    def pause(self) -> None:
        """Receive nothing for a while."""
        assert self._hall is not None
        self._hall.pause()

    def resume(self) -> None:
        """Receive again."""
        assert self._hall is not None
        self._hall.resume()

    async def close(self) -> None:
        """Stop listening and close all connections."""
        self.flush()
        for way in self._ways.values():
            way.close()
        if self._server is not None:
            self._server.close()
        if self._hall is not None:
            self._hall.close()
        # Closed connections are told of it in the next turn; only then nothing of ours is left in the loop.
        await asyncio.sleep(0)

    def _way(self, to: NodeId) -> Way:
        if to not in self._ways:
            self._ways[to] = Way(
                self._identity,
                to,
                address=self._address,
                codec=self._codec,
                counters=self.counters,
                complain=self._tell,
                tls=self._tls,
            )
        return self._ways[to]

    def _address(self, node: NodeId) -> Address | None:
        """Tell where to look for a node; somewhere else each time, if there are several places."""
        places = dict.fromkeys((self._find(node), self._peers.get(node), self._heard.get(node)))
        places.pop(None, None)
        attempt = self._dialled[node]
        self._dialled[node] += 1
        return list(places)[attempt % len(places)] if places else None

    def _on_met(self, node: NodeId, where: str) -> None:
        """Note where a node is, and answer one that came back without waiting for the next attempt to reach it."""
        with suppress(NodeProblem):
            self._heard[node] = address_from_text(where)
        if node in self._ways:
            self._ways[node].hurry()

    def _tell(self, fault: PeerFault) -> None:
        self._complain(fault)


__all__ = ["LOOPBACK", "TcpTransport"]
