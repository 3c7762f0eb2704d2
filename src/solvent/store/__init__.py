"""Stores keep what must survive a crash.

Reading order: `interface` (what every store offers); `sqlite` (one file, for any number of processes of one machine) on
`sqlite_file` (its transactions); `nats` (servers, for any number of machines) on `nats_streams` (append and read),
`nats_link` (a connection that is restored) and `nats_client` (addresses and the protocol); `server` (starts a NATS
server); `leases` (which agent is alive, and which holds what) and `heartbeat` (the process that writes heartbeats).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import Conflict, StoreError, install_hint
from solvent.store.interface import Append, Entry, Record, Store, Watch

if TYPE_CHECKING:
    from collections.abc import Callable

_SERVERS = ("nats://", "tls://", "ws://", "wss://")


def open_store(url: str, **options: Any) -> Store:
    """Open the store at an address.

    `path/to/file.db` and `sqlite:///path/to/file.db` are files, created if missing; `nats://host:port`, or `tls://`,
    are servers, several of them separated by commas. Options: `is_durable`, `max_record_bytes`, `max_blob_bytes`,
    `patience` (seconds to wait for other writers, or for a server to return), `is_made` (false: raise `NoStore` instead
    of creating a missing store).
    """
    return opener_of(url)(url, **options)


def is_on_servers(url: str) -> bool:
    """Return whether an address names servers, not a file; schemes are case-insensitive."""
    return url.lower().startswith(_SERVERS)


def opener_of(url: str) -> Callable[..., Store]:
    """Import the back end for an address and return the function that opens it."""
    if is_on_servers(url):
        try:
            from solvent.store.nats import open_nats
        except ModuleNotFoundError:
            message = "stores on NATS servers need the package nats-py"
            raise StoreError("E401", message, hint=install_hint("nats")) from None
        return open_nats
    from solvent.store.sqlite import open_sqlite

    return open_sqlite


__all__ = [
    "Append",
    "Conflict",
    "Entry",
    "Record",
    "Store",
    "StoreError",
    "Watch",
    "is_on_servers",
    "open_store",
    "opener_of",
]
