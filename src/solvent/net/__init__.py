"""Runs machines for real: clocks, sockets and files.

Reading order: `host` (one machine, its inbox and its effects); `journal` (what a crash must not take); `transport`
(what the host asks of a network), `inprocess`, `codec`, `handshake`, `incoming`, `outgoing`, `tls`, `tcp`, `meeting`;
`addresses`, `ports` and `serving` (a node on the network); `private_folder`, `secrecy` and `status_files` (processes of
one user); `readiness` (waiting for sockets); `direct` (hosts without an event loop).

Names are imported when first used: the store alone (`solvent.store`), which every run is recorded in, needs none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from solvent.net.addresses import (
        Address,
        address_from,
        address_from_text,
        addresses_from,
        peers_from_text,
        text_from_address,
    )
    from solvent.net.codec import Codec
    from solvent.net.handshake import Identity
    from solvent.net.host import Application, Host
    from solvent.net.inprocess import Hub, InProcess
    from solvent.net.journal import Journal
    from solvent.net.meeting import Unwelcome, meet
    from solvent.net.serving import Node, Place, Service
    from solvent.net.tcp import TcpTransport
    from solvent.net.transport import Counters, PeerFault, Transport

_HOMES = {
    "addresses": "Address address_from address_from_text addresses_from peers_from_text text_from_address",
    "codec": "Codec",
    "handshake": "Identity",
    "host": "Application Host",
    "inprocess": "Hub InProcess",
    "journal": "Journal",
    "meeting": "Unwelcome meet",
    "serving": "Node Place Service",
    "tcp": "TcpTransport",
    "transport": "Counters PeerFault Transport",
}
_HOME = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    module = _HOME.get(name)
    if module is None:
        raise AttributeError(f"module 'solvent.net' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"solvent.net.{module}"), name)
    globals()[name] = value
    return value


__all__ = [
    "Address",
    "Application",
    "Codec",
    "Counters",
    "Host",
    "Hub",
    "Identity",
    "InProcess",
    "Journal",
    "Node",
    "PeerFault",
    "Place",
    "Service",
    "TcpTransport",
    "Transport",
    "Unwelcome",
    "address_from",
    "address_from_text",
    "addresses_from",
    "meet",
    "peers_from_text",
    "text_from_address",
]
