"""The parsers of all commands, as their own `--help` shows them: for the reference of options, and for completion."""

from __future__ import annotations

from argparse import ArgumentParser
from contextlib import contextmanager
from importlib import import_module
from typing import IO, TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Asked(Exception):
    """The parser of a command was asked for help."""

    def __init__(self, parser: ArgumentParser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


def _answer(parser: ArgumentParser, _file: IO[str] | None = None) -> NoReturn:
    raise _Asked(parser)


@contextmanager
def _asked() -> Iterator[None]:
    kept, ArgumentParser.print_help = ArgumentParser.print_help, _answer  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        ArgumentParser.print_help = kept  # type: ignore[method-assign]


def parser_of(*words: str) -> ArgumentParser:
    """Give the parser that reads what follows these words."""
    command = import_module(f"solvent.cli.{words[0].replace('-', '_')}").main
    with _asked():
        try:
            command([*words[1:], "--help"])
        except _Asked as found:
            return found.parser
    raise AssertionError(f"`solvent {' '.join(words)} --help` shows no help")


def variants() -> dict[str, list[tuple[str, ...]]]:
    """Give, by command, the words behind which it has other options."""
    from solvent.checker.registry import protocols
    from solvent.cli.serve import PROTOCOLS as SERVED
    from solvent.cli.simulate import PROTOCOLS as SIMULATED

    return {
        "run": [("run", "--agents", "2"), ("run", "--nodes", "2")],
        "explore": [("explore", "token")],
        "check": [("check", name) for name in protocols()],
        "simulate": [("simulate", name) for name in SIMULATED],
        "serve": [("serve", name) for name in SERVED],
        "space": [("space", "serve")],
        "agents": [("agents", what) for what in ("up", "down", "list")],
    }


__all__ = ["parser_of", "variants"]
