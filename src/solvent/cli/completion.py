"""`solvent completion bash|zsh|fish`: a script by which the shell completes words of `solvent`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import parser_for

if TYPE_CHECKING:
    from argparse import ArgumentParser

_SHELLS = ("bash", "zsh", "fish")
_RUNS = "--runs"
_PATIENCE_S = 2.0
_EXAMPLE = """\
source <(solvent completion bash)
  solvent completion zsh > ~/.zfunc/_solvent
  solvent completion fish > ~/.config/fish/completions/solvent.fish"""


def main(arguments: list[str]) -> int:
    """Print the script, or, for the script, the names of runs."""
    if arguments[:1] == [_RUNS]:
        return _print_runs(arguments[1:])
    shell = parser().parse_args(arguments).shell
    from solvent.cli.completing import what_follows
    from solvent.cli.completion_scripts import SCRIPTS

    sys.stdout.write(SCRIPTS[shell](what_follows()))
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Print a script by which the shell completes commands, options, values, files and names of runs."
    parser = parser_for("completion", says, example=_EXAMPLE)
    parser.add_argument("shell", choices=_SHELLS, help="the shell that reads it")
    return parser


def _print_runs(arguments: list[str]) -> int:
    """Print the names of runs; whatever is wrong is told by the command that is typed, and not while typing."""
    from solvent.cli.records import add_store, place_of
    from solvent.errors import SolventError

    parser = parser_for(f"completion {_RUNS}", "Print the names of runs.")
    add_store(parser)
    try:
        place = place_of(parser.parse_args(arguments))
        names = _names(place)
    except (SolventError, OSError):
        return 0
    sys.stdout.write("".join(f"{name}\n" for name in names))
    return 0


def _names(place: str) -> list[str]:
    from solvent.store import open_store

    with open_store(place, patience=_PATIENCE_S, is_made=False) as store:
        # Runs of one process have a key of their own, those of agents a plan.
        found = {key.split("/")[1] for key in store.keys("runs/") if key.count("/") == 1 or key.endswith("/plan")}
    return sorted(found)


__all__ = ["main", "parser"]
