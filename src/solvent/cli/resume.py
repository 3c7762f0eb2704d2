"""`solvent resume`: continue a run of a workflow that was stopped, from its record.

Answered calls are not repeated; calls that were running when the process died are.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import msgspec

from solvent.cli.agent_runs import latest_of_agents
from solvent.cli.arguments import (
    add_agents,
    add_format,
    add_log,
    add_otel,
    add_store,
    add_wfformat,
    parser_for,
    seconds,
)
from solvent.cli.records import add_run, card_as_json, local_time, open_records
from solvent.cli.render import write, write_json
from solvent.cli.report import plain, write_recorded_trace, write_results
from solvent.cli.run_agents import resume_by_agents
from solvent.cli.run_workflow import execute
from solvent.cli.workflows import add_scale, folder_of, load_sound, refuse
from solvent.errors import RecordProblem
from solvent.runs.records.cards import digest_of, report_of, summary_of
from solvent.runs.records.history import history
from solvent.runs.records.runs import find, latest, resume
from solvent.values import codec

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from solvent.runs.records.cards import RunCard
    from solvent.store import Store
    from solvent.workflows.model import Workflow


def main(arguments: list[str]) -> int:
    """Continue a run."""
    options = parser().parse_args(arguments)
    with open_records(options) as store:
        options.run = options.run or _latest(store)
        code = resume_by_agents(store, options)
        if code is not None:
            return code
        refuse(options, ("scale",), "is for agents that are started here, and this run has none: it keeps its scale")
        card = find(store, options.run)
        if card.has_ended:
            return _tell_end(store, card, options)
        held = resume(store, card, takes_over=options.take_over)
        try:
            workflow = workflow_of(card, options.file)
        except BaseException:
            held.leave()
            raise
        options.jobs = options.jobs or card.options.jobs
        options.processes = options.processes or card.options.processes
        options.signal = [tuple(one) for one in codec.decode(card.options.signals)] if card.options.signals else []
        folder = folder_of(options.file or card.file)
        return execute(workflow, folder, options, inputs=codec.decode(card.inputs), held=held)


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
    parser.add_argument("--max-seconds", type=seconds, metavar="S", help="stop after so many seconds")
    parser.add_argument("--trace", action="store_true", help="write every reaction to standard error")
    add_wfformat(parser)
    add_otel(parser)
    add_log(parser)
    add_store(parser)
    add_format(parser)
    return parser


def _latest(store: Store) -> str:
    """Return the name of the latest run that was stopped: of one process, or of agents."""
    of_agents = latest_of_agents(store)
    try:
        card = latest(store)
    except RecordProblem:
        if of_agents is None:
            raise
        return of_agents[1]
    is_later = of_agents is not None and (card.has_ended or of_agents[0] > card.created)
    return of_agents[1] if of_agents is not None and is_later else card.run


def workflow_of(card: RunCard, file: str | None) -> Workflow:
    """Load the workflow of a run, in the folder of the run, and check that it has not changed."""
    if file is None:
        try:
            os.chdir(card.folder)
        except OSError as error:
            said = f"the folder of the run `{card.run}` cannot be entered: {card.folder}: {error.strerror}"
            raise RecordProblem("R404", said, hint="name the file of its workflow: --file WORKFLOW") from None
    given = file or card.file
    if not os.path.exists(given.partition(".py:")[0] + (".py" if ".py:" in given else "")):  # noqa: PTH110
        said = f"the workflow of the run `{card.run}` is gone: there is no file {given}"
        raise RecordProblem("R404", said, hint="name its file: --file WORKFLOW")
    # A workflow may have its name from its file.
    workflow = msgspec.structs.replace(load_sound(given, scale=card.options.scale).workflow, name=card.workflow)
    if digest_of(workflow) != card.digest:
        said = f"{given} has changed since the run `{card.run}` began, and its record does not fit it"
        hint = "restore the file (or name a copy: --file WORKFLOW), or run it anew"
        raise RecordProblem("R404", said, hint=hint)
    return workflow


def _tell_end(store: Store, card: RunCard, options: Namespace) -> int:
    """Print the results of a run that has ended."""
    import sys

    summary = summary_of(store, card)
    report = None if summary is None else report_of(card, summary)
    if options.wfformat is not None:
        if report is None:
            said = f"the record of the run `{card.run}` has no results: there is no trace to write"
            raise RecordProblem("R403", said, hint="leave out --wfformat")
        told = history(store, card)
        write_recorded_trace(workflow_of(card, options.file), report, card.created, told, options.wfformat)
    if options.format == "json":
        found: dict[str, Any] = card_as_json(card)
        if report is not None:
            found["results"] = {name: plain(value)[0] for name, value in report.results.items()}
            found["states"] = report.states
        write_json(found)
    else:
        if report is not None:
            write_results(report)
        when = local_time(card.ended)
        write(f"nothing to resume: {card.run} has ended ({card.state}), {when}", to=sys.stderr)
    return 0 if card.state == "done" else 1
