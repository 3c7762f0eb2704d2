"""`solvent replay`: do a run of a workflow again from its record, calling nobody, and see that it comes to the same."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.agent_records import replay_run
from solvent.cli.loading import add_format, parser_for
from solvent.cli.recording import add_run, add_space, open_records
from solvent.cli.render import write
from solvent.cli.resume import workflow_of
from solvent.cli.run_workflow import Tracer, exit_code
from solvent.cli.summary import write_report_as_json, write_results, write_summary
from solvent.cli.workflows import folder_of
from solvent.errors import RecordProblem
from solvent.running.records import Journal, recorded_run, values
from solvent.running.records.cards import summary_of
from solvent.running.records.runs import find, log_of

if TYPE_CHECKING:
    from argparse import Namespace

    from solvent.live.space import Space
    from solvent.running.records.cards import RunCard
    from solvent.running.report import Report


def main(arguments: list[str]) -> int:
    """Do a run again."""
    options = _options(arguments)
    with open_records(options) as space:
        code = replay_run(space, options)
        if code is not None:
            return code
        card = find(space, options.run)
        if card.hindrance:
            raise RecordProblem("R406", f"the run `{card.run}` cannot be replayed: {card.hindrance}")
        workflow = workflow_of(card, options.file)
        journal = Journal(space, log_of(card.run), "replay", is_read_only=True)
        journal.open()
        signals = [tuple(one) for one in values.decode(card.options.signals)] if card.options.signals else []
        tracer = Tracer() if options.trace else None
        run = recorded_run(
            workflow,
            values.decode(card.inputs),
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
            _compare(space, card, report)
    return exit_code(report) if is_whole or card.has_ended else 0


def _options(arguments: list[str]) -> Namespace:
    says = "Do a run of a workflow again from its record: the same reactions, the same answers; nobody is called."
    parser = parser_for("replay", says, example="solvent replay pipeline-7k3q --trace")
    add_run(parser)
    parser.add_argument("--file", metavar="WORKFLOW", help="where the workflow is, if its file was moved")
    parser.add_argument("--trace", action="store_true", help="write every reaction to standard error")
    add_space(parser)
    add_format(parser)
    return parser.parse_args(arguments)


def _compare(space: Space, card: RunCard, report: Report) -> None:
    """See that a run that ended has ended in the same way."""
    summary = summary_of(space, card)
    if summary is None:
        return
    for name, value in report.results.items():
        if name in summary.results and values.encode(value) != summary.results[name]:
            raise RecordProblem("R407", f"the replay has another result of `{name}` than the run `{card.run}` had")
    if report.results.keys() != summary.results.keys() | summary.forms.keys() or report.states != summary.states:
        states, had = report.states, summary.states
        name = next((one for one in states if states[one] != had.get(one)), "")
        said = f": `{name}` is {states[name]}, and was {had.get(name, 'not there')}" if name else ""
        raise RecordProblem("R407", f"the replay did not come to the same as the run `{card.run}`{said}")
    write(f"the replay came to the same as the run {card.run}", to=sys.stderr)
