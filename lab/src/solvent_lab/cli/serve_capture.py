"""`solvent lab serve capture`: a node that waits for a program and then takes part in its run over many nodes.

It keeps its part and its journal in a folder. Started again with the same folder and address, it resumes.
"""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_tls, load_functions, parser_for, tls_of
from solvent.cli.render import complain
from solvent.errors import NodeProblem
from solvent_lab.cli.serve import add_secret, given_secret, hints_of_options

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.lang.functions import Functions

_EXAMPLE = (
    "solvent lab serve capture --listen 10.0.0.1:7000 --state /var/lib/solvent/node --secret-file secret\n"
    "  solvent run max.hocl --peers 10.0.0.1:7000,10.0.0.2:7000 --secret-file secret"
)


def main(arguments: list[str]) -> int:
    """Serve one run, until it ends or the node is stopped."""
    return _serve(parser().parse_args(arguments))


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lab serve capture", "Wait for a program, and be a node of its run.", example=_EXAMPLE)
    says = "where to listen (default: any port of 127.0.0.1)"
    parser.add_argument("--listen", default="127.0.0.1:0", metavar="HOST:PORT", help=says)
    says = "a folder for what the node must not forget when it is killed"
    parser.add_argument("--state", required=True, metavar="DIR", help=says)
    parser.add_argument("--functions", metavar="MODULE.py", help="Python functions that programs may call")
    add_secret(parser, "a file with the secret of whoever may use the node")
    add_tls(parser)
    return parser


def _serve(options: Namespace) -> int:
    from pathlib import Path

    from solvent.net import address_from_text, secrecy, text_from_address
    from solvent.runs.nodes.keeping import forget, load_part
    from solvent.runs.nodes.node import NodeProcess
    from solvent.runs.nodes.processes import process_run

    listen = address_from_text(options.listen)
    with hints_of_options():
        secret = secrecy.secret_from(given_secret(options), [listen[0]])
    functions = load_functions(options.functions)
    tls = tls_of(options)
    folder = Path(options.state)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise NodeProblem("N140", f"cannot make the folder {folder}: {error.strerror or error}") from error
    port = _listening(*listen)
    part = load_part(folder)

    def own_functions(_: str | None) -> Functions:
        # A program from elsewhere may call what this node offers, and nothing that lies where it was written.
        return functions

    def started(process: NodeProcess) -> None:
        what = "goes on with its run" if part is not None else "waits for a program"
        address = text_from_address(port.getsockname()[:2])
        print(f"a node listens at {address} and {what}", file=sys.stderr, flush=True)
        nodes.append(process)

    nodes: list[NodeProcess] = []
    process_run(lambda: NodeProcess(folder, port, secret, own_functions, tls=tls), part, started=started)
    if nodes[0].is_over:
        # The launcher has the result; the next program finds an empty folder.
        forget(folder)
    if nodes[0].problem is not None:
        complain(f"{nodes[0].problem.code}: {nodes[0].problem.message}")
        return 1
    return 0


def _listening(host: str, number: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, number, type=socket.SOCK_STREAM)[0][0]
        port = socket.socket(family, socket.SOCK_STREAM)
        port.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        port.bind((host, number))
        port.listen()
        port.setblocking(False)
    except OSError as error:
        said = f"cannot listen at {host}:{number}: {error.strerror or error}"
        raise NodeProblem("N103", said, hint="another node may be running there; give another port") from error
    return port


__all__ = ["main", "parser"]
