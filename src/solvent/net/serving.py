"""Puts one node on the network: its transport, its journal, its host; until it is over or somebody stops it.

A `Place` says where a node is and what it keeps; it is the same for every protocol. A `Service` is what the node does:
a machine, the types of what it says and saves, and the application that it serves.
"""

from __future__ import annotations

import asyncio
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from solvent.net.codec import Codec
from solvent.net.handshake import Identity
from solvent.net.host import Application, Host
from solvent.net.journal import Journal
from solvent.net.tcp import LOOPBACK, TcpTransport

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from solvent.net.addresses import Address
    from solvent.protocols.machine import Machine, NodeId


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a node is, whom it knows, and what it keeps."""

    node: NodeId
    listen: Address = (LOOPBACK, 0)
    peers: Mapping[NodeId, Address] = field(default_factory=dict)
    run: str = ""
    secret: bytes = field(default=b"", repr=False)
    journal: Path | None = None
    fsync: bool = False

    @property
    def nodes(self) -> tuple[NodeId, ...]:
        """All nodes, this one among them."""
        return tuple(sorted({self.node, *self.peers}))


@dataclass(frozen=True, kw_only=True)
class Service:
    """What a node does."""

    protocol: str
    machine: Machine[Any]
    message_type: Any
    record_type: Any = Any
    application: Application | None = None
    check: Callable[[Any], None] | None = None
    """Looks at the state after every step, and raises where it is not as it must be."""


class Node:
    """A node on the network."""

    def __init__(self, service: Service, place: Place) -> None:
        identity = Identity(place.node, service.protocol, place.run, place.secret)
        host, port = place.listen
        self.journal = None if place.journal is None else Journal(place.journal, service.record_type, fsync=place.fsync)
        self.transport = TcpTransport(identity, Codec(service.message_type), host=host, port=port, peers=place.peers)
        self.host = Host(
            service.machine,
            self.transport,
            application=service.application,
            journal=self.journal,
            check=service.check,
        )

    async def serve(
        self, started: Callable[[Node], None], *, signals: Iterable[signal.Signals] = (signal.SIGINT, signal.SIGTERM)
    ) -> signal.Signals | None:
        """Run until the node is stopped; give the signal that stopped it, if one did.

        `started` is called as soon as the node listens. A signal stops it in good order; the second one is not waited
        for.
        """
        loop = asyncio.get_running_loop()
        got = list[signal.Signals]()
        stopping = set[asyncio.Task[None]]()

        def stop(which: signal.Signals) -> None:
            loop.remove_signal_handler(which)
            got.append(which)
            stopping.add(loop.create_task(self.host.stop()))

        await self.host.start()
        for which in signals:
            loop.add_signal_handler(which, stop, which)
        try:
            started(self)
            await self.host.wait()
        finally:
            for which in signals:
                loop.remove_signal_handler(which)
            await asyncio.gather(*stopping)
            await self.host.stop()
        return got[0] if got else None


__all__ = ["Node", "Place", "Service"]
