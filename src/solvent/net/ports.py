"""Ports of this machine that nobody listens to, for processes that are started with their addresses.

Between asking for a port and using it somebody else may take it. The system gives whoever listens at any port, or
connects to somebody, one of a known range; so those below it are drawn, which nobody is given by chance.
"""

from __future__ import annotations

import errno
import random
import socket
from contextlib import suppress
from pathlib import Path

LOOPBACK = "127.0.0.1"
_GIVEN = Path("/proc/sys/net/ipv4/ip_local_port_range")
_LOWEST = 10_000
_TRIES_PER_PORT = 50


def free_ports(count: int, host: str = LOOPBACK) -> list[int]:
    """Give several ports, each another one; raise `OSError` where nothing can listen at the host."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = list[int]()
    sockets = list[socket.socket]()
    try:
        for port in (*_drawn(count * _TRIES_PER_PORT), *[0] * count):
            if len(found) == count:
                break
            one = socket.socket(family, socket.SOCK_STREAM)
            sockets.append(one)
            try:
                one.bind((host, port))
            except OSError as error:
                if not port or error.errno not in (errno.EADDRINUSE, errno.EACCES):
                    raise
            else:
                found.append(one.getsockname()[1])
    finally:
        for one in sockets:
            one.close()
    return found


def _drawn(count: int) -> list[int]:
    """Draw ports that the system gives to nobody by itself; none where that is not known."""
    with suppress(OSError, ValueError):
        ports = range(_LOWEST, int(_GIVEN.read_text(encoding="ascii").split()[0]))
        # By chance of the system: processes that were seeded alike would draw the same.
        return random.SystemRandom().sample(ports, min(count, len(ports)))
    return []


__all__ = ["LOOPBACK", "free_ports"]
