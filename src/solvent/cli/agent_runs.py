"""Runs of agents on the command line: find one, watch it, and report what happened and how it ended."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from solvent.cli.live import view_for
from solvent.cli.progress import Watch
from solvent.cli.records import local_time, recorded_workflow
from solvent.cli.render import complain, write
from solvent.cli.report import write_report
from solvent.cli.secrecy import shown
from solvent.errors import INTERRUPTED, AgentProblem, StoreError
from solvent.runs.agents.launch import LocalAgents
from solvent.runs.agents.membership import needs_of, see_agents
from solvent.runs.agents.store_outage import Doubts, room_problem
from solvent.runs.projection import Follower, view_of
from solvent.runs.registry import existing, shards_of, workflow_of
from solvent.runs.run_handle import Run, ended_report, event_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from solvent.cli.live import View
    from solvent.runs.agents.launch import Launched
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow

WAIT_SECONDS = 0.2
START_SECONDS = 4.0
STILL_SECONDS = 2.0


def watch_run(store: Store, run: str, options: Namespace, *, launched: Sequence[Launched] = ()) -> int:
    """Show a run until it ends, and report how it ended; Ctrl-C ends only the watching."""
    record = existing(store, run)
    workflow = workflow_of(store, record)
    view = view_for(workflow, options, run=run)
    trouble, absence = _Trouble(store, record, workflow, is_for_agents=not launched), _Absence()
    follower = Follower(store, record, workflow)
    watched = Run(store, run, agents=LocalAgents(store, record, workflow, launched))
    try:
        with Watch() as watch, view:
            for turn in watched.turns(follower, watch.should_stop):
                for event in filter(None, map(event_of, turn.changes)):
                    view.take(event)
                if follower.record.prefix != record.prefix:
                    record = follower.record
                    workflow = workflow_of(store, record)
                    view.go_on(record, workflow, filter(None, map(event_of, follower.kept)))
                    trouble = _Trouble(store, record, workflow, is_for_agents=not launched)
                absence.look(turn.outage, view)
                if turn.outage is None and not turn.is_over:
                    trouble.look(view, is_new=bool(turn.changes))
                if turn.successor:
                    said = "all agents that were started here have ended"
                    view.tell(f"{said}; {shown(turn.successor)} continues the run")
    except KeyboardInterrupt:
        return _interrupted()
    record = existing(store, run)
    if not record.has_ended:
        return _interrupted()
    return tell_end(store, record, options, workflow=workflow, view=view)


class _Trouble:
    """Reports to a view, once, why a run makes no progress, and when that is over."""

    def __init__(self, store: Store, record: RunRecord, workflow: Workflow, *, is_for_agents: bool) -> None:
        """With `is_for_agents`, also report that no agent is alive."""
        self._doubts = Doubts(store, needs_of(workflow, shards_of(workflow, record)[0]))
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

    def look(self, outage: StoreError | None, view: View) -> None:
        """Report, once, an outage, and that it is over."""
        if outage is not None and not self._is_now:
            view.tell(f"{shown(outage.message)}; the run continues when the store can be reached")
        elif outage is None and self._is_now:
            view.tell("the store can be reached again")
        self._is_now = outage is not None


def tell_end(
    store: Store,
    record: RunRecord,
    options: Namespace,
    *,
    workflow: Workflow | None = None,
    view: View | None = None,
) -> int:
    """Print the results of a run that has ended, as a run in this process does, and return its exit code."""
    workflow = workflow or recorded_workflow(store, record, options.file)
    report = ended_report(store, record, workflow, view_of(store, record))
    if view is not None:
        view.end(report)
    try:
        if options.wfformat is not None:
            from datetime import UTC, datetime

            from solvent.cli.report import write_trace

            write_trace(workflow, report, datetime.fromtimestamp(record.created, UTC), options.wfformat)
    finally:
        # The results are shown even if the trace cannot be written.
        write_report(workflow, report, options, run=record.run)
    if view is None and options.format != "json":
        # Nobody has seen it end.
        how = {"done": "is already done", "cancelled": "was cancelled"}.get(record.state, record.state)
        again = f": it cannot be resumed; to try again: solvent run {record.file or 'WORKFLOW'}"
        said = "" if record.state == "done" else again
        write(f"the run `{record.run}` {how}, {local_time(record.ended)}{said}", to=sys.stderr)
    return 0 if record.state == "done" else 1


def refuse_without_agents(store: Store, run: str) -> None:
    """Raise `AgentProblem` A104 if no agent is alive to continue an open run."""
    until = time.monotonic() + START_SECONDS
    # In this order: agents may have ended the run in the meantime, and then themselves.
    while not any(one.is_alive for one in see_agents(store)) and not existing(store, run).has_ended:
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
