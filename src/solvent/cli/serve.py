"""`solvent serve PROTOCOL`: one node of a protocol in this process, talking to others over TCP.

A protocol is a module that offers what `Served` says; it is imported when it is asked for. Where the node is, whom it
knows, its secret and its journal are the same for all of them and are read here.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from solvent.cli.loading import at_least, parser_for
from solvent.cli.render import complain
from solvent.errors import Misuse, NodeProblem

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.live import Node, Place, Service

PROTOCOLS = {
    "link": "solvent.cli.serve_link",
    "capture": "solvent.cli.serve_capture",
    "token": "solvent.cli.serve_token",
    "handover": "solvent.cli.serve_handover",
}
SECRET_VARIABLE = "SOLVENT_SECRET"  # noqa: S105 - a name, no secret


class Served(Protocol):
    """What the module of a protocol offers."""

    SAYS: str
    """One line: what a node does."""
    EXAMPLE: str
    """A command line to try."""

    def add_options(self, parser: ArgumentParser) -> None:
        """Add the protocol's own options."""

    def service(self, options: Namespace, place: Place) -> Service:
        """Give what the node does."""

    def started(self, options: Namespace, place: Place, node: Node) -> None:
        """Hear that the node listens; `node.host.request` may set it going, `node.host.stop` ends it."""


def main(arguments: list[str]) -> int:
    """Serve until the node is over, somebody stops it (3), or it fails."""
    name = arguments[0] if arguments else ""
    if not name or name.startswith("-"):
        return _general(arguments)
    if name not in PROTOCOLS:
        from solvent.hocl.nearest import nearest

        hint = nearest(name, PROTOCOLS) or f"there is: {', '.join(PROTOCOLS)}"
        raise Misuse("P311", f"there is no protocol `{name}` to serve", hint=hint)
    module = import_module(PROTOCOLS[name])
    if hasattr(module, "main"):
        # Its nodes are told by somebody else what to do, and need other options.
        code: int = module.main(arguments[1:])
        return code
    protocol = cast("Served", module)
    parser = parser_for(f"serve {name}", protocol.SAYS, example=protocol.EXAMPLE)
    add_place(parser)
    protocol.add_options(parser)
    options = parser.parse_args(arguments[1:])
    return _serve(protocol, options)


def add_place(parser: ArgumentParser) -> None:
    """Add the options that say where a node is, whom it knows and what it keeps."""
    parser.add_argument("--node", type=at_least(0), default=0, metavar="N", help="this node's number (default: 0)")
    says = "where to listen (default: any port of 127.0.0.1)"
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT", help=says)
    says = "the other nodes; this one may be among them: `0=HOST:PORT,1=HOST:PORT`"
    parser.add_argument("--peers", default="", metavar="PEERS", help=says)
    parser.add_argument("--run", default="", metavar="NAME", help="nodes of different runs do not talk to each other")
    says = f"a file with a secret that all nodes know (default: the variable {SECRET_VARIABLE}, or none)"
    parser.add_argument("--secret-file", metavar="FILE", help=says)
    says = "what the node must not forget when it is killed; it goes on from there"
    parser.add_argument("--journal", metavar="FILE", help=says)
    says = "let the journal survive a loss of power too, not only the end of the process"
    parser.add_argument("--fsync", action="store_true", help=says)


def place_from(options: Namespace) -> Place:
    """Give the place that the options tell of."""
    from pathlib import Path

    from solvent.live import Place, address_from_text, peers_from_text
    from solvent.protocols.machine import NodeId

    node = NodeId(options.node)
    peers = peers_from_text(options.peers)
    listen = peers.pop(node, None)
    if listen is None or options.listen != "127.0.0.1:0":
        listen = address_from_text(options.listen)
    return Place(
        node=node,
        listen=listen,
        peers=peers,
        run=options.run,
        secret=secret_from(options.secret_file),
        journal=Path(options.journal) if options.journal else None,
        fsync=options.fsync,
    )


def secret_from(path: str | None) -> bytes:
    """Read the secret; it is never an argument, since everybody on a machine can read those."""
    if path is None:
        return os.environ.get(SECRET_VARIABLE, "").encode()
    from pathlib import Path

    try:
        secret = Path(path).read_bytes().strip()
    except OSError as error:
        raise NodeProblem("N120", f"cannot read the secret in {path}: {error.strerror or error}") from error
    if not secret:
        raise NodeProblem("N120", f"{path} is empty: that is no secret")
    return secret


def _serve(protocol: Served, options: Namespace) -> int:
    import asyncio

    from solvent.live import Node, text_from_address

    place = place_from(options)
    node = Node(protocol.service(options, place), place)

    def started(node: Node) -> None:
        for note in node.journal.notes if node.journal is not None else ():
            complain(note)
        print(f"node {place.node} listens at {text_from_address(node.transport.address)}", file=sys.stderr, flush=True)
        protocol.started(options, place, node)

    stopped_by = asyncio.run(node.serve(started))
    if stopped_by is None:
        return 0
    complain(f"node {place.node} stopped")
    return 3


def _general(arguments: list[str]) -> int:
    """Say which protocols there are."""
    parser = parser_for(
        "serve",
        "Run one node of a protocol, talking to others over TCP.\n"
        "`solvent serve PROTOCOL --help` tells a protocol's options.",
        example="solvent serve link --node 0 --peers 0=127.0.0.1:7000,1=127.0.0.1:7001",
    )
    parser.add_argument("protocol", metavar="PROTOCOL", help=f"one of: {', '.join(PROTOCOLS)}")
    parser.parse_args(arguments)
    return 2


__all__ = ["PROTOCOLS", "SECRET_VARIABLE", "Served", "add_place", "main", "place_from", "secret_from"]
