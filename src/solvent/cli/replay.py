"""`solvent replay`: repeat a run of a workflow from its record, without calling services, and compare the results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import add_run, load_recorded, named_or_latest, open_records
from solvent.cli.render import write
from solvent.cli.report import write_report
from solvent.cli.run_workflow import Tracer, exit_code
from solvent.cli.workflows import folder_of
from solvent.errors import AgentProblem, RecordProblem
from solvent.runs.agents.offers import Offers, refuse_code
from solvent.runs.closed_shards import difference
from solvent.runs.projection import view_of
from solvent.runs.registry import workflow_of
from solvent.runs.replay import Replay
from solvent.runs.run_handle import ended_report

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from pathlib import Path

    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow


def main(arguments: list[str]) -> int:
    """Replay a run."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        record = named_or_latest(store, options.run)
        if options.trace and record.shards > 1:
            said = "the reactions of a run of several shards have no common order"
            raise AgentProblem("A107", said, hint="leave out --trace")
        workflow, folder = workflow_to_replay(store, record, options.file)
        report = Replay(store, record, workflow, folder=folder).run(Tracer() if options.trace else None)
        is_whole = report.error is None or report.error.code != "R407"
        had = ended_report(store, record, workflow, view_of(store, record)) if record.has_ended else None
        if not is_whole:
            # How tasks are that are not over is not what a replay finds out, which calls nobody.
            report.states = had.states if had is not None else view_of(store, record).open_states
        if had is not None:
            report.seconds, report.is_cancelled = had.seconds, had.is_cancelled
            report.error = report.error if is_whole and report.error is not None else had.error
        write_report(workflow, report, options, run=record.run)
        if had is not None and is_whole and not record.why:
            if said := difference(report, had, ("results", "states")):
                raise RecordProblem("R407", f"the replay of the run `{record.run}` ended otherwise: {said}")
            write(f"the replay came to the same as the run {record.run}", to=sys.stderr)
    return exit_code(report) if is_whole or had is not None else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Repeat a run of a workflow from its record: the same reactions, with the recorded answers of services."
    parser = parser_for("replay", says, example="solvent replay\n  solvent replay pipeline-7k3q --trace")
    add_run(parser, default="the latest")
    parser.add_argument("--file", metavar="WORKFLOW", help="the file of the workflow, if it was moved")
    parser.add_argument("--trace", action="store_true", help="write every reaction to standard error")
    add_store(parser)
    add_format(parser)
    return parser


def workflow_to_replay(store: Store, record: RunRecord, file: str | None) -> tuple[Workflow, Path | None]:
    """Return the workflow of a run, and the folder of its conditions: only its own file says what those are."""
    from solvent.cli.agent import offers_from

    workflow, offers = workflow_of(store, record) if record.document else None, Offers({})
    if workflow is None or (record.file and offers.unknown_code(workflow)):
        return load_recorded(record, file), folder_of(file or record.file)
    if file and offers.unknown_code(workflow):
        offers = offers_from([file])
    refuse_code(record.run, workflow, offers)
    return workflow, offers.folder
