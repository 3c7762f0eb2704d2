"""What `solvent status`, `logs`, `cancel` and `replay` do with a run that agents have; nothing if they have none."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.cli.agent_runs import find_run_of_agents, report_of_run, run_as_json, runs_of_agents, write_run
from solvent.cli.recording import local_time
from solvent.cli.render import write, write_json
from solvent.cli.summary import write_report_as_json, write_results, write_summary
from solvent.errors import AgentProblem, RecordProblem
from solvent.running.agents.looking import existing, see_run
from solvent.running.agents.plans import end, ending_of, plan_of, workflow_of
from solvent.running.records import values
from solvent.running.records.entries import Ended, Opened
from solvent.running.records.history import AT_PLACE

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from solvent.live.space import Space
    from solvent.running.agents.following import Noted
    from solvent.running.records.history import Happening
    from solvent.running.report import Report

    #: The name of a run, when it began, its tasks, and what has happened.
    Told: TypeAlias = tuple[str, float, Sequence[str], Iterator[Happening]]


def show_status(space: Space, options: Namespace) -> bool:
    """Show how a run of agents stands."""
    run = find_run_of_agents(space, options.run)
    if run is None:
        return False
    seen = see_run(space, run)
    if options.format == "json":
        write_json(run_as_json(seen))
    else:
        write_run(seen)
    return True


def list_runs(space: Space, damaged: dict[str, str]) -> list[dict[str, Any]]:
    """Give all runs of agents, for a list; `damaged` gets the names of those that do not read, and why."""
    found = []
    for run in runs_of_agents(space):
        try:
            plan, ending = plan_of(space, run), ending_of(space, run)
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


def happened(space: Space, options: Namespace) -> Told | None:
    """Give what happened in a run of agents, of all places together: its name, when it began, its tasks, and this."""
    from solvent.running.agents.following import Journals
    from solvent.running.records.history import Happening, happenings

    run = find_run_of_agents(space, options.run)
    if run is None:
        return None
    plan, ending = existing(space, run), ending_of(space, run)
    tasks = [task.name for task in workflow_of(space, plan).tasks]

    def all_of_it() -> Iterator[Happening]:
        # How the run ended is told once, by its ending, and not by the place that led to it.
        noted = [_at_place(one) for one in Journals(space, run).fresh() if not isinstance(one.entry, Ended)]
        # A stable order by the agents' clocks: of one journal nothing changes its place unless a clock went back.
        yield from sorted(happenings(noted, frozenset(tasks)), key=lambda one: one.at)
        if ending is not None:
            yield Happening(ending.at, "ended", ending.state, text=ending.text)

    return run, plan.created, tasks, all_of_it()


def _at_place(noted: Noted) -> Any:
    """Give an entry; of an agent that takes a place, with this."""
    entry = noted.entry
    return replace(entry, agent=f"{entry.agent}{AT_PLACE}{noted.place}") if isinstance(entry, Opened) else entry


def cancel_run(space: Space, options: Namespace) -> int | None:
    """Cancel a run of agents."""
    run = find_run_of_agents(space, options.run)
    if run is None:
        return None
    had = ending_of(space, run)
    if had is None:
        end(space, run, "cancelled", "by `solvent cancel`")
    now = ending_of(space, run)
    assert now is not None
    if options.format == "json":
        write_json({"run": run, "state": now.state, "ended": now.at})
    else:
        write(f"{run} had ended before: {had.state}" if had is not None else f"{run}: {now.state}")
    return 0


def replay_run(space: Space, options: Namespace) -> int | None:
    """Do a run of agents again from its journals and letters, calling nobody, and see that it comes to the same."""
    from solvent.cli.agent import offers_from
    from solvent.running.agents.offers import Offers
    from solvent.running.agents.replaying import replayed

    run = find_run_of_agents(space, options.run)
    if run is None:
        return None
    if options.trace:
        raise AgentProblem(
            "A107", "the reactions of a run of several places have no one order", hint="leave out --trace"
        )
    plan, ending = existing(space, run), ending_of(space, run)
    workflow = workflow_of(space, plan)
    report = replayed(space, run, plan, offers_from([options.file]) if options.file else Offers({}))
    is_whole = ending is not None and ending.state in ("done", "failed") and not ending.text
    if ending is not None:
        had = report_of_run(space, run, plan, ending, workflow)
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
        # As they are written: two arrays have no one answer, and what is not a number is not equal to itself.
        if values.encode(getattr(report, what)) != values.encode(getattr(had, what)):
            raise RecordProblem("R407", f"the replay has other {what} than the run `{run}` had")
    write(f"the replay came to the same as the run {run}", to=sys.stderr)


__all__ = ["cancel_run", "happened", "list_runs", "replay_run", "show_status", "write_runs"]
