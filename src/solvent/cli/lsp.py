"""`solvent lsp`: a language server for HOCL, which an editor starts and talks to over standard input and output."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_functions, load_functions, parser_for

if TYPE_CHECKING:
    from argparse import ArgumentParser

_SAYS = (
    "Tell an editor, over standard input and output, what is wrong in a HOCL text and what its names mean: the\n"
    "language server protocol. An editor starts it; docs/how-to/editors.md says how."
)


def main(arguments: list[str]) -> int:
    """Talk to an editor; 0 if it said goodbye, 1 if it was gone."""
    options = parser().parse_args(arguments)
    from solvent import __version__
    from solvent.lsp import Server, serve

    # What a user's module prints must not come between messages; and Python would wait for its own standard input, of
    # which somebody else reads, when it ends.
    given, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    server = Server(load_functions(options.functions), version=__version__)
    with out:
        return serve(given, out, server)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    parser = parser_for("lsp", _SAYS, example="solvent lsp --functions functions.py")
    add_functions(parser)
    parser.add_argument("--stdio", action="store_true", help="talk over standard input and output, as it does anyway")
    return parser
