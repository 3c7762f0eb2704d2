"""`solvent show`: a picture of a workflow, or of the states of a program or a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.arguments import add_max_seconds, add_program, any_file, at_least, load_program, parser_for
from solvent.cli.picture import add_picture, columns, format_of, write_picture
from solvent.cli.workflows import (
    add_inputs,
    add_scale,
    add_signals,
    is_workflow,
    load_workflow,
    refuse,
    refuse_for_program,
    refuse_for_workflow,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.pictures.graph import Graph

_FORMATS = ("text", "svg", "png", "dot")
_FOR_STATES = ("max_states", "max_seconds", "input", "signal")
_MAX_STATES = 100
"""As many states as a reader can follow."""


def main(arguments: list[str]) -> int:
    """Draw a workflow, or states."""
    options = parser().parse_args(arguments)
    form = format_of(options)
    code = 0
    if not is_workflow(options.file):
        refuse_for_program(options, ("input", "signal", "scale"))
        graph, code = _states(options)
    elif options.states:
        refuse_for_workflow(options, ("functions",))
        graph, code = _orders(options)
    else:
        refuse_for_workflow(options, ("functions",))
        refuse(options, _FOR_STATES, "needs --states")
        from solvent.workflows.diagram import graph_of

        graph = graph_of(load_workflow(options.file, scale=options.scale)[0])
    _write(graph, form, options)
    return code


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "Draw a workflow; alternatives are dashed.\n"
        "Of a program, and with --states of a workflow, draw the states that all its orders reach."
    )
    example = "solvent show pipeline.yaml -o pipeline.svg\n  solvent show max.hocl -o states.png"
    parser = parser_for("show", says, example=example)
    what = "a workflow: .yaml, .json (also WfFormat), .hocl, or .py[:NAME]; or a program (`-`: standard input)"
    add_program(parser, what=what, find=any_file)
    add_picture(parser, _FORMATS)
    add_scale(parser)
    group = parser.add_argument_group("states")
    group.add_argument("--states", action="store_true", help="draw the states of a workflow, not its tasks")
    says = f"draw at most N states, those that are reached first (default: {_MAX_STATES})"
    group.add_argument("--max-states", type=at_least(1), metavar="N", help=says)
    add_max_seconds(group)
    add_inputs(group)
    add_signals(group, is_timed=False)
    return parser


def _write(graph: Graph, form: str, options: Namespace) -> None:
    from solvent import pictures

    def text() -> str:
        return pictures.dot(graph) if form == "dot" else pictures.text(graph, width=columns())

    write_picture(options.output, form, text, lambda: pictures.drawn(graph))


def _states(options: Namespace) -> tuple[Graph, int]:
    """Explore a program."""
    from solvent.cli.explore import explored_states
    from solvent.engine.state_graph import graph_of_states

    options.max_states = options.max_states or _MAX_STATES
    found, code = explored_states(load_program(options), options)
    return graph_of_states(found, options.file), code()


def _orders(options: Namespace) -> tuple[Graph, int]:
    """Explore a workflow."""
    from solvent.cli.explore import explored_orders
    from solvent.runs.state_graph import graph_of_orders

    workflow, folder = load_workflow(options.file, scale=options.scale)
    options.max_states = options.max_states or _MAX_STATES
    found, code = explored_orders(workflow, folder, options)
    return graph_of_orders(found, workflow.name), code()
