"""The command `solvent lab`: finds the word that follows and hands the rest to its module.

A word's module is imported when it is used. Each has `main(arguments) -> int`, `parser()`, and, where protocols have
options of their own, `variants()`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from solvent.cli.arguments import parser_for
from solvent.errors import Misuse, nearest

if TYPE_CHECKING:
    from collections.abc import Callable

WORDS = {
    "simulate": "run a protocol of many nodes from a seed",
    "check": "try every order of events of a protocol's small worlds",
    "reproduce": "run a paper's experiments: data, plots, and what it says beside what we measure",
    "explore": "explore the rewriting systems of the token paper",
    "serve": "run processes of a protocol that talk over TCP, and kill some",
}


def main(arguments: list[str]) -> int:
    """Run a word of `solvent lab`."""
    word = arguments[0] if arguments else ""
    if not word or word.startswith("-"):
        parser = parser_for("lab", _overview(), example="solvent lab check capture --list")
        parser.add_argument("word", metavar="WORD", choices=tuple(WORDS), help=f"one of: {', '.join(WORDS)}")
        parser.parse_args(arguments)
    if word not in WORDS:
        hint = nearest(word, WORDS) or f"there is: {', '.join(WORDS)}"
        raise Misuse("H319", f"`solvent lab` has no word `{word}`", hint=hint)
    command: Callable[[list[str]], int] = import_module(f"solvent_lab.cli.{word}").main
    return command(arguments[1:])


def _overview() -> str:
    words = "\n".join(f"  {word:<10} {says}" for word, says in WORDS.items())
    return f"Simulate and check Solvent's protocols, and reproduce the papers' experiments.\n\n{words}"


__all__ = ["WORDS", "main"]
