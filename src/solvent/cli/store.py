"""`solvent store serve`: a server that keeps a store, on this machine, from the wheel."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_format, parser_for, port
from solvent.cli.render import complain, write, write_json
from solvent.errors import StoreError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.store.server import Plan, Server

_SERVE = "serve"
_PORT = 4222
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SAYS = (
    "Start a NATS server that keeps stores, for agents of this machine or, with --host, of others; Ctrl-C ends it.\n"
    "What it keeps stays in its folder. docs/how-to/cluster.md shows how three servers survive the loss of one."
)
_EXAMPLE = "solvent store serve\n  solvent store serve --folder /srv/store --host 10.0.0.1 --token-file token --durable"


def main(arguments: list[str]) -> int:
    """Serve until Ctrl-C (0), or until the server ends by itself (1)."""
    if arguments[:1] != [_SERVE]:
        parser().parse_args(arguments)
    options = _serve_parser().parse_args(arguments[1:])
    from solvent.store.server import Server

    server = Server(_plan(options))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.start()
        _say(server, options)
        server.wait()
    except KeyboardInterrupt:
        # A second Ctrl-C must not leave the server alone.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server.stop()
        return 0
    complain("the server has ended by itself", hint=f"{server.log} may say why")
    return 1


def parser() -> ArgumentParser:
    """Return the parser of the command's first word."""
    parser = parser_for("store", "Stores keep what runs must not lose.", example=_EXAMPLE)
    parser.add_argument("what", choices=(_SERVE,), help="start a server that keeps stores")
    return parser


def variants() -> dict[str, ArgumentParser]:
    """Return the parsers of what follows the command's words."""
    return {_SERVE: _serve_parser()}


def _serve_parser() -> ArgumentParser:
    parser = parser_for(f"store {_SERVE}", _SAYS, example=_EXAMPLE)
    says = "where it keeps everything (default: %(default)s)"
    parser.add_argument("--folder", default="solvent-store", metavar="DIR", help=says)
    says = "where it listens (default: %(default)s, this machine only); others need credentials"
    parser.add_argument("--host", default=_LOOPBACK[0], help=says)
    says = "its port, 0 for any that is free (default: %(default)s)"
    parser.add_argument("--port", type=port, default=_PORT, metavar="N", help=says)
    says = "answer when it is on disk: survives a power cut, and is slower"
    parser.add_argument("--durable", action="store_true", help=says)
    _add_protection(parser)
    _add_cluster(parser)
    add_format(parser)
    return parser


def _add_protection(parser: ArgumentParser) -> None:
    parser.add_argument("--user", default="", metavar="NAME", help="who may connect, with --password-file")
    parser.add_argument("--password-file", default="", metavar="FILE", help="the user's password, in the first line")
    parser.add_argument("--token-file", default="", metavar="FILE", help="a secret that all clients know, instead")
    parser.add_argument("--cert", default="", metavar="FILE", help="the server's certificate: clients must use TLS")
    parser.add_argument("--key", default="", metavar="FILE", help="the certificate's key")
    says = "the authority (PEM) that must have signed the clients' certificates"
    parser.add_argument("--ca", default="", metavar="FILE", help=says)


def _add_cluster(parser: ArgumentParser) -> None:
    says = "the server's name in a cluster; each another one"
    parser.add_argument("--name", default="solvent", help=says)
    says = "where the other servers of a cluster find it"
    parser.add_argument("--cluster-port", type=port, default=0, metavar="N", help=says)
    says = "all servers of the cluster, with their cluster ports: `HOST:PORT,HOST:PORT,HOST:PORT`"
    parser.add_argument("--routes", default="", metavar="ADDRESSES", help=says)


def _plan(options: Namespace) -> Plan:
    from pathlib import Path

    from solvent.store.server import Plan

    password, token = _secret(options.password_file), _secret(options.token_file)
    if bool(options.user) != bool(password):
        raise StoreError("E401", "--user and --password-file belong together")
    if bool(options.cert) != bool(options.key) or (options.ca and not options.cert):
        raise StoreError("E401", "--cert and --key belong together, and --ca needs both")
    if bool(options.cluster_port) != bool(options.routes):
        raise StoreError("E401", "--cluster-port and --routes belong together")
    if options.host not in _LOOPBACK and not (options.user or token or options.ca):
        hint = "--token-file, --user and --password-file, or --ca say who may; --cert protects what is said"
        raise StoreError("E401", f"anybody who reaches {options.host} could read and change everything", hint=hint)
    return Plan(
        folder=Path(options.folder).absolute(),
        name=options.name,
        host=options.host,
        port=options.port,
        is_durable=options.durable,
        user=options.user,
        password=password,
        token=token,
        cert=_file(options.cert),
        key=_file(options.key),
        ca=_file(options.ca),
        cluster_port=options.cluster_port,
        routes=tuple(options.routes.split(",")) if options.routes else (),
    )


def _secret(path: str) -> str:
    """Read the first line of a file."""
    if not path:
        return ""
    from pathlib import Path

    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise StoreError("E401", f"the secret in {path} cannot be read: {why}") from None
    line = text.partition("\n")[0].strip()
    if not line:
        raise StoreError("E401", f"there is no secret in the first line of {path}")
    return line


def _file(path: str) -> str:
    """Give the whole path: a server may look from elsewhere."""
    if not path:
        return ""
    from pathlib import Path

    if not Path(path).is_file():
        raise StoreError("E401", f"there is no file {path}")
    return str(Path(path).absolute())


def _say(server: Server, options: Namespace) -> None:
    plan = server.plan
    if options.format == "json":
        write_json({"url": server.url, "folder": str(plan.folder), "durable": plan.is_durable, "pid": server.pid})
    else:
        write(server.url)
        when = "on disk" if plan.is_durable else "written: a power cut may lose the last two minutes (see --durable)"
        write(f"keeps everything in {plan.folder}; answers when it is {when}")
        if plan.user or plan.token:
            who = f"{plan.user}:PASSWORD" if plan.user else "TOKEN"
            write(f"clients say who they are: {server.url.replace('://', f'://{who}@', 1)}")
    sys.stdout.flush()
