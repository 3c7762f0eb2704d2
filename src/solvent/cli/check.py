"""`solvent check`: errors, and what is probably not meant, without running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from solvent.cli.loading import add_format, add_functions, load_functions, parser_for, read_standard_input
from solvent.cli.render import counted, error_as_json, show_error, write, write_json
from solvent.errors import SolventError
from solvent.hocl.doubts import Doubt, doubts
from solvent.running.program import load, parse

if TYPE_CHECKING:
    from solvent.chemistry.functions import Functions


def main(arguments: list[str]) -> int:
    """Check programs; 2 if one of them is wrong."""
    parser = parser_for("check", "Look for errors without running.", example="solvent check *.hocl")
    parser.add_argument("files", metavar="FILE", nargs="+", help="programs (`-`: standard input)")
    add_functions(parser)
    add_format(parser)
    options = parser.parse_args(arguments)
    functions = load_functions(options.functions)
    found = [_check(file, functions) for file in options.files]
    if options.format == "json":
        write_json({"files": [_as_json(*one) for one in found]})
    else:
        for one in found:
            _write(*one)
    return 2 if any(error is not None for _, error, _ in found) else 0


def _check(file: str, functions: Functions) -> tuple[str, SolventError | None, list[Doubt]]:
    try:
        if file == "-":
            program = parse(read_standard_input(), name="<stdin>", functions=functions)
        else:
            program = load(file, functions=functions)
        program.solution()
    except SolventError as error:
        return file, error, []
    return file, None, doubts(program.tree, program.source)


def _write(file: str, error: SolventError | None, found: list[Doubt]) -> None:
    if error is not None:
        show_error(error)
        return
    for doubt in found:
        first, *others = doubt.show().split("\n")
        write((first, "bold yellow"))
        for line in others:
            write(line)
    write(f"{file}: ", ("ok", "green"), f", {counted(len(found), 'warning')}" if found else "")


def _as_json(file: str, error: SolventError | None, found: list[Doubt]) -> dict[str, Any]:
    return {
        "file": file,
        "ok": error is None,
        "errors": [error_as_json(error)] if error is not None else [],
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
