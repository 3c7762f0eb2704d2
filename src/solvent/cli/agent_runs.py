"""Runs that agents have, on the command line: to find one, to watch it, and to say how it stands and how it ended."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from solvent.cli.live import view_for
from solvent.cli.recording import local_time
from solvent.cli.render import complain, counted, write, write_json
from solvent.cli.secrecy import shown
from solvent.cli.summary import write_report_as_json, write_results, write_summary
from solvent.cli.watching import Watch
from solvent.errors import AgentProblem, RecordProblem, SpaceError, WorkflowFailed
from solvent.running.agents.following import Following
from solvent.running.agents.lacking import needs_of
from solvent.running.agents.looking import existing, lasted
from solvent.running.agents.plans import (
    FINISHED,
    SUBMITTED,
    announced,
    ending_of,
    name_from,
    places_of,
    plan_of,
    report_of,
    workflow_of,
)
from solvent.running.agents.presence import see_agents
from solvent.running.agents.troubles import Doubts, room_problem
from solvent.running.report import Report

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from solvent.cli.live import View
    from solvent.live.space import Space
    from solvent.running.agents.launching import Launched
    from solvent.running.agents.plans import Ending, Plan
    from solvent.workflow.model import Workflow

INTERRUPTED = 130
WAIT_SECONDS = 0.2
START_SECONDS = 4.0
STILL_SECONDS = 2.0
_PLAN = "/plan"


def find_run_of_agents(space: Space, text: str) -> str | None:
    """Give the run of agents that is meant, by its name or a beginning that no other has; nothing if there is none."""
    name = name_from(text.encode())
    if name and space.get(f"runs/{name}{_PLAN}") is not None:
        return name
    if name and space.get(f"runs/{name}") is not None:
        # A run of one process, by its whole name.
        return None
    matches = [run for run in runs_of_agents(space) if text and run.startswith(text)]
    if matches:
        from solvent.running.records.runs import all_runs

        matches += [card.run for card in all_runs(space) if card.run.startswith(text)]
    if len(matches) > 1:
        said = f"`{text}` may be several runs: {', '.join(matches[-5:])}"
        raise RecordProblem("R401", said, hint="write more of the name")
    return matches[0] if matches else None


def runs_of_agents(space: Space) -> list[str]:
    """Give the names of all runs of agents, in the order in which they were submitted."""
    found: dict[str, None] = {}
    after = 0
    while True:
        records = space.read(SUBMITTED, after)
        found |= dict.fromkeys(name for one in records if (name := announced(one.data)[0]))
        if not records:
            return list(found)
        after = records[-1].position


def latest_of_agents(space: Space) -> tuple[float, str] | None:
    """Give when the latest run of agents that is not over was submitted, and its name; nothing if there is none."""
    found = [(plan.created, run) for run in runs_of_agents(space) if (plan := _open_plan(space, run)) is not None]
    return max(found, default=None)


def _open_plan(space: Space, run: str) -> Plan | None:
    """Give the plan of a run that is not over; of one that does not read, nothing."""
    with suppress(RecordProblem):
        return plan_of(space, run) if ending_of(space, run) is None else None
    return None


def watch_run(space: Space, run: str, options: Namespace, *, launched: Sequence[Launched] = ()) -> int:
    """Show how a run goes on, to its end, and say how it ended; Ctrl-C ends the watching only."""
    plan = existing(space, run)
    workflow = workflow_of(space, plan)
    view = view_for(workflow, options, run=run)
    following, trouble = (
        Following(space, run, workflow, plan.created),
        _Trouble(space, plan, workflow, is_for_agents=not launched),
    )
    try:
        with Watch() as watch, view, space.watch([f"runs/{run}/", FINISHED]) as changes:
            while True:
                ending = ending_of(space, run)
                events = list(following.news())
                for event in events:
                    view.take(event)
                if ending is not None:
                    break
                trouble.look(view, is_new=bool(events))
                if watch.should_stop():
                    return _interrupted()
                _see_whether_launched_live(launched)
                changes.wait(WAIT_SECONDS)
    except KeyboardInterrupt:
        return _interrupted()
    return tell_end(space, run, options, workflow=workflow, view=view, following=following)


class _Trouble:
    """Tells who watches a run, once, why nothing happens, and when that is over."""

    def __init__(self, space: Space, plan: Plan, workflow: Workflow, *, is_for_agents: bool) -> None:
        """With `is_for_agents`, also if nobody is there: of agents that were started from here that is known."""
        self._doubts = Doubts(space, needs_of(workflow, places_of(workflow, plan)[0]))
        self._is_for_agents = is_for_agents
        self._told = self._back = ""
        self._new_at = time.monotonic()

    def look(self, view: View, *, is_new: bool) -> None:
        """See whether anything is wrong, if nothing has happened for a while."""
        now = time.monotonic()
        if is_new:
            self._new_at = now
        if now - self._new_at < STILL_SECONDS and not self._told:
            return
        if found := shown(self._doubts.look()):
            found, back = f"{found}; the run goes on when there is room", "there is room again"
        elif self._is_for_agents and self._doubts.is_nobody_there:
            found, back = "no agent is alive; the run goes on when one is started", "there are agents again"
        elif found := shown("; ".join(self._doubts.lacking.lines())):
            back = "there are agents with all services again"
        else:
            back = ""
        if bool(found) != bool(self._told):
            view.tell(found or self._back)
        self._told, self._back = found, back


def _interrupted() -> int:
    complain("interrupted")
    return INTERRUPTED


def _see_whether_launched_live(launched: Sequence[Launched]) -> None:
    """Raise `AgentProblem` A105 if all agents that were started from here have ended by themselves."""
    if launched and all(one.code is not None for one in launched):
        last = launched[-1]
        said = f"all agents that were started have ended, the last one with code {last.code}"
        problem = AgentProblem(
            "A105", said, hint=f"they wrote to {last.log.parent}; `solvent status` shows who is left"
        )
        problem.exit_code = 1
        for line in last.tail().splitlines()[-5:]:
            write(f"  │ {shown(line)}", to=sys.stderr)
        raise problem


def tell_end(
    space: Space,
    run: str,
    options: Namespace,
    *,
    workflow: Workflow | None = None,
    view: View | None = None,
    following: Following | None = None,
) -> int:
    """Print the results of a run that has ended, as a run in this process does, and give its exit code."""
    plan, ending = existing(space, run), ending_of(space, run)
    assert ending is not None
    workflow = workflow or workflow_of(space, plan)
    report = report_of_run(space, run, plan, ending, workflow)
    following = following or Following(space, run, workflow, plan.created)
    for _ in following.news():
        pass
    report.called_again = following.called_again
    if view is not None:
        view.end(report)
    if options.format == "json":
        write_report_as_json(workflow, report, run=run)
    else:
        write_results(report)
        if options.log_format != "json":
            write_summary(workflow, report)
    sys.stdout.flush()
    return 0 if ending.state == "done" else 1


def report_of_run(space: Space, run: str, plan: Plan, ending: Ending, workflow: Workflow) -> Report:
    """Give the report of a run that has ended; of one that was ended early, as far as its journals tell."""
    report = report_of(space, run, workflow, plan.places)
    if report is None:
        report = _report_of_journals(space, run, plan, workflow)
        if ending.state == "failed":
            report.error = WorkflowFailed(
                "A106", f"no agent could go on with `{run}`: {ending.text or 'nobody knows why'}"
            )
    report.is_cancelled = report.is_cancelled or ending.state == "cancelled"
    report.seconds = lasted(plan, ending)
    return report


def _report_of_journals(space: Space, run: str, plan: Plan, workflow: Workflow) -> Report:
    report = Report(workflow.name, states=dict.fromkeys((task.name for task in workflow.tasks), "waiting"))
    following = Following(space, run, workflow, plan.created)
    for event in following.news():
        if event.kind == "started":
            report.calls[event.task] = report.calls.get(event.task, 0) + 1
        if event.kind != "adapted":
            report.states[event.task] = {"started": "cancelled"}.get(event.kind, event.kind)
    return report


def refuse_without_agents(space: Space, run: str) -> None:
    """Raise `AgentProblem` A104 if nobody is there who could go on with a run that is not over."""
    until = time.monotonic() + START_SECONDS
    # In this order: agents may have ended it meanwhile, and themselves with it.
    while not any(one.is_alive for one in see_agents(space)) and ending_of(space, run) is None:
        # Those that were started just now need a moment.
        if time.monotonic() >= until:
            if problem := room_problem(space):
                raise SpaceError("E403", problem, hint="make room: agents that are there go on by themselves")
            hint = "start some: `solvent agent --space URL --services WORKFLOW`, or here: --agents N --file WORKFLOW"
            raise AgentProblem("A104", f"nobody goes on with `{run}`: no agent is alive at this space", hint=hint)
        time.sleep(WAIT_SECONDS)


def tell_submitted(run: str, plan: Plan, *, is_json: bool) -> None:
    """Say the name of a run that was submitted."""
    if is_json:
        write_json({"run": run, "workflow": plan.name, "places": plan.places})
    else:
        write(run)
    sys.stdout.flush()


def run_as_json(seen: Any) -> dict[str, Any]:
    """Give what is seen of a run."""
    found: dict[str, Any] = {
        "run": seen.run,
        "workflow": seen.workflow,
        "state": seen.state,
        "created": seen.created,
        "calls": seen.calls,
        "called_again": seen.again,
        "places": [
            {"place": one.number, "agent": one.agent, "epoch": one.epoch, "tasks": one.tasks, "done": one.done,
             "failed": one.failed, "out": one.out, "waiting": one.waiting}
            for one in seen.places
        ],
        "agents": [agent_as_json(one) for one in seen.agents],
        "missing_services": list(seen.lacking.missing),
        "services_apart": [list(one) for one in seen.lacking.apart],
        "refusals": [{"agent": one.agent, "place": one.place, "why": one.why} for one in seen.refusals],
        "trouble": seen.trouble,
    }  # fmt: skip
    if seen.ending is not None:
        found |= {"ended": seen.ending.at, "text": seen.ending.text, "successor": seen.successor}
    return found


def agent_as_json(agent: Any) -> dict[str, Any]:
    """Give what is seen of an agent."""
    return {
        "agent": agent.name,
        "alive": agent.is_alive,
        "host": agent.host,
        "process": agent.pid,
        "services": sorted(agent.services),
        "trusts_all": agent.trusts_all,
    }


def write_run(seen: Any) -> None:
    """Write how a run stands: its places, who has them, and who is there."""
    places = seen.places
    state = f"{seen.state}" + (f": {shown(seen.ending.text)}" if seen.ending is not None and seen.ending.text else "")
    write((seen.run, "bold"), f": {state}, {shown(seen.workflow)}, {counted(len(places), 'place')} of agents")
    ended = f", ended {local_time(seen.ending.at)}" if seen.ending is not None else ""
    write(f"submitted {local_time(seen.created)}{ended}")
    total = {name: sum(getattr(one, name) for one in places) for name in ("tasks", "done", "out", "waiting", "failed")}
    failed = f", {total['failed']:,} failed" if total["failed"] else ""
    write(
        f"{counted(total['tasks'], 'task')}: {total['done']:,} done, {total['out']:,} out, "
        f"{total['waiting']:,} waiting{failed}; {counted(seen.calls, 'call')}, {seen.again:,} of them made again"
    )
    if seen.successor:
        write("it goes on as ", (seen.successor, "bold"))
    if seen.ending is None:
        _write_places(seen)
        write_agents(seen.agents)
        for line in seen.lacking.lines():
            write((shown(line), "bold yellow"))
        for one in seen.refusals:
            what = "it" if one.place is None else f"place {one.place}"
            write((f"{shown(one.agent)} cannot run {what}: {shown(one.why)}", "bold yellow"))
        if seen.trouble:
            write((f"{shown(seen.trouble)}; agents go on when there is room", "bold yellow"))


def _write_places(seen: Any) -> None:
    alive = {one.name for one in seen.agents if one.is_alive}
    width = max((len(one.agent) for one in seen.places), default=0)
    for one in seen.places:
        who = shown(one.agent) or "nobody"
        note = "" if not one.agent or one.agent in alive else " (silent)"
        many = f"{one.done:,} done, {one.out:,} out, {one.waiting:,} waiting" + (
            f", {one.failed:,} failed" if one.failed else ""
        )
        write(f"  place {one.number:>3}  {who:<{max(width, 6)}}  {many}{note}")


def write_agents(agents: Sequence[Any]) -> None:
    """Write who is there."""
    if not agents:
        write("no agents are there")
    for one in agents:
        how = ("alive", "green") if one.is_alive else ("silent", "yellow")
        what = (
            "everything (--trust-all)" if one.trusts_all else ", ".join(map(shown, sorted(one.services))) or "nothing"
        )
        write(f"  agent {shown(one.name)}  ", how, f"  {shown(one.host)} process {one.pid}; offers {what}")


__all__ = [
    "agent_as_json", "find_run_of_agents", "latest_of_agents", "refuse_without_agents", "report_of_run", "run_as_json",
    "runs_of_agents", "tell_end", "tell_submitted", "watch_run", "write_agents", "write_run",
]  # fmt: skip
