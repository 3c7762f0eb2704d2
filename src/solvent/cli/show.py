"""`solvent show`: a picture of a workflow."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.loading import parser_for
from solvent.cli.workflows import add_workflow, load_workflow
from solvent.running.saving import write_whole

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.workflow.model import Workflow

_WIDTH = 100
_FORMATS = {".svg": "svg", ".dot": "dot", ".gv": "dot"}


def main(arguments: list[str]) -> int:
    """Draw a workflow."""
    options = _options(arguments)
    workflow, _ = load_workflow(options.file, scale=options.scale)
    picture = _draw(workflow, _format(options))
    if options.output is None:
        sys.stdout.write(picture)
    else:
        write_whole(options.output, picture)
    return 0


def _options(arguments: list[str]) -> Namespace:
    says = "Draw a workflow; alternatives are dashed."
    parser = parser_for("show", says, example="solvent show pipeline.yaml -o pipeline.svg")
    add_workflow(parser)
    parser.add_argument("--format", choices=("text", "svg", "dot"), help="what to draw (default: what FILE ends in)")
    parser.add_argument("-o", "--output", metavar="FILE", help="write the picture to a file instead")
    return parser.parse_args(arguments)


def _format(options: Namespace) -> str:
    if options.format is not None:
        return str(options.format)
    suffix = f".{options.output.rpartition('.')[2].lower()}" if options.output is not None else ""
    return _FORMATS.get(suffix, "text")


def _draw(workflow: Workflow, how: str) -> str:
    from solvent.workflow import drawing

    if how == "text":
        return drawing.text(workflow, width=_columns())
    return drawing.svg(workflow) if how == "svg" else drawing.dot(workflow)


def _columns() -> int:
    from shutil import get_terminal_size

    return max(get_terminal_size((_WIDTH, 24)).columns, 20)
