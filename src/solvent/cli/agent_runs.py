"""Runs of agents on the command line: find one, watch it, and report what happened and how it ended."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec.structs import replace

from solvent.cli.live import view_for
from solvent.cli.progress import Watch
from solvent.cli.render import complain, write
from solvent.cli.report import write_report
from solvent.cli.secrecy import shown
from solvent.errors import INTERRUPTED, AgentProblem, RecordProblem, StoreError, WorkflowFailed
from solvent.runs.agents.following import Following
from solvent.runs.agents.lacking import lacking, needs_of
from solvent.runs.agents.looking import existing, lasted, who_goes_on
from solvent.runs.agents.plans import (
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
from solvent.runs.agents.presence import SURE_PART_OF_TTL, see_agents
from solvent.runs.agents.troubles import Doubts, room_problem
from solvent.runs.records.entries import Ended, Opened
from solvent.runs.records.history import AT_PLACE
from solvent.runs.records.runs import all_runs
from solvent.runs.report import Report

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Sequence

    from solvent.cli.live import View
    from solvent.runs.agents.following import Noted
    from solvent.runs.agents.launching import Launched
    from solvent.runs.agents.plans import Ending, Plan
    from solvent.runs.agents.presence import AgentSeen
    from solvent.runs.records.history import Happening
    from solvent.store import Store
    from solvent.workflows.model import Workflow

    Told: TypeAlias = tuple[str, float, Sequence[str], Iterator[Happening]]

WAIT_SECONDS = 0.2
START_SECONDS = 4.0
STILL_SECONDS = 2.0
OTHERS_SECONDS = 5.0
_PASSING = frozenset({"E402", "E409", "E414"})
"""Codes of temporary problems of a store."""
_PLAN = "/plan"


def find_run_of_agents(store: Store, text: str) -> str | None:
    """Return the run of agents with a name, or a unique beginning of it; None if there is none."""
    name = name_from(text.encode())
    if name and store.get(f"runs/{name}{_PLAN}") is not None:
        return name
    if name and store.get(f"runs/{name}") is not None:
        # A run of one process, by its whole name.
        return None
    matches = [run for run in runs_of_agents(store) if text and run.startswith(text)]
    if matches:
        from solvent.runs.records.runs import all_runs

        matches += [card.run for card in all_runs(store) if card.run.startswith(text)]
    if len(matches) > 1:
        said = f"`{text}` matches several runs: {', '.join(matches[-5:])}"
        raise RecordProblem("R401", said, hint="write more of the name")
    return matches[0] if matches else None


def runs_of_agents(store: Store) -> list[str]:
    """Return the names of all runs of agents, in the order in which they were submitted."""
    found: dict[str, None] = {}
    after = 0
    while True:
        records = store.read(SUBMITTED, after)
        found |= dict.fromkeys(name for one in records if (name := announced(one.data)[0]))
        if not records:
            return list(found)
        after = records[-1].position


def latest_of_agents(store: Store) -> tuple[float, str] | None:
    """Return when the latest open run of agents was submitted, and its name; None if there is none."""
    found = [(plan.created, run) for run in runs_of_agents(store) if (plan := _open_plan(store, run)) is not None]
    return max(found, default=None)


def _open_plan(store: Store, run: str) -> Plan | None:
    """Return the plan of an open run; None if it has ended or cannot be read."""
    with suppress(RecordProblem):
        return plan_of(store, run) if ending_of(store, run) is None else None
    return None


def watch_run(store: Store, run: str, options: Namespace, *, launched: Sequence[Launched] = ()) -> int:
    """Show a run until it ends, and report how it ended; Ctrl-C ends only the watching."""
    plan = existing(store, run)
    workflow = workflow_of(store, plan)
    view = view_for(workflow, options, run=run)
    following, trouble = (
        Following(store, run, workflow, plan.created),
        _Trouble(store, plan, workflow, is_for_agents=not launched),
    )
    others, absence = _Others(store, run, plan, workflow, launched), _Absence()
    try:
        with Watch() as watch, view, store.watch([f"runs/{run}/", FINISHED]) as changes:
            while not watch.should_stop():
                try:
                    ending, is_new = ending_of(store, run), False
                    for event in following.news():
                        view.take(event)
                        is_new = True
                    absence.ended(view)
                    if ending is not None:
                        break
                    trouble.look(view, is_new=is_new)
                    others.look(view)
                    changes.wait(WAIT_SECONDS)
                except StoreError as error:
                    absence.began(error, view)
                    time.sleep(WAIT_SECONDS)
            else:
                return _interrupted()
    except KeyboardInterrupt:
        return _interrupted()
    return tell_end(store, run, options, workflow=workflow, view=view, following=following)


class _Trouble:
    """Reports to a view, once, why a run makes no progress, and when that is over."""

    def __init__(self, store: Store, plan: Plan, workflow: Workflow, *, is_for_agents: bool) -> None:
        """With `is_for_agents`, also report that no agent is alive."""
        self._doubts = Doubts(store, needs_of(workflow, places_of(workflow, plan)[0]))
        self._is_for_agents = is_for_agents
        self._told = self._back = ""
        self._new_at = time.monotonic()

    def look(self, view: View, *, is_new: bool) -> None:
        """Look for problems if nothing has happened for a while."""
        now = time.monotonic()
        if is_new:
            self._new_at = now
        if now - self._new_at < STILL_SECONDS and not self._told:
            return
        if found := shown(self._doubts.look()):
            found, back = f"{found}; the run continues when there is room", "there is room again"
        elif self._is_for_agents and self._doubts.is_nobody_there:
            found, back = "no agent is alive; the run continues when one is started", "there are agents again"
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


class _Absence:
    """Reports to a view that the store cannot be reached for a while."""

    def __init__(self) -> None:
        self._is_now = False

    def began(self, error: StoreError, view: View) -> None:
        """Report an outage once; raise an error that is not temporary."""
        if error.code not in _PASSING or error.is_lasting:
            raise error
        if not self._is_now:
            view.tell(f"{shown(error.message)}; the run continues when the store can be reached")
        self._is_now = True

    def ended(self, view: View) -> None:
        """Report that the outage is over."""
        if self._is_now:
            view.tell("the store can be reached again")
        self._is_now = False


class _Others:
    """Checks, when all agents that were started here have ended, whether others continue the run."""

    def __init__(self, store: Store, run: str, plan: Plan, workflow: Workflow, launched: Sequence[Launched]) -> None:
        self._store = store
        self._run = run
        self._workflow = workflow
        self._needs = needs_of(workflow, places_of(workflow, plan)[0])
        self._launched = launched
        self._is_told = False
        self._looked_at = -OTHERS_SECONDS

    def look(self, view: View) -> None:
        """Raise `AgentProblem` A105 if no agent is left that has, or could take, a part of the run."""
        if not self._launched or any(one.code is None for one in self._launched):
            return
        if time.monotonic() - self._looked_at < OTHERS_SECONDS:
            return
        agents = see_agents(self._store, part=SURE_PART_OF_TTL)
        found = who_goes_on(self._store, self._run, self._workflow, agents)
        self._looked_at = time.monotonic()
        if not found and ending_of(self._store, self._run) is None:
            raise self._problem(agents)
        if found and not self._is_told:
            view.tell(f"all agents that were started here have ended; {shown(found[0])} continues the run")
            self._is_told = True

    def _problem(self, agents: Sequence[AgentSeen]) -> AgentProblem:
        last = self._launched[-1]
        said = f"all agents that were started have ended, the last one with code {last.code}"
        if any(one.is_alive for one in agents):
            why = "; ".join(lacking(self._needs, agents).lines()) or "nothing more can happen with them"
            said += f"; others are alive, but none of them can continue the run: {shown(why)}"
        problem = AgentProblem(
            "A105", said, hint=f"they wrote to {last.log.parent}; `solvent status` lists the agents that are left"
        )
        problem.exit_code = 1
        for line in last.tail().splitlines()[-5:]:
            write(f"  │ {shown(line)}", to=sys.stderr)
        return problem


def tell_end(
    store: Store,
    run: str,
    options: Namespace,
    *,
    workflow: Workflow | None = None,
    view: View | None = None,
    following: Following | None = None,
) -> int:
    """Print the results of a run that has ended, as a run in this process does, and return its exit code."""
    plan, ending = existing(store, run), ending_of(store, run)
    assert ending is not None
    workflow = workflow or workflow_of(store, plan)
    report = report_of_run(store, run, plan, ending, workflow)
    following = following or Following(store, run, workflow, plan.created)
    for _ in following.news():
        pass
    report.called_again = following.called_again
    if view is not None:
        view.end(report)
    try:
        if options.wfformat is not None:
            from solvent.cli.report import write_recorded_trace

            write_recorded_trace(workflow, report, plan.created, happened_in(store, run, workflow), options.wfformat)
    finally:
        # The results are shown even if the trace cannot be written.
        write_report(workflow, report, options, run=run)
    return 0 if ending.state == "done" else 1


def report_of_run(store: Store, run: str, plan: Plan, ending: Ending, workflow: Workflow) -> Report:
    """Return the report of a run that has ended; of one that was ended early, what its journals contain."""
    report = report_of(store, run, workflow, plan.places)
    if report is None:
        report = _report_of_journals(store, run, plan, workflow)
        if ending.state == "failed":
            report.error = WorkflowFailed(
                "A106", f"no agent could continue `{run}`: {ending.text or 'for an unknown reason'}"
            )
    report.is_cancelled = report.is_cancelled or ending.state == "cancelled"
    report.seconds = lasted(plan, ending)
    return report


def _report_of_journals(store: Store, run: str, plan: Plan, workflow: Workflow) -> Report:
    report = Report(workflow.name, states=dict.fromkeys((task.name for task in workflow.tasks), "waiting"))
    following = Following(store, run, workflow, plan.created)
    for event in following.news():
        if event.kind == "started":
            report.calls[event.task] = report.calls.get(event.task, 0) + 1
        if event.kind != "adapted":
            report.states[event.task] = {"started": "cancelled"}.get(event.kind, event.kind)
    return report


def refuse_without_agents(store: Store, run: str) -> None:
    """Raise `AgentProblem` A104 if no agent is alive to continue an open run."""
    until = time.monotonic() + START_SECONDS
    # In this order: agents may have ended the run in the meantime, and then themselves.
    while not any(one.is_alive for one in see_agents(store)) and ending_of(store, run) is None:
        # Agents that were just started need a moment.
        if time.monotonic() >= until:
            if problem := room_problem(store):
                raise StoreError("E403", problem, hint="make room: agents that are alive continue by themselves")
            hint = "start some: `solvent agent --store URL --services WORKFLOW`, or here: --agents N --file WORKFLOW"
            raise AgentProblem("A104", f"`{run}` cannot continue: no agent is alive at this store", hint=hint)
        time.sleep(WAIT_SECONDS)


def agent_as_json(agent: Any) -> dict[str, Any]:
    """Return an agent as JSON."""
    return {
        "agent": agent.name,
        "alive": agent.is_alive,
        "host": agent.host,
        "process": agent.pid,
        "services": sorted(agent.services),
        "trusts_all": agent.trusts_all,
    }


def write_agents(agents: Sequence[Any]) -> None:
    """Write a line for each agent."""
    if not agents:
        write("there are no agents")
    for one in agents:
        how = ("alive", "green") if one.is_alive else ("silent", "yellow")
        what = (
            "everything (--trust-all)" if one.trusts_all else ", ".join(map(shown, sorted(one.services))) or "nothing"
        )
        write(f"  agent {shown(one.name)}  ", how, f"  {shown(one.host)} process {one.pid}; offers {what}")


def list_runs(store: Store, damaged: dict[str, str]) -> list[dict[str, Any]]:
    """Return all runs of agents, for a list; add unreadable ones to `damaged`, with the reason."""
    found = []
    for run in runs_of_agents(store):
        try:
            plan, ending = plan_of(store, run), ending_of(store, run)
        except RecordProblem as error:
            damaged[run] = error.message
            continue
        if plan is not None:
            state = "submitted" if ending is None else ending.state
            found.append({"run": run, "workflow": plan.name, "state": state, "created": plan.created, "agents": True})
    return found


def latest_run(store: Store) -> str:
    """Return the name of the run of a workflow that began last, by one process or by agents."""
    began = [(card.created, card.run) for card in all_runs(store)]
    began += [(one["created"], one["run"]) for one in list_runs(store, {})]
    if not began:
        raise RecordProblem("R401", f"there are no runs in {store.url}", hint="`solvent run WORKFLOW` records one")
    return max(began)[1]


def happened(store: Store, options: Namespace) -> Told | None:
    """Return the name of a run of agents, when it began, its tasks, and what happened; None if there is none."""
    run = find_run_of_agents(store, options.run)
    if run is None:
        return None
    plan = existing(store, run)
    workflow = workflow_of(store, plan)
    return run, plan.created, [task.name for task in workflow.tasks], happened_in(store, run, workflow)


def happened_in(store: Store, run: str, workflow: Workflow) -> Iterator[Happening]:
    """Yield what happened in a run of agents, in all places."""
    from solvent.runs.agents.following import Journals
    from solvent.runs.records.history import Happening, happenings

    # The end of the run is reported once, by its ending, and not by the place that led to it.
    noted = [_at_place(one) for one in Journals(store, run).fresh() if not isinstance(one.entry, Ended)]
    # A stable order by the agents' clocks: entries of one journal stay in order unless a clock went back.
    yield from sorted(happenings(noted, frozenset(task.name for task in workflow.tasks)), key=lambda one: one.at)
    ending = ending_of(store, run)
    if ending is not None:
        yield Happening(ending.at, "ended", ending.state, text=ending.text)


def _at_place(noted: Noted) -> Any:
    """Return an entry; add the place to an agent that takes it."""
    entry = noted.entry
    return replace(entry, agent=f"{entry.agent}{AT_PLACE}{noted.place}") if isinstance(entry, Opened) else entry
