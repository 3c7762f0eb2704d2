"""`solvent update`: change a run of agents while it goes on, or have it do a step again."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec

from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import open_records
from solvent.cli.render import write, write_json
from solvent.cli.workflows import folder_of, load_sound
from solvent.runs.agents.offers import Offers, refuse_code, refuse_what_agents_cannot
from solvent.runs.continuation import refuse_to_update, update_run
from solvent.runs.registry import find, workflow_of

if TYPE_CHECKING:
    from argparse import ArgumentParser


def main(arguments: list[str]) -> int:
    """Update a run."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        record = find(store, options.run)
        refuse_to_update(record, f"solvent resume {record.run} --file WORKFLOW")
        if options.workflow:
            loaded = load_sound(options.workflow).workflow
            workflow, folder = msgspec.structs.replace(loaded, name=record.workflow), folder_of(options.workflow)
            refuse_what_agents_cannot(workflow)
        else:
            workflow, folder = workflow_of(store, record), None
            refuse_code(record.run, workflow, Offers({}), command="update")
        after, update = update_run(
            store, record, workflow, since=options.since, folder=folder, knows_code=folder is not None
        )
    if options.format == "json":
        found = {"kept": update.kept, "again": update.again, "new": update.new, "gone": update.gone}
        write_json({"run": record.run, "version": after.version, **found})
    elif update.is_changed:
        write((record.run, "bold"), f" continues as version {after.version}: {update}")
    else:
        write(f"nothing to do: {update}", to=sys.stderr)
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "Change a run of agents while it goes on. Calls whose task, arguments and code are unchanged keep their "
        "answers, and those that are out go on; the others are cancelled. An update that is refused changes nothing."
    )
    example = "solvent update pipeline-7k3q pipeline.yaml\n  solvent update pipeline-7k3q --from clean"
    parser = parser_for("update", says, example=example)
    parser.add_argument("run", metavar="RUN", help="the name of a run, or the beginning of it")
    parser.add_argument("workflow", nargs="?", metavar="WORKFLOW", help="the file of the workflow as it is to be")
    parser.add_argument("--from", dest="since", metavar="TASK", help="run this task again, and all after it")
    add_store(parser)
    add_format(parser)
    return parser
