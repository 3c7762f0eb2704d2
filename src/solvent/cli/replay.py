"""`solvent replay`: repeat a run of a workflow from its record, without calling services, and compare the results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.agent_runs import report_of_run
from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import add_run, named_or_latest, open_records
from solvent.cli.render import write
from solvent.cli.report import write_report
from solvent.cli.resume import workflow_of
from solvent.cli.run_workflow import Tracer, exit_code
from solvent.cli.workflows import folder_of
from solvent.errors import AgentProblem, RecordProblem
from solvent.runs import registry
from solvent.runs.closing import difference, report_of
from solvent.runs.journal import StoredJournal
from solvent.runs.projection import view_of
from solvent.runs.registry import inputs_of, journal_of, signals_of
from solvent.runs.replay import Replay

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Report
    from solvent.store import Store


def main(arguments: list[str]) -> int:
    """Replay a run."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        record = named_or_latest(store, options.run)
        if record.by_agents:
            return _replay_agents(store, record, options)
        if record.hindrance:
            raise RecordProblem("R406", f"the run `{record.run}` cannot be replayed: {record.hindrance}")
        workflow = workflow_of(record, options.file)
        journal = StoredJournal(store, journal_of(record.run), "replay", is_read_only=True)
        journal.open()
        tracer = Tracer() if options.trace else None
        run = Replay(
            workflow,
            inputs_of(store, record),
            journal,
            folder=folder_of(options.file or record.file),
            observe=tracer,
            signals=signals_of(record),
        )
        if tracer is not None:
            tracer.begin(run.solution)
        report = run.run()
        is_whole = report.error is None or report.error.code != "R407"
        if not is_whole:
            report.error = None if record.has_ended else report.error
            report.is_cancelled = record.state == "cancelled"
        write_report(workflow, report, options, run=record.run)
        had = report_of(store, record, workflow) if is_whole and record.has_ended else None
        if had is not None:
            _compare(record.run, report, had, ("results", "states"))
    return exit_code(report) if is_whole or record.has_ended else 0


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


def _replay_agents(store: Store, record: RunRecord, options: Namespace) -> int:
    """Replay a run of agents from its journals and messages."""
    from solvent.cli.agent import offers_from
    from solvent.runs.agents.offers import Offers
    from solvent.runs.agents.replaying import replayed

    if options.trace:
        raise AgentProblem(
            "A107", "the reactions of a run of several shards have no common order", hint="leave out --trace"
        )
    workflow = registry.workflow_of(store, record)
    report = replayed(store, record, offers_from([options.file]) if options.file else Offers({}))
    is_whole = record.state in ("done", "failed") and not record.why
    if record.has_ended:
        had = report_of_run(store, record, workflow, view_of(store, record))
        report.seconds, report.is_cancelled, report.error = had.seconds, had.is_cancelled, had.error
    write_report(workflow, report, options, run=record.run)
    if is_whole:
        _compare(record.run, report, had, ("results", "states", "calls"))
    return 0 if not record.has_ended or report.succeeded else 1


def _compare(run: str, report: Report, had: Report, parts: tuple[str, ...]) -> None:
    """Compare a replay with how the run ended."""
    if said := difference(report, had, parts):
        raise RecordProblem("R407", f"the replay of the run `{run}` ended otherwise: {said}")
    write(f"the replay came to the same as the run {run}", to=sys.stderr)
