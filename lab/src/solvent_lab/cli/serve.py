"""`solvent lab serve PROTOCOL`: one node of a protocol in this process, talking to others over TCP.

A protocol is a module that offers what `Served` says; it is imported when it is asked for. Where the node is, whom it
knows, its secret and its journal are the same for all of them and are read here.
"""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from solvent.cli.loading import at_least, parser_for
from solvent.cli.render import complain
from solvent.cli.secrecy import SECRET_VARIABLE, secret_from
from solvent.errors import INTERRUPTED, Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterable, Iterator

    from solvent.net import Address, Node, Place, Service
    from solvent.net.secrecy import Secret

PROTOCOLS = {
    "link": "solvent_lab.cli.serve_link",
    "capture": "solvent_lab.cli.serve_capture",
    "token": "solvent_lab.cli.serve_token",
    "handover": "solvent_lab.cli.serve_handover",
}
DEFAULT_SECRET = f"the variable {SECRET_VARIABLE}, or what only this user's processes on this machine know"


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
        parser().parse_args(arguments)
        return 2
    if name not in PROTOCOLS:
        from solvent.lang.nearest import nearest

        hint = nearest(name, PROTOCOLS) or f"there is: {', '.join(PROTOCOLS)}"
        raise Misuse("P311", f"there is no protocol `{name}` to serve", hint=hint)
    module = import_module(PROTOCOLS[name])
    if hasattr(module, "main"):
        # Its nodes are told by somebody else what to do, and need other options.
        code: int = module.main(arguments[1:])
        return code
    options = _parser_of(name).parse_args(arguments[1:])
    return _serve(cast("Served", module), options)


def parser() -> ArgumentParser:
    """Return the parser of the protocol's name."""
    parser = parser_for(
        "lab serve",
        "Run one node of a protocol, talking to others over TCP.\n"
        "`solvent lab serve PROTOCOL --help` tells a protocol's options.",
        example="solvent lab serve link --node 0 --peers 0=127.0.0.1:7000,1=127.0.0.1:7001",
    )
    parser.add_argument("protocol", metavar="PROTOCOL", help=f"one of: {', '.join(PROTOCOLS)}")
    return parser


def variants() -> dict[str, ArgumentParser]:
    """Return the parsers of what follows the protocols' names."""
    return {name: _parser_of(name) for name in PROTOCOLS}


def _parser_of(name: str) -> ArgumentParser:
    module = import_module(PROTOCOLS[name])
    if hasattr(module, "parser"):
        own: ArgumentParser = module.parser()
        return own
    protocol = cast("Served", module)
    parser = parser_for(f"lab serve {name}", protocol.SAYS, example=protocol.EXAMPLE)
    add_place(parser)
    protocol.add_options(parser)
    return parser


def add_place(parser: ArgumentParser) -> None:
    """Add the options that say where a node is, whom it knows and what it keeps."""
    parser.add_argument("--node", type=at_least(0), default=0, metavar="N", help="this node's number (default: 0)")
    says = "where to listen (default: any port of 127.0.0.1)"
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT", help=says)
    says = "the other nodes; this one may be among them: `0=HOST:PORT,1=HOST:PORT`"
    parser.add_argument("--peers", default="", metavar="PEERS", help=says)
    parser.add_argument("--run", default="", metavar="NAME", help="nodes of different runs do not talk to each other")
    says = f"a file with a secret that all nodes know (default: {DEFAULT_SECRET})"
    parser.add_argument("--secret-file", metavar="FILE", help=says)
    add_no_secret(parser)
    says = "what the node must not forget when it is killed; it goes on from there"
    parser.add_argument("--journal", metavar="FILE", help=says)
    says = "let the journal survive a loss of power too, not only the end of the process"
    parser.add_argument("--fsync", action="store_true", help=says)


def add_no_secret(parser: ArgumentParser) -> None:
    """Add --no-secret."""
    says = "let anybody in who can reach the node; without it, nodes beyond this machine need a secret"
    parser.add_argument("--no-secret", action="store_true", help=says)


def place_from(options: Namespace) -> Place:
    """Give the place that the options tell of."""
    from pathlib import Path

    from solvent.net import Place, address_from_text, peers_from_text
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
        secret=secret_of_nodes(options, (listen, *peers.values())),
        journal=Path(options.journal) if options.journal else None,
        fsync=options.fsync,
    )


def secret_of_nodes(options: Namespace, addresses: Iterable[Address]) -> bytes:
    """Read the secret of nodes at these addresses; beyond this machine there must be one, or --no-secret."""
    from solvent.net import secrecy

    with hints_of_options():
        return secrecy.secret_from(given_secret(options), [host for host, _ in addresses])


def given_secret(options: Namespace) -> Secret:
    """Return the secret that the options tell of: `None` if they tell of none, `False` if none is wanted."""
    return False if options.no_secret else secret_from(options.secret_file)


@contextmanager
def hints_of_options() -> Iterator[None]:
    """Let the error that a secret is missing name the options of the command, not the arguments of Python."""
    try:
        yield
    except Misuse as problem:
        if problem.code != "S210":
            raise
        hint = "give all nodes the same `--secret-file FILE`, or `--no-secret` to let in anybody who can reach them"
        raise Misuse(problem.code, problem.message, hint=hint) from None


def _serve(protocol: Served, options: Namespace) -> int:
    import asyncio

    from solvent.net import Node, text_from_address

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
    return INTERRUPTED


__all__ = [
    "PROTOCOLS",
    "Served",
    "add_no_secret",
    "add_place",
    "given_secret",
    "hints_of_options",
    "main",
    "parser",
    "place_from",
    "secret_of_nodes",
    "variants",
]
