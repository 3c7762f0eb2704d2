"""Runs machines for real: clocks, sockets and files.

Reading order: host (one machine, its inbox and its effects); journal (what a crash must not take); transport (what
the host asks of a network), inprocess, codec, handshake, incoming, outgoing, tcp.
"""

from solvent.live.codec import Codec
from solvent.live.handshake import Identity
from solvent.live.host import Application, Host
from solvent.live.inprocess import Hub, InProcess
from solvent.live.journal import Journal
from solvent.live.tcp import TcpTransport
from solvent.live.transport import Counters, PeerFault, Transport

__all__ = [
    "Application",
    "Codec",
    "Counters",
    "Host",
    "Hub",
    "Identity",
    "InProcess",
    "Journal",
    "PeerFault",
    "TcpTransport",
    "Transport",
]
