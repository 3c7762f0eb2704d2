"""`solvent web`: a page that shows runs as they happen, in a browser of this machine."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_store, parser_for, port
from solvent.cli.records import place_of
from solvent.cli.render import complain, write
from solvent.cli.secrecy import redacted
from solvent.errors import Misuse, install_hint

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

PORT = 8765
MIN_SECRET_CHARACTERS = 16
MAX_SECRET_CHARACTERS = 1000


def main(arguments: list[str]) -> int:
    """Serve the page until Ctrl-C."""
    options = parser().parse_args(arguments)
    secret = _secret(options)
    try:
        import starlette  # noqa: F401 - whether it is there
        import uvicorn  # noqa: F401 - the same
    except ModuleNotFoundError as error:
        said = f"the page needs a package that is not installed: {error.name}"
        raise Misuse("H353", said, hint=install_hint("web")) from None
    from solvent.net.secrecy import is_loopback
    from solvent.web.server import Server, address_of, listen
    from solvent.web.site import Site

    if not is_loopback(options.host) and not options.expose:
        said = f"anyone who can reach {options.host} could see all runs and their data"
        hint = "stay with 127.0.0.1 and connect by `ssh -L`; or, in a network that you trust, add --expose"
        raise Misuse("H351", said, hint=hint)
    place = place_of(options)
    with listen(options.host, options.port) as listening:
        hosts = frozenset({options.host, *options.name})
        folders = tuple(map(_folder_of_run, options.nodes))
        status_folder = None if options.status is None else Path(options.status)
        shown = redacted(place)
        site = Site(place, shown=shown, secret=secret, hosts=hosts, folders=folders, status_folder=status_folder)
        # Refuse a wrong address now, not on every page; a file that does not exist yet may appear.
        site.store()
        if not is_loopback(options.host):
            complain(f"warning: anyone who can reach {options.host} can see all runs; nothing is encrypted")

        def ready() -> None:
            write((address_of(listening), "bold"))
            write(f"shows the runs of {site.shown}; Ctrl-C ends it", to=sys.stderr)
            sys.stdout.flush()

        # `run` raises Ctrl-C again after it has ended.
        with closing(site), suppress(KeyboardInterrupt):
            Server(site, ready=ready).run(sockets=[listening])
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Show runs of workflows in a browser, as they happen, and step through them."
    parser = parser_for("web", says, example="solvent web\n  solvent web --store runs.db --port 0")
    add_store(parser)
    says = "the address to listen on (default: %(default)s, this machine only)"
    parser.add_argument("--host", default="127.0.0.1", metavar="HOST", help=says)
    says = "the port; 0 for any free one (default: %(default)s)"
    parser.add_argument("--port", type=port, default=PORT, metavar="N", help=says)
    parser.add_argument("--expose", action="store_true", help="allow other machines to connect; nothing is encrypted")
    says = "another name of this host, such as that of a proxy (repeatable)"
    parser.add_argument("--name", action="append", default=[], metavar="NAME", help=says)
    says = "the folder of a run over nodes (--state), besides those that are found (repeatable)"
    parser.add_argument("--nodes", action="append", default=[], metavar="DIR", help=says)
    says = "the folder in which rings and shared data report their status (default: their own default)"
    parser.add_argument("--status", metavar="DIR", help=says)
    says = "allow users who know the secret to cancel runs from the page"
    parser.add_argument("--control", action="store_true", help=says)
    says = f"the secret: a file that only you can read, of {MIN_SECRET_CHARACTERS} characters at least"
    parser.add_argument("--secret-file", metavar="FILE", help=says)
    return parser


def _folder_of_run(given: str) -> Path:
    """Return the folder of a run over nodes; raise `Misuse` if it is not one."""
    from solvent.runs.nodes.folder import load_run

    load_run(Path(given))
    return Path(given).resolve()


def _secret(options: Namespace) -> str:
    """Return the secret that allows to cancel runs; nothing without `--control`."""
    if options.control != (options.secret_file is not None):
        missing = "`--control` needs a secret" if options.control else "`--secret-file` is for --control"
        hint = "solvent web --control --secret-file FILE"
        raise Misuse("H352", missing, hint=hint)
    if not options.control:
        return ""
    file = Path(options.secret_file)
    try:
        text = file.read_text(encoding="utf-8").strip()
        mode = file.stat().st_mode
    except (OSError, UnicodeDecodeError) as error:
        said = getattr(error, "strerror", None) or "it is no text"
        raise Misuse("H352", f"the secret cannot be read from {file}: {said}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise Misuse("H352", f"others can read the secret in {file}", hint=f"chmod 600 {file}")
    if not MIN_SECRET_CHARACTERS <= len(text) <= MAX_SECRET_CHARACTERS or not text.isprintable() or not text.isascii():
        said = f"the secret in {file} is not one line of {MIN_SECRET_CHARACTERS} ASCII characters or more"
        hint = 'python -c "import secrets; print(secrets.token_urlsafe())"'
        raise Misuse("H352", said, hint=hint)
    return text
