"""Runs machines for real: clocks, sockets and files.

Reading order: host (one machine, its inbox and its effects); journal (what a crash must not take); transport (what
the host asks of a network), inprocess, codec, handshake, incoming, outgoing, tcp, meeting;
addresses and serving (a node on the network).
"""

from solvent.live.addresses import (
    Address,
    address_from,
    address_from_text,
    addresses_from,
    peers_from_text,
    text_from_address,
)
from solvent.live.codec import Codec
from solvent.live.handshake import Identity
from solvent.live.host import Application, Host
from solvent.live.inprocess import Hub, InProcess
from solvent.live.journal import Journal
from solvent.live.meeting import Unwelcome, meet
from solvent.live.serving import Node, Place, Service
from solvent.live.tcp import TcpTransport
from solvent.live.transport import Counters, PeerFault, Transport

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
