"""Arguments that many commands share, and reading the program they name."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Any, NoReturn

from solvent.cli.finding import program_file
from solvent.cli.render import is_json_used
from solvent.errors import Misuse, SolventError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from solvent.chemistry.functions import Functions
    from solvent.running.program import Program

_WIDTH = 100
PORT_MAX = 65_535
LEVELS = ("debug", "info", "warning", "error")
"""How grave what is told may be."""


class _Parser(ArgumentParser):
    """One that says what is wrong as JSON, too."""

    def error(self, message: str) -> NoReturn:
        if is_json_used():
            raise Misuse("H319", message, hint=f"`{self.prog} --help` lists what there is")
        super().error(message)


def parser_for(command: str, says: str, *, example: str = "") -> ArgumentParser:
    """Give the parser of one command's arguments."""
    return _Parser(
        prog=f"solvent {command}",
        description=says,
        epilog=f"example:\n  {example}" if example else None,
        # Asked for the terminal's width, argparse imports a module that takes as long to load as the engine.
        formatter_class=lambda prog: RawDescriptionHelpFormatter(prog, width=_WIDTH),
        # An abbreviation that works today would break when a longer option of that beginning is added.
        allow_abbrev=False,
    )


def add_program(
    parser: ArgumentParser,
    *,
    what: str = "a program (`-`: standard input)",
    find: Callable[[str], str] = program_file,
) -> None:
    """Add FILE and --functions."""
    parser.add_argument("file", metavar="FILE", type=find, help=what)
    add_functions(parser)


def add_functions(parser: ArgumentParser) -> None:
    """Add --functions."""
    parser.add_argument("--functions", metavar="MODULE.py", help="Python functions that the program calls")


def add_format(parser: ArgumentParser) -> None:
    """Add --format."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print (default: text)")


def add_seed(parser: ArgumentParser) -> None:
    """Add --seed."""
    parser.add_argument("--seed", type=int, metavar="N", help="choose reactions at random, repeatably")


def add_limits(parser: ArgumentParser) -> None:
    """Add --reactions-max and --seconds-max."""
    parser.add_argument("--reactions-max", type=at_least(0), metavar="N", help="stop after so many reactions")
    parser.add_argument("--seconds-max", type=seconds, metavar="S", help="stop after so many seconds")


def add_log(parser: Any) -> None:
    """Add --log-format and --log-level."""
    says = "how what happens is told: text (default), or a JSON object a line"
    parser.add_argument("--log-format", choices=("text", "json"), help=says)
    says = "what is told: from debug, all, to error (default: info)"
    parser.add_argument("--log-level", choices=LEVELS, help=says)


def log_words(options: Namespace) -> list[str]:
    """Give the words that tell another process to log in the same way."""
    words = ["--log-format", options.log_format] if options.log_format else []
    return words + (["--log-level", options.log_level] if options.log_level else [])


def add_otel(parser: Any) -> None:
    """Add --otel."""
    says = "send spans by OpenTelemetry, where the variables OTEL_* say (extra `otel`; on if they say where)"
    parser.add_argument("--otel", action="store_true", help=says)


def at_least(least: int) -> Callable[[str], int]:
    """Give a reader of integers that are not smaller."""

    def read(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise ArgumentTypeError(f"`{text}` is not an integer from {least}")
        return value

    return read


def port(text: str) -> int:
    """Read a port; 0 is one that is free."""
    if not (text.isascii() and text.isdecimal() and int(text) <= PORT_MAX):
        raise ArgumentTypeError(f"`{text}` is not a port from 0 to {PORT_MAX}")
    return int(text)


def seconds(text: str) -> float:
    """Read a duration."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ArgumentTypeError(f"`{text}` is not a number of seconds")
    return value


def load_program(arguments: Namespace) -> Program:
    """Read and check the program that the arguments name."""
    from solvent.running.program import load, parse

    functions = load_functions(arguments.functions)
    if arguments.file == "-":
        return parse(read_standard_input(), name="<stdin>", functions=functions)
    return load(arguments.file, functions=functions)


def read_standard_input() -> str:
    """Give the text on standard input, or a clear error."""
    from solvent.errors import ProgramError

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input is not text: byte {error.start} is not UTF-8"
        raise ProgramError("H100", message, hint="programs are UTF-8 text") from None


def load_functions(path: str | None) -> Functions:
    """Give the functions of a Python file: the public ones it defines, or what it calls FUNCTIONS."""
    from solvent.chemistry.functions import Functions

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

    file = Path(path)
    spec = spec_from_file_location(f"solvent_functions_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise Misuse("H304", f"cannot read {path}: it is not a Python file", hint="`--functions MODULE.py`")
    module = module_from_spec(spec)
    sys.modules[module.__name__] = module
    # A module's own imports look beside it first, as if it had been started.
    sys.path.insert(0, str(file.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except SolventError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a user's module may raise anything
        raise Misuse("H307", f"{path} cannot be imported: {type(error).__name__}: {error}") from None
    return module
