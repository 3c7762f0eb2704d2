"""`solvent replay`: do a run of a workflow again from its record, calling nobody, and see that it comes to the same."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.agent_records import latest_run, replay_run
from solvent.cli.arguments import add_format, parser_for
from solvent.cli.records import add_run, add_store, open_records
from solvent.cli.render import write
from solvent.cli.report import write_report_as_json, write_results, write_summary
from solvent.cli.resume import workflow_of
from solvent.cli.run_workflow import Tracer, exit_code
from solvent.cli.workflows import folder_of
from solvent.errors import RecordProblem
from solvent.runs.records import Journal, recorded_run
from solvent.runs.records.cards import summary_of
from solvent.runs.records.runs import find, log_of
from solvent.values import codec

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from solvent.runs.records.cards import RunCard
    from solvent.runs.report import Report
    from solvent.store import Store


def main(arguments: list[str]) -> int:
    """Do a run again."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        options.run = options.run or latest_run(store)
        code = replay_run(store, options)
        if code is not None:
            return code
        card = find(store, options.run)
        if card.hindrance:
            raise RecordProblem("R406", f"the run `{card.run}` cannot be replayed: {card.hindrance}")
        workflow = workflow_of(card, options.file)
        journal = Journal(store, log_of(card.run), "replay", is_read_only=True)
        journal.open()
        signals = [tuple(one) for one in codec.decode(card.options.signals)] if card.options.signals else []
        tracer = Tracer() if options.trace else None
        run = recorded_run(
            workflow,
            codec.decode(card.inputs),
            journal=journal,
            folder=folder_of(options.file or card.file),
            observe=tracer,
            **({"signals": signals} if signals else {}),
        )
        if tracer is not None:
            tracer.begin(run.solution)
        report = run.run()
        is_whole = report.error is None or report.error.code != "R407"
        if not is_whole:
            report.error = None if card.has_ended else report.error
            report.is_cancelled = card.state == "cancelled"
        if options.format == "json":
            write_report_as_json(workflow, report, run=card.run)
        else:
            write_results(report)
            write_summary(workflow, report)
        sys.stdout.flush()
        if is_whole:
            _compare(store, card, report)
    return exit_code(report) if is_whole or card.has_ended else 0


def parser() -> ArgumentParser:
    """Return the parser of the command's arguments."""
    says = "Do a run of a workflow again from its record: the same reactions, the same answers; nobody is called."
    parser = parser_for("replay", says, example="solvent replay\n  solvent replay pipeline-7k3q --trace")
    add_run(parser, default="the latest")
    parser.add_argument("--file", metavar="WORKFLOW", help="where the workflow is, if its file was moved")
    parser.add_argument("--trace", action="store_true", help="write every reaction to standard error")
    add_store(parser)
    add_format(parser)
    return parser


def _compare(store: Store, card: RunCard, report: Report) -> None:
    """See that a run that ended has ended in the same way."""
    summary = summary_of(store, card)
    if summary is None:
        return
    for name, value in report.results.items():
        if name in summary.results and codec.encode(value) != summary.results[name]:
            raise RecordProblem("R407", f"the replay has another result of `{name}` than the run `{card.run}` had")
    if report.results.keys() != summary.results.keys() | summary.forms.keys() or report.states != summary.states:
        states, had = report.states, summary.states
        name = next((one for one in states if states[one] != had.get(one)), "")
        said = f": `{name}` is {states[name]}, and was {had.get(name, 'not there')}" if name else ""
        raise RecordProblem("R407", f"the replay did not come to the same as the run `{card.run}`{said}")
    write(f"the replay came to the same as the run {card.run}", to=sys.stderr)
