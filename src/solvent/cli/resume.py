"""`solvent resume`: continue a run of a workflow that was stopped or has ended, from its record.

Answered calls are not repeated; calls that were running when the process died are. Where the workflow has changed, or
calls are to be made again although they were answered, the run gets a further version (see `runs.versions`).
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from solvent.cli.agent_runs import tell_end
from solvent.cli.arguments import (
    add_agents,
    add_deadline,
    add_format,
    add_log,
    add_max_seconds,
    add_otel,
    add_store,
    add_wfformat,
    parser_for,
)
from solvent.cli.records import add_run, load_recorded, open_records, place_of
from solvent.cli.render import write
from solvent.cli.run_agents import resume_by_agents
from solvent.cli.run_workflow import execute
from solvent.cli.workflows import add_scale, folder_of, load_sound, refuse
from solvent.runs.agents.offers import Offers, refuse_code, refuse_what_agents_cannot
from solvent.runs.continuation import next_version
from solvent.runs.holders import is_left
from solvent.runs.recorded_run import refuse_to_continue, resume
from solvent.runs.registry import digest_of, find, inputs_of, latest, set_deadline, signals_of, workflow_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow


def main(arguments: list[str]) -> int:
    """Continue a run."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        record = find(store, options.run) if options.run else latest(store, partial(is_left, store))
        if options.debug is not None:
            from solvent.cli.debug import debug

            folder = folder_of(options.file or record.file)
            return debug(store, record, load_recorded(record, options.file), folder, options.debug)
        if record.folder:
            refuse(options, ("scale",), "cannot be changed: this run keeps its scale")
        record = _continued(store, record, options)
        if options.deadline is not None:
            record = set_deadline(store, record.run, options.deadline)
        if options.agents and record.folder and not record.has_ended:
            record = _with_agents(store, record, options)
        if record.by_agents:
            return resume_by_agents(store, record, options)
        if record.has_ended:
            return tell_end(store, record, options)
        held = resume(store, record, takes_over=options.take_over)
        workflow = load_recorded(record, options.file)
        options.jobs = options.jobs or record.options.jobs
        options.processes = options.processes or record.options.processes
        options.signal = signals_of(record)
        given = record.options.folder
        folder = Path(given) if given and not options.file else folder_of(options.file or record.file)
        return execute(workflow, folder, options, inputs=inputs_of(store, record), held=held)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = (
        "Continue a run of a workflow that was stopped, by Ctrl-C, a limit, a crash or a power cut, or that has ended. "
        "Calls whose task, arguments and code are unchanged keep their answers."
    )
    example = "solvent resume\n  solvent resume pipeline-7k3q --retry-failed"
    parser = parser_for("resume", says, example=example)
    add_run(parser, default="the latest that was stopped")
    parser.add_argument(
        "--file", metavar="WORKFLOW", help="the file of the workflow, if it was moved or is another one"
    )
    parser.add_argument("--retry-failed", action="store_true", help="make calls again that have failed")
    parser.add_argument("--from", dest="since", metavar="TASK", help="run this task again, and all after it")
    says = "only call this task, which failed, once more, in this process under the debugger, with the same arguments"
    parser.add_argument("--debug", metavar="TASK", help=says)
    says = "continue even if the original process may be alive; that process will notice and stop"
    parser.add_argument("--take-over", action="store_true", help=says)
    add_agents(parser)
    add_scale(parser)
    parser.add_argument("--processes", action="store_true", help="call Python services in worker processes")
    add_max_seconds(parser)
    add_deadline(parser)
    parser.add_argument("--trace", action="store_true", help="write every reaction to standard error")
    add_wfformat(parser)
    add_otel(parser)
    add_log(parser)
    add_store(parser)
    add_format(parser)
    return parser


def _continued(store: Store, record: RunRecord, options: Namespace) -> RunRecord:
    """Return the record of the version that is to be continued: a new one, if anything is to be otherwise."""
    is_asked = options.retry_failed or options.since is not None
    if not is_asked and (record.has_ended or record.by_agents) and not options.file:
        return record
    if not (record.has_ended or record.by_agents):
        refuse_to_continue(store, record, takes_over=options.take_over)
    workflow, knows_code = _workflow_now(store, record, options)
    is_same = digest_of(workflow) == record.digest
    # Agents may be given a file that only has services.
    is_open_at_agents = record.by_agents and not record.has_ended
    if not is_asked and ((is_same and (not options.file or is_open_at_agents)) or not workflow.tasks):
        return record
    after, update = next_version(
        store,
        record,
        workflow,
        retry_failed=options.retry_failed,
        since=options.since,
        folder=folder_of(options.file or record.file),
        knows_code=knows_code,
        takes_over=options.take_over,
        file=(options.file, os.getcwd()) if options.file and record.folder else None,  # noqa: PTH109
    )
    if not update.is_changed:
        if record.has_ended:
            write(f"nothing to do: {update}", to=sys.stderr)
        return record
    write((after.run, "bold"), f" continues as version {after.version}: {update}", to=sys.stderr)
    return after


def _workflow_now(store: Store, record: RunRecord, options: Namespace) -> tuple[Workflow, bool]:
    """Return the workflow with which a run is to continue, and whether the code of its services is known here."""
    if not record.by_agents:
        # The file may be in another folder than this one.
        options.store = place_of(options)
        return load_recorded(record, options.file, may_change=True), True
    if options.file:
        loaded = load_sound(options.file, scale=options.scale).workflow
        workflow = msgspec.structs.replace(loaded, name=record.workflow)
        refuse_what_agents_cannot(workflow)
        return workflow, True
    workflow = workflow_of(store, record)
    refuse_code(record.run, workflow, Offers({}), command="resume")
    return workflow, False


def _with_agents(store: Store, record: RunRecord, options: Namespace) -> RunRecord:
    """Let agents continue a run that one process has begun, with the services of its file."""
    from solvent.runs.agents.submission import hand_to_agents
    from solvent.runs.registry import tell_agents

    # The file may be in another folder than this one.
    options.store = place_of(options)
    load_recorded(record, options.file)
    options.file, options.scale = options.file or record.file, record.options.scale
    if record.by_agents:
        # Who was to tell them may have died before.
        tell_agents(store, record)
    else:
        record = hand_to_agents(store, record, takes_over=options.take_over)
        options.take_over = False
    return record
