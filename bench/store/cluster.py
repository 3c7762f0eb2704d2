"""Several NATS servers on this machine, for measurements and tests."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Self

from solvent.net.ports import LOOPBACK
from solvent.store.server import Plan, Server, free_ports

if TYPE_CHECKING:
    from pathlib import Path


class Cluster:
    """Several servers with the same data; three survive the loss of one."""

    def __init__(self, folder: Path, *, servers_count: int = 3, is_durable: bool = False) -> None:
        found = free_ports(2 * servers_count)
        routes = tuple(f"{LOOPBACK}:{port}" for port in found[servers_count:])
        self.servers = [
            Server(
                Plan(
                    folder=folder / f"node{number}",
                    name=f"node{number}",
                    port=found[number],
                    cluster_port=found[servers_count + number],
                    routes=routes,
                    is_durable=is_durable,
                )
            )
            for number in range(servers_count)
        ]

    @property
    def url(self) -> str:
        """Return the address for `open_store`: all servers, and as many replicas."""
        servers = ",".join(f"{server.plan.host}:{server.plan.port}" for server in self.servers)
        durable = "&durable=yes" if self.servers[0].plan.is_durable else ""
        return f"nats://{servers}?replicas={len(self.servers)}{durable}"

    def start(self) -> Self:
        """Start all that do not run."""
        try:
            for server in self.servers:
                if not server.is_running:
                    server.start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """End all."""
        for server in self.servers:
            server.send(signal.SIGTERM)
        for server in self.servers:
            server.stop()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


__all__ = ["Cluster"]
