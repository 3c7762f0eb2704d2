"""Finds the command, runs it, and turns every way it can end into an exit code.

    0  done                  2  wrong usage or bad input          70  a fault in Solvent itself
    1  the program failed    3  a limit was reached, or Ctrl-C   130  Ctrl-C while a workflow ran

A command's module is imported when it is used, because the start-up of `solvent run` is paid at every run.
Each has `main(arguments) -> int`. What goes wrong on purpose is a `SolventError`, shown without a
traceback.
"""

from __future__ import annotations

import os
import sys
from itertools import pairwise
from typing import TYPE_CHECKING

from solvent.errors import Misuse, SolventError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

COMMANDS = {
    "run": "run a program until it is inert, or a workflow until it is done",
    "trace": "run a program and show every reaction",
    "why": "show the reactions that made a molecule",
    "why-not": "show what stops a rule from reacting",
    "explore": "try every order of reactions, or of the tasks of a workflow",
    "check": "look for errors without running",
    "show": "draw a workflow, or the states of a program: in the terminal, as SVG, PNG or DOT",
    "convert": "write a workflow in another format",
    "concretise": "print the concrete program of a workflow",
    "simulate": "run a protocol of many nodes from a seed",
    "reproduce": "run a paper's experiments: data, plots, and what it says beside what we measure",
    "serve": "run one node of a protocol, talking to others over TCP",
    "space": "start a server that keeps what runs must not lose",
    "agent": "run tasks of submitted workflows, together with other agents",
    "agents": "start, list and end agents on several machines",
    "submit": "give a workflow to agents",
    "web": "show runs in a browser, as they happen",
    "top": "show what the nodes of a run are doing",
    "fmt": "put programs into the common layout",
    "lsp": "tell an editor what is wrong in a program and what its names mean",
    "repl": "add molecules and watch them react, at a prompt",
    "resume": "go on with a run of a workflow that was stopped",
    "status": "list the runs of workflows that are recorded, or show one",
    "logs": "show what happened in a run of a workflow",
    "timeline": "draw what happened when in a run of a workflow",
    "replay": "do a run of a workflow again from its record, calling nobody",
    "cancel": "end a run of a workflow",
    "doctor": "say what is installed, and whether what runs need is there",
    "completion": "print a script by which the shell completes words",
}
_FRAMES = 20_000
_OVERVIEW = """\
usage: solvent COMMAND [OPTIONS] FILE

Runs HOCL programs, solutions of molecules and the rules by which they react, and workflows on top of them.

commands:
{commands}

examples:
  solvent run max.hocl                  the final solution, on standard output
  solvent run max.hocl --seed 7         another order of reactions
  solvent trace max.hocl                every reaction, step by step
  solvent why max.hocl '9'              how the molecule 9 came about
  solvent explore forks.hocl            does it always end, and always alike?
  solvent run pipeline.yaml             a workflow: .yaml, .json, .hocl or .py
  solvent show pipeline.yaml            its tasks, and who takes over for whom
  echo '<1, 2, replace x, y by x + y>' | solvent run -

`solvent COMMAND --help` tells more about a command; `solvent --version` the version.
exit codes: 0 done, 1 the program failed, 2 wrong usage or bad input, 3 a limit was reached or Ctrl-C"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not cost the user the result.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
    from solvent.cli.render import use_json

    use_json(is_so="--format=json" in arguments or ("--format", "json") in pairwise(arguments))
    return _guarded(lambda: _dispatch(arguments))


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else ""
    if any("://" in one and "@" in one for one in arguments):
        from solvent.cli.secrecy import hide

        arguments = hide(arguments)
    if name in COMMANDS:
        from importlib import import_module

        command: Callable[[list[str]], int] = import_module(f"solvent.cli.{name.replace('-', '_')}").main
        return command(arguments[1:])
    if name in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if name in ("-V", "--version", "version"):
        from solvent import __version__

        print(f"solvent {__version__}")
        return 0
    return _unknown(name)


def _overview() -> str:
    return _OVERVIEW.format(commands="\n".join(f"  {name:<10} {says}" for name, says in COMMANDS.items()))


def _unknown(name: str) -> int:
    if not name:
        print(_overview(), file=sys.stderr)
        return 2
    from solvent.cli.render import is_json_used
    from solvent.hocl.nearest import nearest

    hint = nearest(name, COMMANDS) or "`solvent --help` lists the commands"
    if name.endswith(".hocl"):
        hint = f"to run a program: `solvent run {name}`"
    if is_json_used():
        raise Misuse("H319", f"there is no command `{name}`", hint=hint)
    print(f"solvent: there is no command `{name}`\n  hint: {hint}", file=sys.stderr)
    return 2


def _guarded(command: Callable[[], int]) -> int:
    """Run a command; whatever ends it becomes a message and an exit code."""
    from solvent.cli.render import complain, show_error

    try:
        try:
            code = command()
            sys.stdout.flush()
        except SolventError as error:
            sys.stdout.flush()
            show_error(error)
            code = error.exit_code
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 2
        except KeyboardInterrupt:
            complain("interrupted")
            code = 3
        except MemoryError:
            show_error(SolventError("H505", "there is not enough memory for this program"))
            code = 3
        except RecursionError:
            hint = "keep long data flat, in a solution"
            show_error(SolventError("H503", "something is nested too deeply to go on", hint=hint))
            code = 3
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            show_error(SolventError("H312", str(error.strerror or error)))
            code = 2
        except Exception as error:
            if os.environ.get("SOLVENT_DEBUG"):
                raise
            said = f"{type(error).__name__}: {error}"
            hint = "SOLVENT_DEBUG=1 shows where"
            show_error(SolventError("H999", f"a fault in Solvent itself: {said}", hint=hint))
            code = 70
    except BrokenPipeError:
        # Whoever reads our output has seen enough. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    return code
