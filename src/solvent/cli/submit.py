"""`solvent submit`: give a workflow to the agents of a store, and print the name of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.agent_runs import tell_submitted
from solvent.cli.arguments import add_format, at_least, parser_for
from solvent.cli.workflows import add_inputs, add_workflow, inputs_of, load_to_run

if TYPE_CHECKING:
    from argparse import ArgumentParser

_SAYS = (
    "Give a workflow to the agents of a store, and print the name of its run. Agents that are there begin at once; the "
    "run waits for others."
)


def main(arguments: list[str]) -> int:
    """Submit."""
    options = parser().parse_args(arguments)
    from solvent.cli.records import hints_with_store, store_for
    from solvent.runs.agents.submitting import give_to_agents
    from solvent.runs.records.runs import new_name

    workflow = load_to_run(options.file, scale=options.scale).workflow
    with store_for(options) as store, hints_with_store(options):
        run = options.name or new_name(workflow.name)
        plan = give_to_agents(store, run, workflow, inputs_of(options), max_places=options.places)
    tell_submitted(run, plan, is_json=options.format == "json")
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    from solvent.runs.agents.partition import MAX_PLACES

    example = "solvent submit pipeline.yaml --store nats://10.0.0.1:4222 --input n=3"
    parser = parser_for("submit", _SAYS, example=example)
    add_workflow(parser)
    add_inputs(parser)
    add_place(parser, MAX_PLACES)
    add_format(parser)
    return parser


def add_place(parser: ArgumentParser, max_places: int) -> None:
    """Add --store, --name, --places and --no-sync."""
    from solvent.cli.records import add_store

    add_store(parser)
    add = parser.add_argument
    add("--name", metavar="RUN", help="what the run is called (default: a new name)")
    says = f"into how many places, with one agent each, it is divided (default: by its size; most {max_places})"
    add("--places", type=at_least(1), metavar="N", help=says)
    add("--no-sync", action="store_true", help="do not wait for the disk: a power cut may lose seconds")


__all__ = ["add_place", "main", "parser"]
