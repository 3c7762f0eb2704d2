"""`solvent replay`: repeat a run of a workflow from its record, without calling services, and compare the results."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from solvent.cli.agent_runs import find_run_of_agents, latest_run, report_of_run
from solvent.cli.arguments import add_format, add_store, parser_for
from solvent.cli.records import add_run, open_records
from solvent.cli.render import write
from solvent.cli.report import write_report
from solvent.cli.resume import workflow_of
from solvent.cli.run_workflow import Tracer, exit_code
from solvent.cli.workflows import folder_of
from solvent.errors import AgentProblem, RecordProblem
from solvent.runs.records import Journal, recorded_run
from solvent.runs.records.cards import summary_of
from solvent.runs.records.runs import find, log_of
from solvent.values import codec

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.records.cards import RunCard
    from solvent.runs.report import Report
    from solvent.store import Store


def main(arguments: list[str]) -> int:
    """Replay a run."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        options.run = options.run or latest_run(store)
        code = _replay_agents(store, options)
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
        write_report(workflow, report, options, run=card.run)
        if is_whole:
            _compare(store, card, report)
    return exit_code(report) if is_whole or card.has_ended else 0


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


def _compare(store: Store, card: RunCard, report: Report) -> None:
    """Compare the replay with how the run ended."""
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


def _replay_agents(store: Store, options: Namespace) -> int | None:
    """Replay a run of agents from its journals and messages; return None if there is none."""
    from solvent.cli.agent import offers_from
    from solvent.runs.agents.looking import existing
    from solvent.runs.agents.offers import Offers
    from solvent.runs.agents.plans import ending_of
    from solvent.runs.agents.plans import workflow_of as planned_workflow
    from solvent.runs.agents.replaying import replayed

    run = find_run_of_agents(store, options.run)
    if run is None:
        return None
    if options.trace:
        raise AgentProblem(
            "A107", "the reactions of a run of several places have no common order", hint="leave out --trace"
        )
    plan, ending = existing(store, run), ending_of(store, run)
    workflow = planned_workflow(store, plan)
    report = replayed(store, run, plan, offers_from([options.file]) if options.file else Offers({}))
    is_whole = ending is not None and ending.state in ("done", "failed") and not ending.text
    if ending is not None:
        had = report_of_run(store, run, plan, ending, workflow)
        report.seconds = had.seconds
        report.is_cancelled = had.is_cancelled
        report.error = had.error
    write_report(workflow, report, options, run=run)
    if is_whole:
        _compare_reports(run, report, had)
    return 0 if ending is None or report.succeeded else 1


def _compare_reports(run: str, report: Report, had: Report) -> None:
    for what in ("results", "states", "calls"):
        # Encoded, because comparing arrays gives arrays, and NaN is not equal to itself; by name, because the order of
        # names differs between processes.
        now, before = ({name: codec.encode(one) for name, one in getattr(some, what).items()} for some in (report, had))
        if now != before:
            raise RecordProblem("R407", f"the replay has other {what} than the run `{run}` had")
    write(f"the replay came to the same as the run {run}", to=sys.stderr)
