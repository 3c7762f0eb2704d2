"""`solvent show`: a picture of a workflow, or of the states of a program or a workflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.arguments import add_program, at_least, load_program, parser_for, seconds
from solvent.cli.finding import any_file
from solvent.cli.picture import add_picture, columns, format_of, write_picture
from solvent.cli.workflows import add_inputs, add_scale, add_signals, inputs_of, is_workflow, load_workflow, refuse

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.pictures.graph import Graph

_FORMATS = ("text", "svg", "png", "dot")
_FOR_STATES = ("max_states", "max_seconds", "input", "signal")
_MAX_STATES = 100
"""As many states as people can still read."""


def main(arguments: list[str]) -> int:
    """Draw a workflow, or states."""
    options = parser().parse_args(arguments)
    form = format_of(options)
    code = 0
    if not is_workflow(options.file):
        refuse(options, ("input", "signal", "scale"), "is for workflows, and this is a program")
        graph, code = _states(options)
    elif options.states:
        refuse(options, ("functions",), "is for programs, not for workflows")
        graph, code = _orders(options)
    else:
        refuse(options, ("functions",), "is for programs, not for workflows")
        refuse(options, _FOR_STATES, "is about the states of a workflow: `--states`")
        from solvent.workflows.diagram import graph_of

        graph = graph_of(load_workflow(options.file, scale=options.scale)[0])
    _write(graph, form, options)
    return code


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "Draw a workflow; alternatives are dashed.\n"
        "Of a program, and with --states of a workflow, draw its states: every order in which it can happen."
    )
    example = "solvent show pipeline.yaml -o pipeline.svg\n  solvent show max.hocl -o states.png"
    parser = parser_for("show", says, example=example)
    what = "a workflow: .yaml, .json (also WfFormat), .hocl, or .py[:NAME]; or a program (`-`: standard input)"
    add_program(parser, what=what, find=any_file)
    add_picture(parser, _FORMATS)
    add_scale(parser)
    group = parser.add_argument_group("states")
    group.add_argument("--states", action="store_true", help="draw the states of a workflow, not its tasks")
    says = f"draw so many states at most, those first that are reached soonest (default: {_MAX_STATES})"
    group.add_argument("--max-states", type=at_least(1), metavar="N", help=says)
    group.add_argument("--max-seconds", type=seconds, metavar="S", help="stop after so many seconds")
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
    from solvent.cli.explore import complain_unfinished, stopper
    from solvent.cli.watch import Watch
    from solvent.engine.explore import Exploration, explore
    from solvent.engine.picturing import graph_of_states

    solution = load_program(options).solution()
    options.max_states = options.max_states or _MAX_STATES
    found = Exploration()
    with Watch(lambda: len(found.states), noun="states") as watch:
        stop = stopper(watch, options.max_seconds)
        explore(solution, max_states=options.max_states, should_stop=stop, into=found)
    code = 0 if found.is_complete else complain_unfinished(len(found.states), watch, options)
    return graph_of_states(found, options.file), code


def _orders(options: Namespace) -> tuple[Graph, int]:
    """Explore a workflow."""
    from solvent.cli.explore import complain_unfinished, stopper
    from solvent.cli.watch import Watch, prints_to_standard_error
    from solvent.runs.exploring import Orders, explore_workflow
    from solvent.runs.picturing import graph_of_orders

    workflow, folder = load_workflow(options.file, scale=options.scale)
    options.max_states = options.max_states or _MAX_STATES
    found = Orders()
    with Watch(lambda: len(found.states), noun="states") as watch, prints_to_standard_error():
        explore_workflow(
            workflow,
            inputs_of(options),
            signals=options.signal,
            max_states=options.max_states,
            should_stop=stopper(watch, options.max_seconds),
            folder=folder,
            into=found,
        )
    code = 0 if found.is_complete else complain_unfinished(len(found.states), watch, options)
    return graph_of_orders(found, workflow.name), code
