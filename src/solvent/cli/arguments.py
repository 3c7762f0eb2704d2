"""Arguments that many commands share, and reading the program they name."""

from __future__ import annotations

import os.path
import sys
from argparse import (
    SUPPRESS,
    Action,
    ArgumentParser,
    ArgumentTypeError,
    Namespace,
    RawDescriptionHelpFormatter,
    _SubParsersAction,
)
from typing import TYPE_CHECKING, Any, NoReturn

from solvent.cli.interrupt import asks_for_json
from solvent.cli.render import use_json
from solvent.cli.secrecy import VARIABLE, hide, restored
from solvent.errors import Misuse, SolventError, exception_text, nearest, unread_file, user_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from solvent.hocl.program import Program
    from solvent.lang.functions import Functions
    from solvent.net.tls import Tls

_WIDTH = 100
MAX_PORT = 65_535
TTL = 5.0
"""Seconds of silence after which a process counts as dead."""
_MIN_TTL = 0.5
DEFAULT_STORE = ".solvent/store.db"
_UNRECOGNISED = "unrecognized arguments: "
_REQUIRED = "the following arguments are required: "
_AFTER_UNKNOWN = (_UNRECOGNISED, _REQUIRED)
"""How argparse begins the errors that an unknown option leads to."""
_SAID_OTHERWISE = {
    "expected one argument": "needs a value",
    "expected at least one argument": "needs at least one value",
}
"""What argparse says of an option, and what we say."""
LEVELS = ("debug", "info", "warning", "error")
"""The levels of a log, the least important first."""
_ZERO = "must be above 0; leave it out for no limit"
_PROGRAMS = (".hocl",)
_ALL = (".yaml", ".yml", ".json", ".hocl", ".py")


class _Parser(ArgumentParser):
    """A parser that answers a misspelt option or value with the nearest one, and raises `Misuse` for what is wrong."""

    _given: Sequence[str] = ()

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments of a command; a secret in the address of its store leaves the list of processes."""
        words = restored(sys.argv[1:] if args is None else args)
        use_json(is_so=asks_for_json(words))
        options = super().parse_args(words, namespace)
        hide(getattr(options, "store", None) or "")
        return options

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments, also those behind the word of a command, and refuse unknown ones."""
        self._given = args
        options, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return options, unknown

    def error(self, message: str) -> NoReturn:
        """Raise what is wrong with the arguments, in the words of our other errors."""
        unknown = self._unknown_option() if message.startswith(_AFTER_UNKNOWN) else ""
        if unknown:
            known = [name for name, one in self._option_string_actions.items() if one.help != SUPPRESS]
            hint = nearest(unknown, known) or f"`{self.prog} --help` lists the options"
            self.fail(f"there is no option `{unknown}`", hint)
        if message.startswith(_REQUIRED):
            named = " and ".join(f"`{one}`" for one in message.removeprefix(_REQUIRED).split(", "))
            self.fail(f"`{self.prog}` needs {named}", self._example())
        if message.startswith(_UNRECOGNISED):
            words = message.removeprefix(_UNRECOGNISED)
            self.fail(f"`{self.prog}` does not take `{words}`", f"`{self.prog} --help` lists what it takes")
        name, colon, what = message.removeprefix("argument ").partition(": ")
        if message.startswith("argument ") and colon:
            message = f"`{name}` {_SAID_OTHERWISE.get(what, what)}"
        self.fail(message, f"`{self.prog} --help` describes its options")

    def fail(self, message: str, hint: str) -> NoReturn:
        """Raise a wrong usage, which ends the command with exit code 2."""
        raise Misuse("H319", message, hint=hint)

    def _example(self) -> str:
        """Return the first example of the help."""
        _, _, example = (self.epilog or "").partition("\n")
        first = example.split("\n")[0].strip()
        return f"for example: `{first}`" if first else f"`{self.prog} --help` lists what it needs"

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        known = list(map(str, action.choices))
        hint = nearest(str(value), known) or f"one of: {', '.join(known)}"
        if isinstance(action, _SubParsersAction):
            self.fail(f"there is no command `{self.prog} {value}`", hint)
        self.fail(f"`{'/'.join(action.option_strings) or action.dest}` cannot be `{value}`", hint)

    def _unknown_option(self) -> str:
        """Return the first of the given options that this command does not have."""
        for word in self._given:
            if word == "--":
                break
            name = word.partition("=")[0]
            is_option = name.startswith("--") and " " not in name
            if is_option and name not in self._option_string_actions:
                return name
        return ""


def parser_for(command: str, says: str, *, example: str = "", usage: str | None = None) -> _Parser:
    """Return the parser of one command's arguments."""
    prog = f"solvent {command}"
    return _Parser(prog=prog, description=says, usage=usage, **parser_settings(example))


def parser_settings(example: str) -> dict[str, Any]:
    """Return how the parsers of commands, and of their words, are made."""
    return {
        "epilog": f"example:\n  {example}" if example else None,
        # Asked for the terminal's width, argparse imports a module that takes as long to load as the engine.
        "formatter_class": lambda prog: RawDescriptionHelpFormatter(prog, width=_WIDTH),
        # An abbreviation that works today would break when a longer option of that beginning is added.
        "allow_abbrev": False,
    }


def add_words(parser: ArgumentParser, says: str) -> Any:
    """Return an object that adds the parsers of a command's words, such as `serve` of `solvent store`."""
    return parser.add_subparsers(dest="what", required=True, metavar="WORD", prog=parser.prog, help=says)


def any_file(text: str) -> str:
    """Find a program or a workflow by its name, which may lack its suffix or be that of its folder."""
    return _found(text, _ALL)


def program_file(text: str) -> str:
    """Find a program."""
    return _found(text, _PROGRAMS)


def _found(text: str, suffixes: tuple[str, ...]) -> str:
    """Return the one file that is meant; a name that is not found stays as it is, and reading it fails."""
    # Through strings: pathlib would be imported at every start.
    if text == "-" or os.path.isfile(text):  # noqa: PTH113
        return text
    stem = text
    if os.path.isdir(text):  # noqa: PTH112
        stem = os.path.join(text, os.path.basename(os.path.abspath(text)))  # noqa: PTH100, PTH118, PTH119
    elif os.path.exists(text) or not os.path.basename(text):  # noqa: PTH110, PTH119
        return text
    matches = [stem + suffix for suffix in suffixes if os.path.isfile(stem + suffix)]  # noqa: PTH113
    if len(matches) > 1:
        message = f"`{text}` may be {', '.join(matches[:-1])} or {matches[-1]}"
        raise Misuse("H304", message, hint="write the name in full")
    return matches[0] if matches else text


def require_file(path: str) -> None:
    """Raise `Misuse` for a file that does not exist, before its name is taken for that of a program."""
    if not os.path.exists(path):  # noqa: PTH110
        message, hint = unread_file(path, FileNotFoundError())
        raise Misuse("H304", message, hint=hint)


def add_program(
    parser: ArgumentParser,
    *,
    what: str = "a program (`-`: standard input)",
    find: Callable[[str], str] = program_file,
) -> None:
    """Add FILE and --functions."""
    parser.add_argument("file", metavar="FILE", type=find, help=what)
    add_functions(parser)


def add_functions(parser: Any) -> None:
    """Add --functions."""
    parser.add_argument("--functions", metavar="MODULE.py", help="Python functions that the program calls")


def add_format(parser: Any) -> None:
    """Add --format."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print (default: text)")


def add_seed(parser: Any) -> None:
    """Add --seed."""
    parser.add_argument("--seed", type=integer, metavar="N", help="choose reactions at random, repeatably")


def add_limits(parser: Any) -> None:
    """Add --max-reactions and --max-seconds."""
    parser.add_argument("--max-reactions", type=limit, metavar="N", help="stop after N reactions (default: no limit)")
    add_max_seconds(parser)


def add_max_seconds(parser: Any) -> None:
    """Add --max-seconds."""
    says = "stop after S seconds (default: no limit)"
    parser.add_argument("--max-seconds", type=limit_seconds, metavar="S", help=says)


def add_deadline(parser: Any) -> None:
    """Add --deadline."""
    says = "a run that has not ended in this time (90, 30m, 2h, 7d) fails, whoever executes it"
    parser.add_argument("--deadline", type=deadline, metavar="TIME", help=says)


def add_log(parser: Any) -> None:
    """Add --log-format and --log-level."""
    says = "the format of the log: text (default), or one JSON object per line"
    parser.add_argument("--log-format", choices=("text", "json"), help=says)
    says = "log messages of this level and above (default: info)"
    parser.add_argument("--log-level", choices=LEVELS, help=says)


def log_words(options: Namespace) -> list[str]:
    """Return the words that make another process log in the same way."""
    words = ["--log-format", options.log_format] if options.log_format else []
    return words + (["--log-level", options.log_level] if options.log_level else [])


def add_store(parser: Any) -> None:
    """Add --store."""
    says = f"where runs are recorded (default: {VARIABLE}, or {DEFAULT_STORE})"
    parser.add_argument("--store", metavar="URL", help=says)


def add_no_sync(parser: Any) -> None:
    """Add --no-sync."""
    says = "do not wait for the disk: a power cut may lose the last seconds"
    parser.add_argument("--no-sync", action="store_true", help=says)


def add_agents(parser: Any) -> None:
    """Add --agents, --jobs and --ttl."""
    says = "run it with N agents, processes of this machine; it survives if some are killed"
    parser.add_argument("--agents", type=at_least(1), metavar="N", help=says)
    says = "how many Python services run at the same time, in each process"
    parser.add_argument("--jobs", type=at_least(1), metavar="N", help=says)
    says = f"seconds of silence after which a process counts as dead and others take over (default: {TTL:g})"
    parser.add_argument("--ttl", type=seconds, metavar="S", help=says)


def add_shards(parser: Any) -> None:
    """Add --shards."""
    says = "into how many shards, with one agent each, the workflow is divided (default: by its size)"
    parser.add_argument("--shards", type=at_least(1), metavar="N", help=says)


def add_wfformat(parser: Any) -> None:
    """Add --wfformat."""
    parser.add_argument("--wfformat", metavar="OUT.json", help="write the run of a workflow as a trace in WfFormat")


def checked_ttl(given: float | None) -> float:
    """Return the time to live of a lease, unless it is too short, or longer than others wait."""
    from solvent.store.leases import MAX_TTL

    ttl = TTL if given is None else given
    if ttl < _MIN_TTL:
        raise Misuse("H313", f"`--ttl` is at least {_MIN_TTL} seconds")
    if ttl > MAX_TTL:
        raise Misuse("H313", f"`--ttl` is at most {MAX_TTL:.0f} seconds")
    return ttl


def add_otel(parser: Any) -> None:
    """Add --otel."""
    says = "send spans by OpenTelemetry to the address in the variables OTEL_* (extra `otel`; default: if set)"
    parser.add_argument("--otel", action="store_true", help=says)


def add_tls(parser: Any) -> None:
    """Add the options of TLS between nodes."""
    group = parser.add_argument_group("TLS between nodes (or SOLVENT_TLS_CA, SOLVENT_TLS_CERT, SOLVENT_TLS_KEY)")
    group.add_argument("--tls-ca", metavar="FILE", help="the certificate of the authority that signs for all nodes")
    group.add_argument("--tls-cert", metavar="FILE", help="the certificate of nodes here, and of this command")
    group.add_argument("--tls-key", metavar="FILE", help="its key")


def tls_of(options: Namespace) -> Tls | None:
    """Return the TLS settings of the options or the environment."""
    from solvent.net.tls import tls_from

    return tls_from(options.tls_ca, options.tls_cert, options.tls_key)


def integer(text: str) -> int:
    """Read an integer."""
    try:
        return int(text)
    except ValueError:
        raise ArgumentTypeError(f"must be an integer, not `{text}`") from None


def at_least(least: int) -> Callable[[str], int]:
    """Return a type of arguments: integers that are not smaller."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise ArgumentTypeError(f"must be an integer of at least {least}, not `{text}`")
        return value

    return read


def limit(text: str) -> int:
    """Read a limit on how often something happens; there is no limit of 0."""
    if text.strip() == "0":
        raise ArgumentTypeError(_ZERO)
    return at_least(1)(text)


def port(text: str) -> int:
    """Read a port; 0 means any free one."""
    if not (text.isascii() and text.isdecimal() and int(text) <= MAX_PORT):
        raise ArgumentTypeError(f"must be a port from 0 to {MAX_PORT}, not `{text}`")
    return int(text)


def seconds(text: str) -> float:
    """Read a duration."""
    value = _number(text)
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"must be a number of seconds, such as 0.5, not `{text}`")
    return value


def limit_seconds(text: str) -> float:
    """Read a limit on time; there is no limit of 0 seconds, which some would read as none at all."""
    value = _number(text)
    if value == 0:
        raise ArgumentTypeError(_ZERO)
    if not 0 < value < float("inf"):
        raise ArgumentTypeError(f"must be a number of seconds above 0, such as 0.5, not `{text}`")
    return value


_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}


def duration(text: str) -> float:
    """Read a duration, such as 30d, as seconds."""
    value = _number(text[:-1]) * _UNITS.get(text[-1:], float("nan"))
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"must be a duration, such as 90m, 12h, 30d or 2w, not `{text}`")
    return value


def deadline(text: str) -> float:
    """Read in which time a run must end."""
    from solvent.workflows.durations import DURATION_RULE, seconds_of

    value = seconds_of(text)
    if not value:
        raise ArgumentTypeError(f"must be a duration above 0 ({DURATION_RULE}), not `{text}`")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def load_program(arguments: Namespace) -> Program:
    """Read and check the program that the arguments name."""
    from solvent.hocl.program import load, parse

    functions = load_functions(arguments.functions)
    if arguments.file == "-":
        return parse(read_standard_input(), name="<stdin>", functions=functions)
    return load(arguments.file, functions=functions)


def load_program_to_run(arguments: Namespace) -> Program:
    """Read and check the program that the arguments name, and show warnings."""
    from solvent.cli.render import show_doubt
    from solvent.hocl.process_settings import deep_stack
    from solvent.lang.doubts import doubts

    program = load_program(arguments)
    with deep_stack():
        found = doubts(program.tree, program.source)
    for doubt in found:
        show_doubt(doubt)
    return program


def read_standard_input() -> str:
    """Return the text on standard input."""
    from solvent.errors import ProgramError

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input is not text: byte {error.start} is not UTF-8"
        raise ProgramError("H100", message, hint="programs are UTF-8 text") from None


def load_functions(path: str | None) -> Functions:
    """Return the functions of a Python file: the public ones it defines, or its FUNCTIONS."""
    from solvent.lang.functions import Functions

    if path is None:
        return Functions()
    module = _module(path)
    own = getattr(module, "FUNCTIONS", None)
    if isinstance(own, Functions):
        return own
    functions = Functions()
    for name, value in vars(module).items():
        is_own = getattr(value, "__module__", None) == module.__name__ and hasattr(value, "__code__")
        if is_own and not name.startswith("_") and not name[0].isupper():
            functions.register(value, name)
    return functions


def _module(path: str) -> ModuleType:
    from importlib.util import module_from_spec, spec_from_file_location
    from pathlib import Path

    from solvent.workflows.formats.python.import_guard import importing

    require_file(path)
    file = Path(path)
    spec = spec_from_file_location(f"solvent_functions_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise Misuse("H304", f"`{path}` is not a Python file", hint="name one: --functions MODULE.py")
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module
    # A module's own imports look beside it first, as if it had been started.
    sys.path.insert(0, str(file.resolve().parent))
    try:
        with importing():
            spec.loader.exec_module(module)
    except (SolventError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a user's module may raise anything
        problem = Misuse("H307", f"{path} cannot be imported: {exception_text(error)}")
        problem.frames = user_frames(error)
        raise problem from None
    return module
