"""`solvent convert`: a workflow in another format."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.loading import parser_for
from solvent.cli.workflows import add_workflow, load_workflow
from solvent.errors import Misuse
from solvent.running.saving import write_whole

if TYPE_CHECKING:
    from argparse import Namespace

_FORMATS = ("yaml", "json", "hocl")
_SUFFIXES = {".yaml": "yaml", ".yml": "yaml", ".json": "json", ".hocl": "hocl"}


def main(arguments: list[str]) -> int:
    """Write a workflow in another format; what the format has no words for is refused."""
    from pathlib import Path

    from solvent.running.interpreter import deep_stack
    from solvent.workflow.files import write

    parser = parser_for(
        "convert",
        "Write a workflow in another format.",
        example="solvent convert pipeline.py -o pipeline.yaml",
    )
    add_workflow(parser)
    parser.add_argument("--to", choices=_FORMATS, help="the format (default: what FILE ends in, or yaml)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write it to a file instead")
    options = parser.parse_args(arguments)
    suffix = "" if options.output is None else Path(options.output).suffix
    workflow, _ = load_workflow(options.file, scale=options.scale)
    with deep_stack():
        text = write(workflow, suffix=f".{_format(options, suffix)}")
    if options.output is None:
        sys.stdout.write(text)
    else:
        write_whole(options.output, text)
    return 0


def _format(options: Namespace, suffix: str) -> str:
    """Give the format that was asked for, or that the output's name says."""
    named = _SUFFIXES.get(suffix)
    if options.output is not None and options.to is None and named is None:
        raise Misuse("H315", f"`{options.output}` does not say which format it is", hint="add --to yaml, json or hocl")
    if options.to is not None and named is not None and named != options.to:
        raise Misuse(
            "H315", f"`{options.output}` would not be read as {options.to}", hint=f"let it end in .{options.to}"
        )
    return str(options.to or named or "yaml")
