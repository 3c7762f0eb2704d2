"""Pictures on the command line: their format, and where they go.

Text for the terminal goes to standard output; SVG and DOT too, unless a file is named. PNG needs a file, or standard
output that is no terminal.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.render import harmless, harmless_json
from solvent.errors import Misuse
from solvent.hocl.program_file import write_whole

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Callable, Sequence

    from solvent.pictures.shapes import Sheet

_WIDTH = 100
_FORMATS = {"svg": "svg", "dot": "dot", "gv": "dot", "png": "png", "json": "json", "txt": "text"}


def add_picture(parser: ArgumentParser, formats: Sequence[str]) -> None:
    """Add --format and --output."""
    parser.add_argument("--format", choices=formats, help="what to write (default: what FILE ends in, or text)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the picture to a file instead")
    parser.set_defaults(formats=formats)


def format_of(options: Namespace) -> str:
    """Return the format of the options, or of the file that they name."""
    if options.format is not None:
        return str(options.format)
    return form_of_file(options.output, options.formats) if options.output is not None else "text"


def form_of_file(file: str, formats: Sequence[str]) -> str:
    """Return the format that the suffix of a file stands for."""
    from pathlib import PurePath

    ending = PurePath(file).suffix.lower()
    form = _FORMATS.get(ending.removeprefix("."), "") if ending else "text"
    if form not in formats:
        endings = ", ".join(f".{one}" for one, kind in _FORMATS.items() if kind in formats)
        raise Misuse("H362", f"this picture cannot be written as `{ending}`", hint=f"it can be: {endings}")
    return form


def write_picture(file: str | None, form: str, text: Callable[[], str], sheet: Callable[[], Sheet]) -> None:
    """Write a picture: `text` returns formats that are text, `sheet` the shapes of SVG and PNG."""
    if form == "png":
        _write_png(file, sheet())
        return
    if form == "svg":
        from solvent.pictures.svg import svg

        written = svg(sheet())
    else:
        written = text()
    # Names of tasks and answers of services may contain characters that change a terminal.
    written = harmless_json(written) if form == "json" else harmless(written)
    if file is None:
        sys.stdout.write(written)
    else:
        write_whole(file, written)


def _write_png(file: str | None, sheet: Sheet) -> None:
    from pathlib import Path

    from solvent.pictures.png import png

    if file is None and sys.stdout.isatty():
        raise Misuse("H363", "a terminal cannot show PNG", hint="name a file: -o FILE.png")
    data = png(sheet)
    if file is not None:
        Path(file).write_bytes(data)
        return
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def columns() -> int:
    """Return the width of the terminal."""
    from shutil import get_terminal_size

    return max(get_terminal_size((_WIDTH, 24)).columns, 20)
