"""Stores: where what must survive a crash is kept.

Reading order: interface (what is asked of a store); sqlite (one file, any number of processes of one machine); nats
(servers, any number of machines); leases (who is alive, and who has what); heartbeat
(how an agent says that it is alive); journal (what a node must not forget).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import Conflict, StoreError, install_hint
from solvent.store.interface import Append, Entry, Record, Store, Watch

if TYPE_CHECKING:
    from collections.abc import Callable

_SERVERS = ("nats://", "tls://", "ws://", "wss://")


def open_store(url: str, **options: Any) -> Store:
    """Open a store, by where it is.

    `path/to/file.db` and `sqlite:///path/to/file.db` are files, made when they are not there; `nats://host:port`, or
    `tls://`, are servers, several of them joined by commas. Options of all: `is_durable`, `max_record_bytes`,
    `max_blob_bytes`, `patience` (seconds to wait for others, or for a server that is away), `is_made` (no: one that is
    not there is `NoStore`, for who only looks); more see the back ends.
    """
    return opener_of(url)(url, **options)


def is_on_servers(url: str) -> bool:
    """Return whether a store is kept by servers; a scheme may be in capitals."""
    return url.lower().startswith(_SERVERS)


def opener_of(url: str) -> Callable[..., Store]:
    """Import what a store needs, by where it is, and return the function that opens it."""
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
