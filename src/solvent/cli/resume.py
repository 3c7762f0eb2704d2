"""`solvent resume`: continue a run of a workflow that was stopped, from its record.

Answered calls are not repeated; calls that were running when the process died are.
"""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.cli.arguments import (
    add_agents,
    add_format,
    add_log,
    add_max_seconds,
    add_otel,
    add_store,
    add_wfformat,
    parser_for,
)
from solvent.cli.records import add_run, local_time, open_records, place_of, record_as_json
from solvent.cli.render import write, write_json
from solvent.cli.report import plain, write_results, write_trace
from solvent.cli.run_agents import resume_by_agents
from solvent.cli.run_workflow import execute
from solvent.cli.workflows import add_scale, folder_of, load_sound, refuse
from solvent.errors import RecordProblem
from solvent.runs.closing import report_of
from solvent.runs.holders import is_left
from solvent.runs.projection import view_of
from solvent.runs.recorded_run import resume
from solvent.runs.registry import digest_of, find, inputs_of, latest, signals_of

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
        if record.folder:
            refuse(options, ("scale",), "cannot be changed: this run keeps its scale")
        if options.agents and record.folder and not record.has_ended:
            record = _with_agents(store, record, options)
        if record.by_agents:
            return resume_by_agents(store, record, options)
        if record.has_ended:
            return _tell_end(store, record, options)
        held = resume(store, record, takes_over=options.take_over)
        workflow = workflow_of(record, options.file)
        options.jobs = options.jobs or record.options.jobs
        options.processes = options.processes or record.options.processes
        options.signal = signals_of(record)
        folder = folder_of(options.file or record.file)
        return execute(workflow, folder, options, inputs=inputs_of(store, record), held=held)


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Continue a run of a workflow that was stopped: by Ctrl-C, a limit, a crash or a power cut."
    parser = parser_for("resume", says, example="solvent resume\n  solvent resume pipeline-7k3q")
    add_run(parser, default="the latest that was stopped")
    parser.add_argument("--file", metavar="WORKFLOW", help="the file of the workflow, if it was moved")
    says = "continue even if the original process may be alive; that process will notice and stop"
    parser.add_argument("--take-over", action="store_true", help=says)
    add_agents(parser)
    add_scale(parser)
    parser.add_argument("--processes", action="store_true", help="call Python services in worker processes")
    add_max_seconds(parser)
    parser.add_argument("--trace", action="store_true", help="write every reaction to standard error")
    add_wfformat(parser)
    add_otel(parser)
    add_log(parser)
    add_store(parser)
    add_format(parser)
    return parser


def _with_agents(store: Store, record: RunRecord, options: Namespace) -> RunRecord:
    """Let agents continue a run that one process has begun, with the services of its file."""
    from solvent.runs.agents.submitting import hand_to_agents
    from solvent.runs.registry import tell_agents

    # The file may be in another folder than this one.
    options.store = place_of(options)
    workflow_of(record, options.file)
    options.file, options.scale = options.file or record.file, record.options.scale
    if record.by_agents:
        # Who was to tell them may have died before.
        tell_agents(store, record)
    else:
        record = hand_to_agents(store, record, takes_over=options.take_over)
        options.take_over = False
    return record


def workflow_of(record: RunRecord, file: str | None) -> Workflow:
    """Load the workflow of a run, in the folder of the run, and check that it has not changed."""
    if file is None:
        try:
            os.chdir(record.folder)
        except OSError as error:
            said = f"the folder of the run `{record.run}` cannot be entered: {record.folder}: {error.strerror}"
            raise RecordProblem("R404", said, hint="name the file of its workflow: --file WORKFLOW") from None
    given = file or record.file
    if not os.path.exists(given.partition(".py:")[0] + (".py" if ".py:" in given else "")):  # noqa: PTH110
        said = f"the workflow of the run `{record.run}` is gone: there is no file {given}"
        raise RecordProblem("R404", said, hint="name its file: --file WORKFLOW")
    # A workflow may have its name from its file.
    workflow = msgspec.structs.replace(load_sound(given, scale=record.options.scale).workflow, name=record.workflow)
    if digest_of(workflow) != record.digest:
        said = f"{given} has changed since the run `{record.run}` began, and its record does not fit it"
        hint = "restore the file (or name a copy: --file WORKFLOW), or run it anew"
        raise RecordProblem("R404", said, hint=hint)
    return workflow


def _tell_end(store: Store, record: RunRecord, options: Namespace) -> int:
    """Print the results of a run that has ended."""
    import sys
    from datetime import UTC, datetime

    report = report_of(store, record, None)
    if options.wfformat is not None:
        if report is None:
            said = f"the record of the run `{record.run}` has no results: there is no trace to write"
            raise RecordProblem("R403", said, hint="leave out --wfformat")
        report.timings = view_of(store, record).timings
        began = datetime.fromtimestamp(record.created, UTC)
        write_trace(workflow_of(record, options.file), report, began, options.wfformat)
    if options.format == "json":
        found: dict[str, Any] = record_as_json(store, record)
        if report is not None:
            found["results"] = {name: plain(value)[0] for name, value in report.results.items()}
            found |= {"states": report.states, "calls": report.calls, "adaptations": report.adaptations}
        write_json(found)
    else:
        if report is not None:
            write_results(report)
        # Read as a sentence: done, failed or cancelled.
        how = {"done": "is already done", "cancelled": "was cancelled"}.get(record.state, record.state)
        said = f"the run `{record.run}` {how}, {local_time(record.ended)}: "
        if record.state == "done":
            said += "these are its results"
        else:
            said += f"it cannot be resumed; to try again: solvent run {record.file}"
        write(said, to=sys.stderr)
    return 0 if record.state == "done" else 1
