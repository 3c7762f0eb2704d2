"""`solvent lsp`: a language server for HOCL, which an editor starts and talks to over standard input and output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_functions, load_functions, parser_for

if TYPE_CHECKING:
    from argparse import ArgumentParser

_SAYS = (
    "Serve an editor by the language server protocol, over standard input and output: errors in HOCL programs, and\n"
    "what their names mean. An editor starts it; docs/how-to/editors.md describes how."
)


def main(arguments: list[str]) -> int:
    """Serve an editor; return 0 if it ended the session, 1 if it disappeared."""
    options = parser().parse_args(arguments)
    from solvent import __version__
    from solvent.lsp import Server, serve

    # What a user's module prints must not get between messages, and Python would wait for its own standard input, which
    # another thread reads, when it ends.
    given, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server = Server(load_functions(options.functions), version=__version__)
    with out:
        return serve(given, out, server)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lsp", _SAYS, example="solvent lsp --functions functions.py")
    add_functions(parser)
    parser.add_argument("--stdio", action="store_true", help="use standard input and output (default)")
    return parser
