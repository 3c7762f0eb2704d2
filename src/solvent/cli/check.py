"""`solvent check`: errors, and what is probably not meant, without running: of programs and of workflows.

`solvent check PROTOCOL` tries every order of events instead: see `check_protocol`.
"""

from __future__ import annotations

import os.path
from typing import TYPE_CHECKING, Any

from solvent.cli.finding import any_file
from solvent.cli.loading import add_format, add_functions, load_functions, parser_for, read_standard_input
from solvent.cli.render import counted, show_error, write, write_json
from solvent.cli.workflows import is_workflow
from solvent.errors import SolventError
from solvent.running.checking import check_text
from solvent.running.fields import error_as_json
from solvent.running.program import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

    from solvent.chemistry.functions import Functions
    from solvent.hocl.doubts import Doubt

    Found: TypeAlias = tuple[str, Sequence[SolventError], list[Doubt]]

_EXAMPLE = """\
solvent check *.hocl pipeline.yaml
  solvent check capture             every order of events of a protocol: `solvent check capture --help`"""

_PROTOCOLS_ONLY = frozenset(("--model", "--broken", "--list", "--states-max"))
"""Options of a protocol's check: with one of these no file is meant, however the protocol's name is written."""


def main(arguments: list[str]) -> int:
    """Check programs and workflows; 2 if one of them is wrong. A protocol is checked by `check_protocol`."""
    if any(map(_is_protocol, arguments)) or any(one.split("=")[0] in _PROTOCOLS_ONLY for one in arguments):
        from solvent.cli.check_protocol import main as check_protocol

        return check_protocol(arguments)
    what = "programs (`-`: standard input) or workflows"
    parser = parser_for("check", "Look for errors without running.", example=_EXAMPLE)
    parser.add_argument("files", metavar="FILE", nargs="+", type=any_file, help=f"{what}; or one protocol")
    add_functions(parser)
    add_format(parser)
    options = parser.parse_args(arguments)
    functions = load_functions(options.functions)
    found = [_check_workflow(file) if is_workflow(file) else _check(file, functions) for file in options.files]
    if options.format == "json":
        write_json({"files": [_as_json(*one) for one in found]})
    else:
        for one in found:
            _write(*one)
    return 2 if any(errors for _, errors, _ in found) else 0


def _is_protocol(text: str) -> bool:
    """Whether an argument names a protocol, and no file."""
    if not text.isidentifier() or os.path.isfile(any_file(text)):  # noqa: PTH113 - pathlib is slow to import
        return False
    from solvent.checker.registry import protocols

    return text in protocols()


def _protocol_meant(file: str) -> str:
    """Give a hint when what cannot be read is almost the name of a protocol."""
    from solvent.checker.registry import protocols
    from solvent.hocl.nearest import nearest

    return nearest(file, protocols())


def _check_workflow(file: str) -> Found:
    from solvent.cli.services import service_problems
    from solvent.cli.workflows import folder_of, read_workflow
    from solvent.workflow.checks import check
    from solvent.workflow.concrete import workflow_functions
    from solvent.workflow.libraries import library_problems

    try:
        loaded = read_workflow(file)
    except SolventError as error:
        return file, [error], []
    folder = folder_of(file)
    found = [*check(loaded.workflow, loaded.places), *service_problems(loaded, folder)]
    return file, [*found, *library_problems(loaded, folder, workflow_functions())], []


def _check(file: str, functions: Functions) -> Found:
    try:
        text = read_standard_input() if file == "-" else read_text(file)
    except SolventError as error:
        if error.code == "H304":
            error.hint = _protocol_meant(file)
        return file, [error], []
    errors, found = check_text(text, name="<stdin>" if file == "-" else file, functions=functions)
    return file, errors, list(found)


def _write(file: str, errors: Sequence[SolventError], found: list[Doubt]) -> None:
    for error in errors:
        show_error(error)
    if errors:
        return
    for doubt in found:
        first, *others = doubt.show().split("\n")
        write((first, "bold yellow"))
        for line in others:
            write(line)
    write(f"{file}: ", ("ok", "green"), f", {counted(len(found), 'warning')}" if found else "")


def _as_json(file: str, errors: Sequence[SolventError], found: list[Doubt]) -> dict[str, Any]:
    return {
        "file": file,
        "ok": not errors,
        "errors": list(map(error_as_json, errors)),
        "warnings": [
            {
                "code": one.code,
                "message": one.message,
                "line": one.span.line,
                "column": one.span.column,
                "hint": one.hint,
            }
            for one in found
        ],
    }
