"""Where hosts listen and how they are reached: by TCP, and on one machine by a Unix socket, which is faster.

Everybody is known by the address of its TCP port. Where the system has names for Unix sockets that are no files
(Linux), a host that has a port also listens under a name made of its number; whoever dials an address of this machine
tries that name first. Another host may answer there, since ports belong to addresses and names do not; the handshake
finds out, and the port itself is dialled next.
"""

from __future__ import annotations

import errno
import socket
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypeAlias

from solvent.net.addresses import cannot_listen

if TYPE_CHECKING:
    from solvent.net.addresses import Address

HAS_NAMES = sys.platform == "linux"
BACKLOG = 512
MAX_UNANSWERED_MS = 10_000
"""How long what was written may remain without a sign from the other machine."""
Dialled: TypeAlias = tuple[socket.socket, bool]
"""A socket, and whether it is connected already."""


def listen(address: Address) -> tuple[list[socket.socket], Address]:
    """Listen; give the sockets and the address that has been given; raise `NodeProblem` where that is not possible."""
    host, port = address
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        raise cannot_listen(address, error) from error
    listening.setblocking(False)
    found: Address = listening.getsockname()[:2]
    sockets = [listening]
    if HAS_NAMES:
        named = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            named.setblocking(False)
            named.bind(_name(found[1]))
            named.listen(BACKLOG)
            sockets.append(named)
        except OSError:
            # Somebody else has the name, at another address of this machine.
            named.close()
    return sockets, found


def dial_by_name(address: Address, own: Address) -> Dialled | None:
    """Try the faster way; give nothing where it is closed, or where no file can be opened just now."""
    host, port = address
    if not HAS_NAMES or not _is_here(host, own):
        return None
    try:
        named = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    except OSError:
        return None
    try:
        named.setblocking(False)
        named.connect(_name(port))
    except OSError:
        named.close()
        return None
    return named, True


def dial(address: Address) -> Dialled:
    """Begin to connect to a port; raise `OSError` where that fails at once."""
    family, kind, protocol, _, place = _resolved(address)
    line = socket.socket(family, kind, protocol)
    try:
        line.setblocking(False)
        tune(line)
        problem = line.connect_ex(place)
    except BaseException:
        line.close()
        raise
    if problem not in (0, errno.EINPROGRESS):
        line.close()
        raise OSError(problem, "cannot connect")
    return line, problem == 0


def tune(line: socket.socket) -> None:
    """Have what is written sent at once, and a machine that vanished noticed."""
    if line.family == socket.AF_UNIX:
        return
    with suppress(OSError):
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        line.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            line.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, MAX_UNANSWERED_MS)


def _resolved(address: Address) -> tuple[int, int, int, str, tuple[object, ...]]:
    host, port = address
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return found[0]


def _is_here(host: str, own: Address) -> bool:
    return host.startswith("127.") or host in ("::1", "localhost", own[0])


def _name(port: int) -> str:
    return f"\0solvent-direct-{port}"


__all__ = ["BACKLOG", "HAS_NAMES", "Dialled", "dial", "dial_by_name", "listen", "tune"]
