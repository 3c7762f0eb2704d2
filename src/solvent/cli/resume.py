"""`solvent resume`: continue a run of a workflow that was stopped, from its record.

Answered calls are not repeated; calls that were running when the process died are.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from solvent.cli.agent_runs import tell_end
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
from solvent.cli.records import add_run, load_recorded, open_records, place_of
from solvent.cli.run_agents import resume_by_agents
from solvent.cli.run_workflow import execute
from solvent.cli.workflows import add_scale, folder_of, refuse
from solvent.runs.holders import is_left
from solvent.runs.recorded_run import resume
from solvent.runs.registry import find, inputs_of, latest, signals_of

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.registry import RunRecord
    from solvent.store import Store


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
