"""Arguments that many commands share, and reading the program they name."""

from __future__ import annotations

import sys
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, Namespace, RawDescriptionHelpFormatter
from typing import TYPE_CHECKING, Any, NoReturn

from solvent.cli.finding import program_file
from solvent.cli.render import is_json_used
from solvent.errors import Misuse, SolventError, exception_text, user_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import ModuleType

    from solvent.hocl.program import Program
    from solvent.lang.functions import Functions

_WIDTH = 100
MAX_PORT = 65_535
_AFTER_UNKNOWN = ("unrecognized arguments", "the following arguments are required")
"""How argparse begins the errors that an option which it does not know leads to."""
LEVELS = ("debug", "info", "warning", "error")
"""How grave what is told may be."""


class _Parser(ArgumentParser):
    """A parser that reports errors as JSON too, and answers a misspelt option with the nearest one."""

    _given: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Remember the arguments for `error`, and parse them."""
        self._given = sys.argv[1:] if args is None else args
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        """Report what is wrong with the arguments, and end with exit code 2."""
        unknown = self._unknown_option() if message.startswith(_AFTER_UNKNOWN) else ""
        if not unknown:
            if is_json_used():
                raise Misuse("H319", message, hint=f"`{self.prog} --help` lists what there is")
            super().error(message)
        from solvent.errors import nearest

        known = [name for name, one in self._option_string_actions.items() if one.help != SUPPRESS]
        message = f"there is no option `{unknown}`"
        hint = nearest(unknown, known) or f"`{self.prog} --help` lists the options"
        if is_json_used():
            raise Misuse("H319", message, hint=hint)
        self.exit(2, f"{self.prog}: {message}\n  hint: {hint}\n")

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


def add_functions(parser: Any) -> None:
    """Add --functions."""
    parser.add_argument("--functions", metavar="MODULE.py", help="Python functions that the program calls")


def add_format(parser: Any) -> None:
    """Add --format."""
    parser.add_argument("--format", choices=("text", "json"), default="text", help="what to print (default: text)")


def add_seed(parser: Any) -> None:
    """Add --seed."""
    parser.add_argument("--seed", type=int, metavar="N", help="choose reactions at random, repeatably")


def add_limits(parser: Any) -> None:
    """Add --max-reactions and --max-seconds."""
    parser.add_argument("--max-reactions", type=at_least(0), metavar="N", help="stop after so many reactions")
    parser.add_argument("--max-seconds", type=seconds, metavar="S", help="stop after so many seconds")


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
    if not (text.isascii() and text.isdecimal() and int(text) <= MAX_PORT):
        raise ArgumentTypeError(f"`{text}` is not a port from 0 to {MAX_PORT}")
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
    from solvent.hocl.program import load, parse

    functions = load_functions(arguments.functions)
    if arguments.file == "-":
        return parse(read_standard_input(), name="<stdin>", functions=functions)
    return load(arguments.file, functions=functions)


def load_to_run(arguments: Namespace) -> Program:
    """Read and check the program that the arguments name, and warn of what is probably not meant."""
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
    """Give the text on standard input, or a clear error."""
    from solvent.errors import ProgramError

    try:
        return sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"standard input is not text: byte {error.start} is not UTF-8"
        raise ProgramError("H100", message, hint="programs are UTF-8 text") from None


def load_functions(path: str | None) -> Functions:
    """Give the functions of a Python file: the public ones it defines, or what it calls FUNCTIONS."""
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

    file = Path(path)
    spec = spec_from_file_location(f"solvent_functions_{file.stem}", file)
    if spec is None or spec.loader is None or not file.is_file():
        raise Misuse("H304", f"cannot read {path}: it is not a Python file", hint="`--functions MODULE.py`")
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
