"""`solvent fmt`: programs in the common layout."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.arguments import parser_for, program_file, read_standard_input
from solvent.cli.render import complain, show_error, write, write_program
from solvent.errors import SolventError
from solvent.hocl.program import read_text
from solvent.hocl.program_file import format_text, write_whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


def main(arguments: list[str]) -> int:
    """Format programs; 1 if `--check` finds one that is not, 2 if one cannot be read."""
    options = parser().parse_args(arguments)
    return max([_format(file, options) for file in options.files])


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Put programs into the common layout, and print them. Comments stay."
    parser = parser_for("fmt", says, example="solvent fmt -w *.hocl")
    parser.add_argument("files", metavar="FILE", nargs="+", type=program_file, help="programs (`-`: standard input)")
    parser.add_argument("-w", "--write", action="store_true", help="change the files instead of printing")
    parser.add_argument("--check", action="store_true", help="only say which files are not in the layout (exit code 1)")
    parser.add_argument("--diff", action="store_true", help="print the differences instead")
    return parser


def _format(file: str, options: Namespace) -> int:
    try:
        name = "<stdin>" if file == "-" else file
        text = read_standard_input() if file == "-" else read_text(file)
        formatted = format_text(text, name)
    except SolventError as error:
        show_error(error)
        return error.exit_code
    is_same = formatted == text
    if options.diff and not is_same:
        _write_differences(name, text, formatted)
    if options.check:
        if not is_same:
            complain(f"{name} is not in the common layout", hint="" if file == "-" else f"solvent fmt -w {file}")
        return 0 if is_same else 1
    if options.write and file != "-":
        if not is_same:
            write_whole(file, formatted)
    elif not options.diff:
        write_program(formatted)
    return 0


def _write_differences(name: str, text: str, formatted: str) -> None:
    from difflib import unified_diff

    styles = {"+": "green", "-": "red", "@": "cyan"}
    before, after = text.splitlines(), formatted.splitlines()
    for line in unified_diff(before, after, name, name, lineterm=""):
        write((line, styles.get(line[0], "")))
