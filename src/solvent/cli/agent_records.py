"""What `solvent status`, `logs`, `cancel` and `replay` do with a run that agents have; nothing if they have none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.cli.agent_runs import find_run_of_agents, report_of_run, run_as_json, runs_of_agents, write_run
from solvent.cli.records import local_time
from solvent.cli.render import write, write_json
from solvent.cli.report import write_report_as_json, write_results, write_summary
from solvent.errors import AgentProblem, RecordProblem
from solvent.runs.agents.looking import existing, see_run
from solvent.runs.agents.plans import end, ending_of, plan_of, workflow_of
from solvent.runs.records.entries import Ended, Opened
from solvent.runs.records.history import AT_PLACE
from solvent.runs.records.runs import all_runs
from solvent.values import codec

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from solvent.runs.agents.following import Noted
    from solvent.runs.records.history import Happening
    from solvent.runs.report import Report
    from solvent.store import Store
    from solvent.workflows.model import Workflow

    #: The name of a run, when it began, its tasks, and what has happened.
    Told: TypeAlias = tuple[str, float, Sequence[str], Iterator[Happening]]


def show_status(store: Store, options: Namespace) -> bool:
    """Show how a run of agents stands."""
    run = find_run_of_agents(store, options.run)
    if run is None:
        return False
    seen = see_run(store, run)
    if options.format == "json":
        write_json(run_as_json(seen))
    else:
        write_run(seen)
    return True


def list_runs(store: Store, damaged: dict[str, str]) -> list[dict[str, Any]]:
    """Give all runs of agents, for a list; `damaged` gets the names of those that do not read, and why."""
    found = []
    for run in runs_of_agents(store):
        try:
            plan, ending = plan_of(store, run), ending_of(store, run)
        except RecordProblem as error:
            damaged[run] = error.message
            continue
        if plan is not None:
            state = "given to agents" if ending is None else ending.state
            found.append({"run": run, "workflow": plan.name, "state": state, "created": plan.created, "agents": True})
    return found


def write_runs(found: list[dict[str, Any]]) -> None:
    """Write a line for each run of agents."""
    width = max((len(one["run"]) for one in found), default=0)
    for one in found:
        write(
            (f"{one['run']:<{width}}", "bold"), f"  {one['state']:<15}  {local_time(one['created'])}  {one['workflow']}"
        )


def latest_run(store: Store) -> str:
    """Return the name of the run of a workflow that began last, by one process or by agents."""
    began = [(card.created, card.run) for card in all_runs(store)]
    began += [(one["created"], one["run"]) for one in list_runs(store, {})]
    if not began:
        raise RecordProblem("R401", f"there are no runs in {store.url}", hint="`solvent run WORKFLOW` makes one")
    return max(began)[1]


def happened(store: Store, options: Namespace) -> Told | None:
    """Give what happened in a run of agents, of all places together: its name, when it began, its tasks, and this."""
    run = find_run_of_agents(store, options.run)
    if run is None:
        return None
    plan = existing(store, run)
    workflow = workflow_of(store, plan)
    return run, plan.created, [task.name for task in workflow.tasks], happened_in(store, run, workflow)


def happened_in(store: Store, run: str, workflow: Workflow) -> Iterator[Happening]:
    """Give what happened in a run of agents, of all places together."""
    from solvent.runs.agents.following import Journals
    from solvent.runs.records.history import Happening, happenings

    # How the run ended is told once, by its ending, and not by the place that led to it.
    noted = [_at_place(one) for one in Journals(store, run).fresh() if not isinstance(one.entry, Ended)]
    # A stable order by the agents' clocks: of one journal nothing changes its place unless a clock went back.
    yield from sorted(happenings(noted, frozenset(task.name for task in workflow.tasks)), key=lambda one: one.at)
    ending = ending_of(store, run)
    if ending is not None:
        yield Happening(ending.at, "ended", ending.state, text=ending.text)


def _at_place(noted: Noted) -> Any:
    """Give an entry; of an agent that takes a place, with this."""
    entry = noted.entry
    return replace(entry, agent=f"{entry.agent}{AT_PLACE}{noted.place}") if isinstance(entry, Opened) else entry


def cancel_run(store: Store, options: Namespace) -> int | None:
    """Cancel a run of agents."""
    run = find_run_of_agents(store, options.run)
    if run is None:
        return None
    had = ending_of(store, run)
    if had is None:
        end(store, run, "cancelled", "by `solvent cancel`")
    now = ending_of(store, run)
    assert now is not None
    if options.format == "json":
        write_json({"run": run, "state": now.state, "ended": now.at})
    else:
        write(f"{run} had ended before: {had.state}" if had is not None else f"{run}: {now.state}")
    return 0


def replay_run(store: Store, options: Namespace) -> int | None:
    """Do a run of agents again from its journals and letters, calling nobody, and see that it comes to the same."""
    from solvent.cli.agent import offers_from
    from solvent.runs.agents.offers import Offers
    from solvent.runs.agents.replaying import replayed

    run = find_run_of_agents(store, options.run)
    if run is None:
        return None
    if options.trace:
        raise AgentProblem(
            "A107", "the reactions of a run of several places have no one order", hint="leave out --trace"
        )
    plan, ending = existing(store, run), ending_of(store, run)
    workflow = workflow_of(store, plan)
    report = replayed(store, run, plan, offers_from([options.file]) if options.file else Offers({}))
    is_whole = ending is not None and ending.state in ("done", "failed") and not ending.text
    if ending is not None:
        had = report_of_run(store, run, plan, ending, workflow)
        report.seconds = had.seconds
        report.is_cancelled = had.is_cancelled
        report.error = had.error
    if options.format == "json":
        write_report_as_json(workflow, report, run=run)
    else:
        write_results(report)
        write_summary(workflow, report)
    sys.stdout.flush()
    if is_whole:
        _compare(run, report, had)
    return 0 if ending is None or report.succeeded else 1


def _compare(run: str, report: Report, had: Report) -> None:
    for what in ("results", "states", "calls"):
        # As they are written: two arrays have no one answer, and what is not a number is not equal to itself. By name:
        # the order of the names differs between processes.
        now, before = ({name: codec.encode(one) for name, one in getattr(some, what).items()} for some in (report, had))
        if now != before:
            raise RecordProblem("R407", f"the replay has other {what} than the run `{run}` had")
    write(f"the replay came to the same as the run {run}", to=sys.stderr)


__all__ = [
    "cancel_run",
    "happened",
    "happened_in",
    "latest_run",
    "list_runs",
    "replay_run",
    "show_status",
    "write_runs",
]
