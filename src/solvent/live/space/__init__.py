"""Spaces: where what must survive a crash is kept.

Reading order: interface (what is asked of a space); sqlite (one file, any number of processes of one machine); nats
(servers, any number of machines); leases (who is alive, and who has what); beats and
pulse_process (how an agent says that it is alive); journal (what a node must not forget).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.errors import Conflict, SpaceError
from solvent.live.space.interface import Append, Entry, Record, Space, Watch

if TYPE_CHECKING:
    from collections.abc import Callable

_SERVERS = ("nats://", "tls://", "ws://", "wss://")


def open_space(url: str, **options: Any) -> Space:
    """Open a space, by where it is.

    `path/to/file.db` and `sqlite:///path/to/file.db` are files, made when they are not there; `nats://host:port`, or
    `tls://`, are servers, several of them joined by commas. Options of all: `is_durable`, `record_bytes_max`,
    `blob_bytes_max`, `patience` (seconds to wait for others, or for a server that is away), `is_made` (no: one that is
    not there is `NoSpace`, for who only looks); more see the back ends.
    """
    return opener_of(url)(url, **options)


def is_on_servers(url: str) -> bool:
    """Whether a space is kept by servers; a scheme may be in capitals."""
    return url.lower().startswith(_SERVERS)


def opener_of(url: str) -> Callable[..., Space]:
    """Import what a space needs, by where it is, and give what opens it."""
    if is_on_servers(url):
        from solvent.live.space.nats import open_nats

        return open_nats
    from solvent.live.space.sqlite import open_sqlite

    return open_sqlite


__all__ = [
    "Append",
    "Conflict",
    "Entry",
    "Record",
    "Space",
    "SpaceError",
    "Watch",
    "is_on_servers",
    "open_space",
    "opener_of",
]
