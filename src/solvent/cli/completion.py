"""`solvent completion bash|zsh|fish`: a script that completes commands, options, values, files and names of runs.

`shtab` makes it from the parsers of all commands. All words are in the script, so that a shell need not start Python at
every key; only for the names of runs it calls `solvent completion --runs`.
"""

from __future__ import annotations

import sys
from argparse import SUPPRESS, Action, ArgumentParser, _SubParsersAction
from importlib import import_module
from typing import Any

from solvent.cli.arguments import parser_for
from solvent.cli.main import COMMANDS

_SHELLS = ("bash", "zsh", "fish")
_MAX_SECONDS = 2.0
_EXAMPLE = """\
source <(solvent completion bash)
  solvent completion zsh > ~/.zfunc/_solvent
  solvent completion fish > ~/.config/fish/completions/solvent.fish"""
_FILES = ("FILE", "WORKFLOW", "MODULE.py", "OUT.json", "HOSTS.yaml", "URL")
"""How parsers name values that are files."""
_ASK = "solvent completion --runs 2>/dev/null"
_RUNS = {
    "bash": "_solvent_runs",
    "zsh": "_solvent_runs",
    "fish": f"({_ASK})",
    "preamble": {
        "bash": f'_solvent_runs() {{ compgen -W "$({_ASK})" -- "$1"; }}',
        "zsh": f'_solvent_runs() {{ compadd -- ${{(f)"$({_ASK})"}} }}',
    },
}
"""How each shell gets the names of runs."""


def main(arguments: list[str]) -> int:
    """Print the script, or, for the script, the names of runs."""
    reader = parser()
    options = reader.parse_args(arguments)
    if options.runs:
        sys.stdout.write("".join(f"{name}\n" for name in _runs(options)))
    elif options.shell is None:
        reader.error("the following arguments are required: SHELL")
    else:
        import shtab

        print(shtab.complete(whole_parser(), options.shell))
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Print a script by which a shell completes commands, options, values, files and names of runs."
    parser = parser_for("completion", says, example=_EXAMPLE)
    parser.add_argument("shell", nargs="?", choices=_SHELLS, help="the shell that reads it")
    parser.add_argument("--runs", action="store_true", help=SUPPRESS)
    parser.add_argument("--store", help=SUPPRESS)
    return parser


def whole_parser() -> ArgumentParser:
    """Return a parser of `solvent` with those of all commands, for `shtab`."""
    whole = ArgumentParser(prog="solvent")
    commands = whole.add_subparsers()
    for name, says in COMMANDS.items():
        command: ArgumentParser = import_module(f"solvent.cli.{name}").parser()
        _mark(command)
        commands.add_parser(name, help=says, parents=[command], add_help=False)
    return whole


def _mark(parser: ArgumentParser) -> None:
    """Mark the arguments of a command that are files, folders or runs."""
    for action in parser._actions:  # noqa: SLF001 - argparse has no other way to ask
        if isinstance(action, _SubParsersAction):
            for word in action.choices.values():
                _mark(word)
        elif action.choices is None and (found := _completion_of(action)):
            action.complete = found  # type: ignore[attr-defined] # shtab reads it


def _completion_of(action: Action) -> Any:
    import shtab

    if action.metavar in _FILES:
        return shtab.FILE
    if action.metavar == "DIR":
        return shtab.DIRECTORY
    return _RUNS if action.metavar == "RUN" and action.dest != "name" else None


def _runs(options: Any) -> list[str]:
    """Return the names of runs; no error disturbs the user who types."""
    from solvent.cli.records import place_of
    from solvent.errors import SolventError
    from solvent.store import open_store

    try:
        with open_store(place_of(options), patience=_MAX_SECONDS, is_made=False) as store:
            keys = store.keys("runs/")
    except (SolventError, OSError):
        return []
    # Runs of one process have a key of their own, those of agents a plan.
    return sorted({key.split("/")[1] for key in keys if key.count("/") == 1 or key.endswith("/plan")})
