"""`solvent update`: change a run while it goes on, or have it do a step again."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import open_records
from solvent.cli.render import write, write_json
from solvent.cli.workflows import folder_of, load_sound
from solvent.errors import RecordProblem
from solvent.runs.agents.offers import Offers, refuse_code, refuse_what_agents_cannot
from solvent.runs.continuation import next_version, refuse_to_update
from solvent.runs.registry import find, workflow_of

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow


def main(arguments: list[str]) -> int:
    """Update a run."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        record = find(store, options.run)
        refuse_to_update(record, f"solvent resume {record.run} --file WORKFLOW")
        workflow, file = _workflow_now(store, record, options.workflow)
        after, update = next_version(
            store,
            record,
            workflow,
            since=options.since,
            folder=folder_of(file[0]) if file else None,
            knows_code=file is not None,
            file=file if record.folder else None,
        )
    if options.format == "json":
        found = {"kept": update.kept, "again": update.again, "new": update.new, "gone": update.gone}
        write_json({"run": record.run, "version": after.version, **found, "waiting": update.waiting})
    elif update.is_changed:
        write((record.run, "bold"), f" continues as version {after.version}: {update}")
    else:
        write(f"nothing to do: {update}", to=sys.stderr)
    return 0


def _workflow_now(store: Store, record: RunRecord, given: str | None) -> tuple[Workflow, tuple[str, str] | None]:
    """Return the workflow as it is to be, and its file as the run knows it, with the folder of the run."""
    if given is None and not record.folder:
        workflow = workflow_of(store, record)
        refuse_code(record.run, workflow, Offers({}), command="update")
        return workflow, None
    # The process of the run may be in another folder than this one.
    path = Path(record.folder, record.file).absolute() if given is None else Path(given).absolute()
    scale = record.options.scale if record.folder else None
    workflow = msgspec.structs.replace(load_sound(str(path), scale=scale).workflow, name=record.workflow)
    if record.by_agents:
        refuse_what_agents_cannot(workflow)
    elif not record.folder and not record.document:
        said = f"the process that executes `{record.run}` cannot know the file of its workflow"
        raise RecordProblem("R404", said, hint="stop it, and resume it with the other workflow")
    return workflow, (str(path), record.folder)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "Change a run while it goes on. Calls whose task, arguments and code are unchanged keep their answers, and "
        "those that are out go on; the others are cancelled. An update that is refused changes nothing."
    )
    example = "solvent update pipeline-7k3q pipeline.yaml\n  solvent update pipeline-7k3q --from clean"
    parser = parser_for("update", says, example=example)
    parser.add_argument("run", metavar="RUN", help="the name of a run, or the beginning of it")
    parser.add_argument("workflow", nargs="?", metavar="WORKFLOW", help="the file of the workflow as it is to be")
    parser.add_argument("--from", dest="since", metavar="TASK", help="run this task again, and all after it")
    add_store(parser)
    add_format(parser)
    return parser
