"""`solvent store serve`: a server on this machine that keeps stores."""

from __future__ import annotations

import signal
import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_format, add_words, parser_for, parser_settings, port
from solvent.cli.render import complain, write, write_json
from solvent.errors import StoreError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.store.server import Plan, Server

_PORT = 4222
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_SAYS = (
    "Start a NATS server that keeps stores, for agents of this machine or, with --host, of others; Ctrl-C ends it.\n"
    "What it keeps stays in its folder. docs/how-to/cluster.md shows how three servers survive the loss of one."
)
_EXAMPLE = "solvent store serve\n  solvent store serve --folder /srv/store --host 10.0.0.1 --token-file token --durable"


def main(arguments: list[str]) -> int:
    """Serve until Ctrl-C (0), or until the server ends by itself (1)."""
    options = parser().parse_args(arguments)
    from solvent.store.server import Server

    server = Server(_plan(options))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        server.start()
        _print_address(server, options)
        server.wait()
    except KeyboardInterrupt:
        # A second Ctrl-C must not leave the server alone.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        server.stop()
        return 0
    complain("the server has ended by itself", hint=f"see its log, {server.log}")
    return 1


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("store", "Stores hold the records of runs.", example=_EXAMPLE)
    words = add_words(parser, "what to do")
    says = "start a server that keeps stores"
    _add_serve(words.add_parser("serve", help=says, description=_SAYS, **parser_settings(_EXAMPLE)))
    return parser


def _add_serve(parser: ArgumentParser) -> None:
    says = "where it keeps its files (default: %(default)s)"
    parser.add_argument("--folder", default="solvent-store", metavar="DIR", help=says)
    says = "where it listens (default: %(default)s, this machine only); other addresses need credentials"
    parser.add_argument("--host", default=_LOOPBACK[0], help=says)
    says = "its port; 0 for any free one (default: %(default)s)"
    parser.add_argument("--port", type=port, default=_PORT, metavar="N", help=says)
    says = "acknowledge writes when they are on disk: slower, but a power cut loses nothing"
    parser.add_argument("--durable", action="store_true", help=says)
    _add_protection(parser)
    _add_cluster(parser)
    add_format(parser)


def _add_protection(parser: ArgumentParser) -> None:
    parser.add_argument("--user", default="", metavar="NAME", help="the user who may connect, with --password-file")
    parser.add_argument("--password-file", default="", metavar="FILE", help="the user's password, in the first line")
    parser.add_argument(
        "--token-file", default="", metavar="FILE", help="a secret that all clients know, instead of a user"
    )
    parser.add_argument("--cert", default="", metavar="FILE", help="the server's certificate: clients must use TLS")
    parser.add_argument("--key", default="", metavar="FILE", help="the certificate's key")
    says = "the authority (PEM) that must have signed the clients' certificates"
    parser.add_argument("--ca", default="", metavar="FILE", help=says)


def _add_cluster(parser: ArgumentParser) -> None:
    says = "the server's name in a cluster, which must be unique"
    parser.add_argument("--name", default="solvent", help=says)
    says = "the port for the other servers of a cluster"
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
        hint = "limit access by --token-file, --user and --password-file, or --ca; encrypt by --cert"
        raise StoreError("E401", f"anyone who can reach {options.host} could read and change everything", hint=hint)
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
    """Return the absolute path of a file: the server runs in another folder."""
    if not path:
        return ""
    from pathlib import Path

    if not Path(path).is_file():
        raise StoreError("E401", f"there is no file {path}")
    return str(Path(path).absolute())


def _print_address(server: Server, options: Namespace) -> None:
    plan = server.plan
    if options.format == "json":
        write_json({"url": server.url, "folder": str(plan.folder), "durable": plan.is_durable, "pid": server.pid})
    else:
        write(server.url)
        when = "when" if plan.is_durable else "before"
        more = "" if plan.is_durable else ": a power cut may lose the last two minutes (see --durable)"
        write(f"keeps its files in {plan.folder}; acknowledges writes {when} they are on disk{more}")
        if plan.user or plan.token:
            who = f"{plan.user}:PASSWORD" if plan.user else "TOKEN"
            write(f"clients connect to {server.url.replace('://', f'://{who}@', 1)}")
    sys.stdout.flush()
