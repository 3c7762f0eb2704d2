"""Finds the command, runs it, and turns every way it can end into an exit code.

    0  done                  2  wrong usage or bad input          70  a fault in Solvent itself
    1  the program failed    3  a limit was reached              130  Ctrl-C

A command's module is imported when it is used, because the start-up of `solvent run` is paid at every run.
Each has `main(arguments) -> int` and `parser()`, which returns the parser of its arguments. Expected failures are
`SolventError`, shown without a traceback.
"""

from __future__ import annotations

import os
import sys

from solvent.cli.interrupt import asks_for_json, begin, end_at_once

# Little is imported here: see `interrupt`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

GROUPS = {
    "workflows": {
        "run": "run a workflow until it is done, or a program until it is inert",
        "check": "look for errors without running",
        "show": "draw a workflow, or the states of a program: in the terminal, as SVG, PNG or DOT",
        "explore": "try every order of the tasks of a workflow, or of reactions",
        "convert": "write a workflow in another format, or as the program that runs it",
        "init": "create a small project that runs",
    },
    "runs": {
        "status": "list the recorded runs, or show one",
        "logs": "show what happened in a run of a workflow",
        "timeline": "draw what happened when in a run of a workflow",
        "replay": "repeat a run of a workflow from its record, without calling services",
        "resume": "continue a run of a workflow that was stopped or has failed",
        "update": "change a run of agents while it goes on",
        "signal": "send a signal to a run that waits for it, or will",
        "cancel": "end a run of a workflow",
        "prune": "remove runs that have ended, and what nothing uses any more",
    },
    "agents": {
        "submit": "submit a workflow to agents",
        "agent": "run tasks of submitted workflows, together with other agents",
        "agents": "start, list and end agents on several machines",
        "store": "start a server that stores runs",
        "web": "show runs in a browser, as they happen",
        "top": "show what the nodes of a run are doing",
    },
    "language": {
        "repl": "add molecules and watch them react, at a prompt",
        "trace": "run a program and show every reaction",
        "why": "show the reactions that made a molecule, or what stops a rule from reacting",
        "fmt": "format programs",
        "lsp": "serve an editor: errors in a program, and what its names mean",
    },
    "other": {
        "doctor": "show what is installed, and whether it works",
        "completion": "print a script that completes words in a shell",
    },
}
"""The commands and what each does, in the order in which `solvent --help` lists them."""
COMMANDS = {name: says for group in GROUPS.values() for name, says in group.items()}
_ENDED_BY_CTRL_C = frozenset({"agent", "store", "web"})
"""Commands that run until Ctrl-C, and then end with 0."""
_LIMIT, _INTERRUPTED = 3, 130
_STOPPED = (_LIMIT, _INTERRUPTED)
_BEGIN_THEMSELVES = frozenset({"agent", "run"})
"""Commands that call `begin` themselves, when they have imported more."""
_PLUGINS = "solvent.commands"
"""The entry points by which other packages add commands: a name, and `main(arguments) -> int`."""
_KNOWN_PLUGINS = {"lab": ("solvent-lab", "simulate and check the protocols, and reproduce the papers' experiments")}
"""Packages of this project that may not be installed, by command."""
_FRAMES = 20_000
_OF_THE_SYSTEM = frozenset({"fcntl", "grp", "pwd", "resource", "termios"})
"""Modules of Python that only some systems have."""
_OVERVIEW = """\
usage: solvent COMMAND [OPTIONS] [FILE]

Solvent runs workflows that repair themselves: when a step fails, times out or returns a bad result, another step takes
its place and the rest continues. It also runs programs in HOCL, the language that workflows are executed in.

{commands}

examples:
  solvent run pipeline.yaml             run a workflow: .yaml, .json, .hocl or .py
  solvent show pipeline.yaml            draw its tasks and its alternatives
  solvent resume                        continue the latest run that was stopped
  solvent run pipeline.yaml --agents 4  run it with four processes; it survives if some are killed
  solvent run max.hocl                  run a program and print its final solution
  solvent why max.hocl '9'              show how the molecule 9 was made

`solvent COMMAND --help` describes a command, `solvent --version` prints the version.
exit codes: 0 done, 1 the run failed, 2 wrong usage or bad input, 3 a limit was reached, 130 Ctrl-C"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if argv is None:
        end_at_once(0 if arguments[:1] and arguments[0] in _ENDED_BY_CTRL_C else 130, arguments)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a character must not cost the user the result.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES))
    from solvent.cli.render import use_json

    use_json(is_so=False)
    code = _guarded(lambda: _dispatch(arguments), arguments)
    if argv is None and (code in _STOPPED or "threading" in sys.modules):
        _end_process(code)
    return code


def _end_process(code: int) -> None:
    """End a process that was stopped, or in which threads still run; Python ends all others.

    Cancelled functions stay in daemon threads. Python takes itself apart under these, and may crash or wait for a lock
    that one of them holds. After Ctrl-C other threads of services are not waited for either. To free the molecules of
    a program that was stopped because it grew would take Python a second or more.
    """
    import atexit
    import threading
    from contextlib import suppress

    others = [one for one in threading.enumerate() if one is not threading.main_thread()]
    if (not others and code not in _STOPPED) or (code != _INTERRUPTED and not all(one.daemon for one in others)):
        return
    # The functions that Python calls at its end, and nothing else of what it does.
    atexit._run_exitfuncs()  # noqa: SLF001
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _dispatch(arguments: list[str]) -> int:
    name = arguments[0] if arguments else ""
    command: Callable[[list[str]], int]
    if name in COMMANDS:
        from importlib import import_module

        command = import_module(f"solvent.cli.{name.replace('-', '_')}").main
        if name not in _BEGIN_THEMSELVES:
            begin()
        return command(arguments[1:])
    if name in ("-h", "--help", "help"):
        print(_overview())
        return 0
    if name in ("-V", "--version", "version"):
        from solvent import __version__

        print(f"solvent {__version__}")
        return 0
    from importlib.metadata import entry_points

    # One that cannot be imported stops no other command.
    for plugin in entry_points(group=_PLUGINS, name=name) if name else ():
        command = plugin.load()
        begin()
        return command(arguments[1:])
    return _unknown(name, arguments)


def _overview() -> str:
    """Return the list of commands, with those of installed plug-ins."""
    from importlib.metadata import entry_points

    added = {
        one.name: _KNOWN_PLUGINS.get(one.name, (None, "a command of another package"))[1]
        for one in entry_points(group=_PLUGINS)
    }
    groups = {**GROUPS, "other": {**GROUPS["other"], **added}}
    return _OVERVIEW.format(
        commands="\n\n".join(
            f"{group}:\n" + "\n".join(f"  {name:<10} {says}" for name, says in commands.items())
            for group, commands in groups.items()
        )
    )


def _unknown(name: str, arguments: Sequence[str]) -> int:
    if not name:
        print(_overview(), file=sys.stderr)
        return 2
    from solvent.cli.render import use_json
    from solvent.errors import Misuse, nearest

    use_json(is_so=asks_for_json(arguments))
    hint = nearest(name, COMMANDS) or "`solvent --help` lists the commands"
    if name in _KNOWN_PLUGINS:
        package = _KNOWN_PLUGINS[name][0]
        hint = f"it comes with another package: `pip install {package}`, or `make {name}` in a clone"
    if name.endswith(".hocl"):
        hint = f"to run a program: `solvent run {name}`"
    raise Misuse("H319", f"there is no command `{name}`", hint=hint)


def _guarded(command: Callable[[], int], arguments: Sequence[str]) -> int:
    """Run a command; turn every exception into a message and an exit code."""
    from solvent.cli.render import complain, show_error, use_json
    from solvent.errors import INTERRUPTED, Misuse, SolventError

    try:
        try:
            code = _called(command)
            sys.stdout.flush()
        except SolventError as error:
            sys.stdout.flush()
            show_error(error)
            code = error.exit_code
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 2
        except KeyboardInterrupt:
            complain("interrupted")
            code = INTERRUPTED
        except MemoryError:
            show_error(SolventError("H505", "there is not enough memory for this program"))
            code = 3
        except RecursionError:
            hint = "keep long data flat, in a solution"
            show_error(SolventError("H503", "something is nested too deeply to continue", hint=hint))
            code = 3
        except OSError as error:
            if isinstance(error, BrokenPipeError):
                raise
            show_error(SolventError("H312", str(error.strerror or error)))
            code = 2
        except ModuleNotFoundError as error:
            # Perhaps before the arguments were parsed.
            use_json(is_so=asks_for_json(arguments))
            if error.name not in _OF_THE_SYSTEM:
                code = _fault(error)
            else:
                said = f"this system does not have `{error.name}`, a part of Python that this command needs"
                show_error(Misuse("H129", said, hint="run it on Linux; on Windows that can be WSL or a container"))
                code = 2
        except Exception as error:  # noqa: BLE001 - it is shown as a fault of ours
            code = _fault(error)
    except BrokenPipeError:
        # The reader of our output has closed it. Python would complain once more when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    return code


def _called(command: Callable[[], int]) -> int:
    """Call a command; an error that Python made of Ctrl-C, as it does inside `__set_name__`, is that Ctrl-C."""
    try:
        return command()
    except Exception as error:
        seen: list[BaseException] = []
        cause: BaseException | None = error
        # An error may be its own cause.
        while cause is not None and cause not in seen:
            if isinstance(cause, KeyboardInterrupt):
                raise cause from None
            seen.append(cause)
            cause = cause.__cause__
        raise


def _fault(error: Exception) -> int:
    """Show an unexpected error; with `SOLVENT_DEBUG` raise it instead."""
    from solvent.cli.render import show_error
    from solvent.errors import SolventError, exception_text

    if os.environ.get("SOLVENT_DEBUG"):
        raise error
    hint = "SOLVENT_DEBUG=1 shows where"
    show_error(SolventError("H999", f"a fault in Solvent itself: {exception_text(error)}", hint=hint))
    return 70
