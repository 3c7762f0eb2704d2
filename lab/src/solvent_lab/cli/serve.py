"""`solvent lab serve PROTOCOL`: real processes that run a protocol over TCP, or a chaos run of many of them.

Each protocol is a module with `main(arguments) -> int` and `parser()`, imported when it is asked for. The options for
secrets are the same for all of them and are read here.
"""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from solvent.cli.arguments import parser_for
from solvent.cli.secrecy import SECRET_VARIABLE, secret_from
from solvent.errors import Misuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from solvent.net.secrecy import Secret

PROTOCOLS = {
    "capture": "solvent_lab.cli.serve_capture",
    "token": "solvent_lab.cli.serve_token",
    "handover": "solvent_lab.cli.serve_handover",
}


def main(arguments: list[str]) -> int:
    """Hand the rest of the arguments to the protocol's module."""
    name = arguments[0] if arguments else ""
    if not name or name.startswith("-"):
        parser().parse_args(arguments)
        return 2
    if name not in PROTOCOLS:
        from solvent.errors import nearest

        hint = nearest(name, PROTOCOLS) or f"there is: {', '.join(PROTOCOLS)}"
        raise Misuse("P311", f"there is no protocol `{name}` to serve", hint=hint)
    code: int = import_module(PROTOCOLS[name]).main(arguments[1:])
    return code


def parser() -> ArgumentParser:
    """Return the parser of the protocol's name."""
    parser = parser_for(
        "lab serve",
        "Run processes of a protocol that talk over TCP.\n"
        "`solvent lab serve PROTOCOL --help` lists a protocol's options.",
        example="solvent lab serve token --nodes 8 --kill-every 3",
    )
    parser.add_argument("protocol", metavar="PROTOCOL", help=f"one of: {', '.join(PROTOCOLS)}")
    return parser


def variants() -> dict[str, ArgumentParser]:
    """Return the parsers of what follows the protocols' names."""
    return {name: import_module(module).parser() for name, module in PROTOCOLS.items()}


def add_secret(parser: ArgumentParser, says: str) -> None:
    """Add --secret-file and --no-secret."""
    default = f"the variable {SECRET_VARIABLE}, or what only this user's processes on this machine know"
    parser.add_argument("--secret-file", metavar="FILE", help=f"{says} (default: {default})")
    says = "let anybody in who can reach the node; without it, nodes beyond this machine need a secret"
    parser.add_argument("--no-secret", action="store_true", help=says)


def given_secret(options: Namespace) -> Secret:
    """Return the secret named by the options: `None` if they name none, `False` if none is wanted."""
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


__all__ = ["PROTOCOLS", "add_secret", "given_secret", "hints_of_options", "main", "parser", "variants"]
