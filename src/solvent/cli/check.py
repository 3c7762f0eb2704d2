"""`solvent check`: errors and warnings of programs and workflows, without running them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.arguments import add_format, add_functions, any_file, load_functions, parser_for, read_standard_input
from solvent.cli.render import counted, show_error, write, write_doubt, write_json
from solvent.cli.workflows import is_workflow
from solvent.errors import SolventError
from solvent.hocl.diagnostics import check_text
from solvent.hocl.json_fields import doubt_as_json, error_as_json
from solvent.hocl.program import read_text

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Sequence
    from typing import TypeAlias

    from solvent.lang.doubts import Doubt
    from solvent.lang.functions import Functions

    Found: TypeAlias = tuple[str, Sequence[SolventError], list[Doubt]]


def main(arguments: list[str]) -> int:
    """Check programs and workflows; 2 if one of them is wrong."""
    options = parser().parse_args(arguments)
    functions = load_functions(options.functions)
    found = [_check_workflow(file) if is_workflow(file) else _check(file, functions) for file in options.files]
    if options.format == "json":
        write_json({"files": [_as_json(*one) for one in found]})
    else:
        for one in found:
            _write(*one)
    return 2 if any(errors for _, errors, _ in found) else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    what = "programs (`-`: standard input) or workflows"
    parser = parser_for("check", "Look for errors without running.", example="solvent check *.hocl pipeline.yaml")
    parser.add_argument("files", metavar="FILE", nargs="+", type=any_file, help=what)
    add_functions(parser)
    add_format(parser)
    return parser


def _check_workflow(file: str) -> Found:
    from solvent.cli.workflows import folder_of, read_workflow
    from solvent.runs.inspection import problems_and_doubts

    try:
        loaded = read_workflow(file)
    except SolventError as error:
        return file, [error], []
    return file, *problems_and_doubts(loaded, folder_of(file))


def _check(file: str, functions: Functions) -> Found:
    try:
        text = read_standard_input() if file == "-" else read_text(file)
    except SolventError as error:
        return file, [error], []
    errors, found = check_text(text, name="<stdin>" if file == "-" else file, functions=functions)
    return file, errors, list(found)


def _write(file: str, errors: Sequence[SolventError], found: list[Doubt]) -> None:
    for error in errors:
        show_error(error)
    if errors:
        return
    for doubt in found:
        write_doubt(doubt)
    write(f"{file}: ", ("ok", "green"), f", {counted(len(found), 'warning')}" if found else "")


def _as_json(file: str, errors: Sequence[SolventError], found: list[Doubt]) -> dict[str, Any]:
    return {
        "file": file,
        "ok": not errors,
        "errors": list(map(error_as_json, errors)),
        "warnings": list(map(doubt_as_json, found)),
    }
