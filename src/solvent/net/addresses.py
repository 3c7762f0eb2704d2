"""Where nodes listen, as people write it: `HOST:PORT`, `[IPV6]:PORT`, and `0=HOST:PORT,1=HOST:PORT` for several."""

from __future__ import annotations

import errno
from typing import Any, TypeAlias

from solvent.errors import NodeProblem
from solvent.protocols.machine import NodeId

Address: TypeAlias = tuple[str, int]
_HINT = "write HOST:PORT, as in 127.0.0.1:7000 or [::1]:7000"
MAX_PORT = 65_535


def address_from_text(text: str) -> Address:
    """Read one address."""
    host, colon, port = text.strip().rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not (colon and host and port.isascii() and port.isdigit() and int(port) <= MAX_PORT):
        raise NodeProblem("N104", f"`{text}` is not an address", hint=_HINT)
    return host, int(port)


def address_from(given: Any) -> Address:
    """Read an address that a program gives: text, or host and port."""
    if isinstance(given, str):
        return address_from_text(given)
    match given:
        case (str(host), int(port)) if 0 <= port <= MAX_PORT:
            return host, port
    raise NodeProblem("N104", f"{given!r} is not an address", hint=_HINT)


def addresses_from(given: Any) -> tuple[Address, ...]:
    """Read none, one or several of them."""
    if given is None:
        return ()
    if isinstance(given, list) or (isinstance(given, tuple) and not (len(given) == 2 and isinstance(given[1], int))):
        return tuple(address_from(one) for one in given)
    return (address_from(given),)


def peers_from_text(text: str) -> dict[NodeId, Address]:
    """Read the addresses of several nodes: numbers and addresses, separated by commas or blanks."""
    peers = dict[NodeId, Address]()
    for part in text.replace(",", " ").split():
        number, equals, address = part.partition("=")
        if not (equals and number.isascii() and number.isdigit()):
            raise NodeProblem("N105", f"`{part}` is no node and its address", hint="write 0=HOST:PORT,1=HOST:PORT")
        node = NodeId(int(number))
        if node in peers:
            raise NodeProblem("N105", f"node {node} is given twice")
        peers[node] = address_from_text(address)
    return peers


def cannot_listen(address: Address, error: OSError | OverflowError) -> NodeProblem:
    """Return why nothing can listen at an address: N101 for a port that there is not, N102 if it is in use, or N103."""
    host, port = address
    if not 0 <= port <= MAX_PORT:
        hint = f"ports go from 1 to {MAX_PORT}; 0 takes any free one"
        return NodeProblem("N101", f"{port} is not a port", hint=hint)
    if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
        hint = "another node may be running; give another port, or 0 for any free one"
        return NodeProblem("N102", f"the port {port} of {host} is in use", hint=hint)
    why = error.strerror or error if isinstance(error, OSError) else error
    return NodeProblem("N103", f"cannot listen at {host}:{port}: {why}")


def text_from_address(address: Address) -> str:
    """Write an address."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


__all__ = ["Address", "address_from", "address_from_text", "addresses_from", "peers_from_text", "text_from_address"]
