"""`solvent submit`: submit a workflow to the agents of a store, and print the name of its run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from solvent.cli.arguments import add_deadline, add_format, add_no_sync, add_shards, add_store, parser_for
from solvent.cli.render import write, write_json
from solvent.cli.workflows import add_inputs, add_workflow, inputs_of, load_workflow_to_run

if TYPE_CHECKING:
    from argparse import ArgumentParser

_SAYS = (
    "Submit a workflow to the agents of a store, and print the name of its run. Agents that are alive begin at once; "
    "otherwise the run waits for some."
)


def main(arguments: list[str]) -> int:
    """Submit a workflow."""
    options = parser().parse_args(arguments)
    from solvent.cli.records import hints_with_store, store_for
    from solvent.runs.agents.submission import give_to_agents
    from solvent.runs.registry import new_name

    workflow = load_workflow_to_run(options.file, scale=options.scale).workflow
    with store_for(options) as store, hints_with_store(options):
        run = options.name or new_name(workflow.name)
        record = give_to_agents(store, run, workflow, inputs_of(options, workflow), max_shards=options.shards,
                                deadline=options.deadline)  # fmt: skip
    if options.format == "json":
        write_json({"run": run, "workflow": record.workflow, "shards": record.shards})
    else:
        write(run)
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    example = "solvent submit pipeline.yaml --store nats://10.0.0.1:4222 --input n=3"
    parser = parser_for("submit", _SAYS, example=example)
    add_workflow(parser)
    add_inputs(parser)
    add_store(parser)
    parser.add_argument("--name", metavar="RUN", help="the name of the run (default: a new name)")
    add_shards(parser)
    add_deadline(parser)
    add_no_sync(parser)
    add_format(parser)
    return parser
