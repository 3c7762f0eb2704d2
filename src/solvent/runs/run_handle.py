"""A run that Python code has started or found in a store: what `solvent.submit` and `solvent.attach` return.

Whoever executes it (a thread of this process, agents that were started here, or others), it is looked at in one way:
through its record and the events in the journals of its store. A run without a store of its own is in a temporary one.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from msgspec.structs import replace

from solvent.errors import RecordProblem, StoreError, WorkflowFailed
from solvent.runs.closed_shards import report_of
from solvent.runs.continuation import next_version, refuse_to_update
from solvent.runs.holders import holder_of, is_there, status_of, this_process
from solvent.runs.projection import Adaptation, CallChanged, Follower, Signal, Waits, state_of, view_of
from solvent.runs.registry import FINISHED, document_of, end, existing, workflow_of
from solvent.runs.report import DeadlinePassed, Report, TaskEvent, by_item, succeeded, value_of
from solvent.runs.signals import send_signal
from solvent.values.classes import Unloaded, needs_restoring, restore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from tempfile import TemporaryDirectory
    from types import TracebackType

    from solvent.runs.agents.launch import LocalAgents
    from solvent.runs.embedded import EmbeddedRun
    from solvent.runs.holders import Holder
    from solvent.runs.projection import Change, RunView
    from solvent.runs.recorded_run import RecordedRun
    from solvent.runs.registry import RunRecord
    from solvent.store import Store
    from solvent.workflows.model import Workflow

WAIT_SECONDS = 0.2
LOOK_SECONDS = 0.05
MAX_LEAVING_SECONDS = 10.0
_ENDS = frozenset({"done", "failed", "cancelled", "healed"})
_PASSING = frozenset({"E402", "E409", "E414"})
"""Codes of temporary problems of a store."""


class Status(NamedTuple):
    """How a run stands: what `Run.status()` returns.

    >>> from solvent import service, submit, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> with submit(shout, {"text": "hi"}) as run:
    ...     _ = run.wait()
    ...     status = run.status()
    >>> status.state, status.tasks, status.calls
    ('done', {'upper': 'done'}, {'upper': 1})
    """

    run: str
    """The name of the run."""
    workflow: str
    """The name of its workflow."""
    state: str
    """`running`, `waiting`, `done`, `failed`, `cancelled`; `stopped` or `interrupted` if its process left or died."""
    tasks: dict[str, str]
    """The state of each task."""
    calls: dict[str, int]
    """How often each task was called."""


class BackgroundRun:
    """A run that this process executes, in a thread of its own."""

    def __init__(self, held: RecordedRun, run: EmbeddedRun, stop: Flag) -> None:
        self.stop = stop
        self.report: Report | None = None
        self.error: BaseException | None = None
        self._held = held
        self._run = run
        context = copy_context()
        # It is no daemon: a script that ends early would lose the run without a word.
        self._thread = Thread(target=context.run, args=(self._execute,), name=f"run {held.record.run}")

    def start(self) -> Self:
        """Begin."""
        self._thread.start()
        return self

    def _execute(self) -> None:
        try:
            self.report = executed(self._held, self._run)
        except BaseException as error:  # noqa: BLE001 - raised to those who wait
            self.error = error

    @property
    def name(self) -> str:
        """The name of the run."""
        return self._held.record.run

    @property
    def errors(self) -> Mapping[str, BaseException]:
        """The exceptions of its tasks."""
        return self._run.execution.errors

    @property
    def workflow(self) -> tuple[Workflow, Path | None]:
        """Its workflow, and the folder of the files that it names."""
        return self._run.execution.workflow, self._run.execution.folder

    def offer(self, workflow: Workflow, folder: Path | None) -> None:
        """Know a workflow that the run may be updated to."""
        self._held.offer(workflow, folder)

    def join(self, seconds: float | None = None) -> bool:
        """Wait until it is over; return whether it is."""
        self._thread.join(seconds)
        return not self._thread.is_alive()


def executed(held: RecordedRun | None, run: EmbeddedRun) -> Report:
    """Execute a run here, recorded if it is `held`, and return its report."""
    try:
        report = run.run() if held is None else held.execute(run)
    except BaseException as error:
        if held is not None:
            held.give_up(error)
        raise
    workflow = run.execution.workflow
    _restore_results(report, unpickles=workflow.unpickles)
    if report.succeeded:
        report.value = value_of(report, workflow)
    return report


def _restore_results(report: Report, *, unpickles: bool) -> None:
    """Put the objects of pickles into the results, as far as they can be read."""
    if unpickles and needs_restoring():
        for name, value in report.results.items():
            with suppress(Unloaded, ValueError):
                report.results[name] = restore(value, unpickles=True)


@dataclass(slots=True)
class Turn:
    """What was seen of a run since the last time."""

    changes: list[Change]
    #: Whether it has ended, or nobody executes it any more.
    is_over: bool = False
    #: The agent that continues it, once, when all that were started for it have ended.
    successor: str = ""
    #: Why its store cannot be read for a while.
    outage: StoreError | None = None


class Run:
    """A run that was submitted, or found in a store.

    It is looked at through its store, so it makes no difference who executes it. `with` closes it at the end, which
    ends the agents that were started for it; runs in a store that is not temporary can be attached to again.

    >>> from solvent import service, submit, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> with submit(shout, {"text": "hi"}) as run:
    ...     print(run.wait().results, run.state)
    {'upper': 'HI'} done
    """

    def __init__(
        self,
        store: Store,
        name: str,
        *,
        background: BackgroundRun | None = None,
        agents: LocalAgents | None = None,
        folder: TemporaryDirectory[str] | None = None,
        resume: Callable[..., tuple[BackgroundRun | None, LocalAgents | None, str]] | None = None,
        workflow_for: Callable[[Any, RunRecord], tuple[Workflow, Path | None]] | None = None,
        unpickles: bool = False,
    ) -> None:
        self.name = name
        """Its name, by which `attach` and the command line find it."""
        self._store = store
        self._background = background
        self._agents = agents
        self._folder = folder
        #: Who is told of events while it is waited for.
        self.watch: Callable[[TaskEvent], object] | None = None
        self._resume = resume
        self._workflow_for = workflow_for
        self._unpickles = unpickles

    def __repr__(self) -> str:
        return f"<run {self.name} in {self._store.url}>"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._stop()
        self.close()

    @property
    def state(self) -> str:
        """How it stands in a word; see `Status.state`."""
        return state_of(self._store, self._record())

    def status(self) -> Status:
        """Return how it stands now."""
        record = self._record()
        view = view_of(self._store, record)
        return Status(record.run, record.workflow, state_of(self._store, record), view.open_states, _calls(view))

    def report(self) -> Report:
        """Return its report; of a run that has not ended, what is known by now."""
        if self._background is not None and self._background.report is not None:
            return self._background.report
        record = self._record()
        workflow = self._workflow(record)
        view = view_of(self._store, record)
        return ended_report(self._store, record, workflow, view, unpickles=self._unpickles)

    def wait(self, timeout: float | None = None, *, check: bool = True) -> Report:
        """Wait until it has ended, and return its report.

        Raises `RunFailed` if it did not succeed, unless `check` is false; `TimeoutError` after `timeout` seconds;
        `RecordProblem` R411 if nobody executes it any more; `AgentProblem` A105 if all agents that were started for it
        have ended and no others can go on. Ctrl-C ends what was started here for it; `resume` continues it.
        """
        return self.wait_until(Flag(), timeout, check=check)

    def wait_until(self, stop: Flag, timeout: float | None = None, *, check: bool = True) -> Report:
        """Wait as `wait` does, or until `stop` is set: then what was started here ends, and the run can be resumed."""
        try:
            for change in self._changes(stop, timeout):
                if self.watch is not None and (event := event_of(change)) is not None:
                    self.watch(event)
        except TimeoutError:
            raise
        except BaseException:
            self._stop()
            raise
        return self._ended(stop, check=check)

    def _ended(self, stop: Flag, *, check: bool) -> Report:
        background = self._background
        if background is not None:
            if stop.is_set():
                background.stop.set()
            background.join()
            if background.error is not None:
                raise background.error
            assert background.report is not None
            return succeeded(background.report, background.errors) if check else background.report
        self._stop()
        record = self._record()
        if not record.has_ended and not stop.is_set():
            raise _left(record)
        report = self.report()
        return succeeded(report) if check else report

    def events(self, timeout: float | None = None) -> Iterator[Change]:
        """Yield what happens, from the beginning of the run to its end, as it happens, also if it is updated meanwhile.

        Each is one of the classes in `solvent.runs.projection`: `CallChanged` (`call`, `what`, `at`, `text`),
        `TaskChanged` (`task`, `state`), `Adaptation`, `Signal`, `Taken`, `Stuck`, and in the end `Over` (`state`).

        Raises as `wait` does, but not if the run fails.
        """
        yield from self._changes(Flag(), timeout)
        if not self._record().has_ended and self._background is None:
            raise _left(self._record())

    def signal(self, name: str, value: Any = None, *, id: str = "") -> str:  # noqa: A002 - the word
        """Send it a signal, and return the signal's id: one that comes twice by the same `id` is heard once.

        It is kept until a task waits for it. Raises `RecordProblem` R409 if the run has ended, and `Misuse` H316 for a
        signal that no task waits for, or whose value is no data.
        """
        return send_signal(self._store, self.name, name, value, id=id)

    def cancel(self, timeout: float = MAX_LEAVING_SECONDS) -> None:
        """End it for good: its calls are cancelled, and it cannot be resumed. Wait until its process has left it.

        Raises `TimeoutError` if that takes longer than `timeout` seconds. One that has ended stays as it is.
        """
        holder = cancel_run(self._store, self._record(), timeout, why="by `Run.cancel`")
        if self._background is not None and not self._background.join(timeout):
            holder = this_process()
        if holder is not None:
            raise TimeoutError(f"{self.name} is cancelled; {holder} has not left it yet")

    def resume(
        self,
        flow: Any = None,
        *,
        retry_failed: bool = False,
        since: str | None = None,
        agents: int | None = None,
        take_over: bool = False,
        deadline: float | str | None = None,
    ) -> Self:
        """Continue it, if it was stopped: answered calls are not repeated, those that were running are.

        If the workflow has changed, calls whose task, arguments and code are unchanged keep their answers.

        - `flow`: its workflow as it is to be; may be left out if it was submitted from here.
        - `retry_failed`: make calls again that have failed, also if it has ended.
        - `since`: do this task again, and all after it.
        - `agents`: start so many agents for it; by default this process executes it, unless agents do.
        - `take_over`: continue even if its original process may be alive, which notices and stops.
        - `deadline`: in which time from now it must end; a run that had ended has the time that it had before, anew.

        Raises `RecordProblem`: R404 if its workflow is not known, R405 if its process is still there or agents execute
        it, R406 if it cannot be resumed. If nothing is to be done, it stays as it is.
        """
        assert self._resume is not None
        self._background, self._agents, self.name = self._resume(
            self, flow, retry_failed, since, agents, take_over, deadline
        )
        return self

    def update(self, flow: Any = None, *, since: str | None = None) -> str:
        """Change it while it goes on, and return what becomes of its calls, such as `3 kept, 1 run again`.

        - `flow`: its workflow as it is to be.
        - `since`: do this task again, and all after it.

        Calls that are out go on, if they are unchanged.

        Raises `RecordProblem` R409 if it has ended: `resume` continues it; R405 if the process that executes it does
        not answer. One that is refused changes nothing. If another process executes it, that must find the workflow: in
        a file, or by the names of its functions.
        """
        record = self._record()
        refuse_to_update(record, "run.resume(flow)")
        workflow, folder = self._next_workflow(flow, record)
        if self._background is not None:
            self._background.offer(workflow, folder)
        elif not record.by_agents and not document_of(workflow):
            said = f"the process that executes `{record.run}` cannot know this workflow: no file can say it"
            raise RecordProblem(
                "R404", said, hint="give its functions names in a module; or stop the run and resume it"
            )
        _, update = next_version(
            self._store,
            record,
            workflow,
            since=since,
            folder=folder or Path(),
            knows_code=flow is not None or self._background is not None,
        )
        return str(update)

    def _next_workflow(self, flow: Any, record: RunRecord) -> tuple[Workflow, Path | None]:
        """Return the workflow of a further version, and the folder of the files that it names."""
        if flow is not None:
            assert self._workflow_for is not None
            workflow, folder = self._workflow_for(flow, record)
        elif self._background is not None:
            workflow, folder = self._background.workflow
        else:
            workflow, folder = workflow_of(self._store, record), None
        return replace(workflow, name=record.workflow), folder

    def close(self) -> None:
        """Let go of it: wait if this process executes it, else end the agents that were started here for it."""
        if self._background is not None:
            self._background.join()
        self._stop()
        self._store.close()
        if self._folder is not None:
            self._folder.cleanup()

    # ------------------------------------------------------------------------------------------------ inside

    @property
    def store(self) -> Store:
        """The store that has it."""
        return self._store

    def _record(self) -> RunRecord:
        return existing(self._store, self.name)

    def _workflow(self, record: RunRecord) -> Workflow | None:
        return workflow_of(self._store, record) if record.document else None

    def _stop(self) -> None:
        """End what was started here for it."""
        if self._background is not None:
            self._background.stop.set()
        if self._agents is not None:
            self._agents.stop()

    def _changes(self, stop: Flag, timeout: float | None) -> Iterator[Change]:
        """Yield what happens until the run has ended, nobody executes it any more, or it is to stop."""
        until = None if timeout is None else time.monotonic() + timeout
        record = self._record()
        follower = Follower(self._store, record, self._workflow(record))
        for turn in self.turns(follower, stop.is_set):
            yield from turn.changes
            if until is not None and not turn.is_over and time.monotonic() >= until:
                raise TimeoutError(f"{self.name} has not ended after {timeout:g} s")
        record = self._record()
        if record.has_ended:
            yield from follower.view.end(record)

    def turns(self, follower: Follower, should_stop: Callable[[], bool]) -> Iterator[Turn]:
        """Yield what has happened since the last time, as `_changes` does: its end is in the record.

        The follower turns to further versions of the run when they count.
        """
        with self._store.watch([f"runs/{self.name}/", FINISHED]) as watch:
            while not should_stop():
                turn = Turn([])
                try:
                    record = self._record()
                    is_next = record.prefix != follower.record.prefix
                    turn.is_over = not is_next and (record.has_ended or self._is_left(record))
                    turn.changes += follower.news()
                    if is_next:
                        follower.turn_to(record, self._workflow(record))
                    if self._agents is not None and not turn.is_over:
                        turn.successor = self._agents.look()
                except StoreError as error:
                    # The run may go on meanwhile.
                    if error.code not in _PASSING or error.is_lasting:
                        raise
                    turn.outage, turn.is_over = error, False
                yield turn
                if turn.is_over:
                    return
                try:
                    if turn.outage is not None:
                        raise turn.outage
                    watch.wait(WAIT_SECONDS)
                except StoreError:
                    time.sleep(WAIT_SECONDS)

    def _is_left(self, record: RunRecord) -> bool:
        """Return whether nobody executes it any more."""
        if record.by_agents:
            return False
        if self._background is not None:
            return self._background.join(0)
        return status_of(self._store, record) != "running"


def event_of(change: Change) -> TaskEvent | None:
    """Return what has happened as `run(watch=...)` is told of it; nothing for what it is not told of."""
    match change:
        case CallChanged(call, "called") if not call.is_repeated:
            return TaskEvent("started", call.task, call.began, within=call.within, items=change.items)
        case CallChanged(call, what, text=text) if what in _ENDS:
            said = f"[{call.item}] {text}" if call.is_item and what != "cancelled" and text else call.text
            return TaskEvent(what, call.task, call.ended or call.began, said, call.within, change.items)
        case Waits(at, task, signal):
            return TaskEvent("waits", task, at, signal)
        case Signal(at, name):
            return TaskEvent("signal", name, at)
        case Adaptation(at, alternative, because, within=within):
            return TaskEvent("adapted", because, at, alternative, within)
    return None


def ended_report(
    store: Store, record: RunRecord, workflow: Workflow | None, seen: RunView, *, unpickles: bool = False
) -> Report:
    """Return the report of a run that has ended; of one that was ended early, or not yet, what its journals contain.

    The `workflow` may be that of the record, which anybody may have written: pickles are read only where that is asked.
    """
    report = report_of(store, record, workflow) if workflow is not None or record.shards == 1 else None
    if report is None:
        report = Report(record.workflow, states=dict.fromkeys(seen.tasks, "waiting"), calls=_calls(seen))
        for call in (one for one in seen.calls if not one.within):
            report.states[call.task] = "cancelled" if call.state in ("interrupted", "withdrawn") else call.state
        if record.state == "failed":
            report.error = WorkflowFailed(
                "A106", f"no agent could continue `{record.run}`: {record.why or 'for an unknown reason'}"
            )
    if record.state == "failed" and record.why and record.is_late:
        report.error = DeadlinePassed(record.why)
    report.is_cancelled = report.is_cancelled or record.state == "cancelled"
    report.seconds, report.called_again, report.inner = record.lasted, seen.called_again, seen.inner_reports()
    report.timings = {name: one for name, one in seen.timings.items() if name in report.states}
    report.reused = dict(Counter(one.task for one in seen.calls if one.reused and not one.within))
    report.routes = sorted(seen.routes.get("", []), key=by_item)
    _restore_results(report, unpickles=unpickles)
    if record.state == "done" and workflow is not None:
        report.value = value_of(report, workflow)
    return report


def cancel_run(store: Store, record: RunRecord, seconds: float, *, why: str) -> Holder | None:
    """End a run for good, and wait so long until its process has left it; return the process if it has not."""
    if not record.has_ended:
        end(store, record.prefix, "cancelled", why)
    until = time.monotonic() + seconds
    while (holder := _still_there(store, record)) is not None and time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
    return holder


def _still_there(store: Store, record: RunRecord) -> Holder | None:
    """Return the process that has not left a run yet, if it is not one of agents: these find out by themselves."""
    holder = holder_of(store, record)
    return None if holder is None or is_there(holder) is False else holder


def _calls(view: RunView) -> dict[str, int]:
    found = dict[str, int]()
    for call in (one for one in view.calls if not one.within):
        found[call.task] = found.get(call.task, 0) + (not call.is_repeated)
    return found


def _left(record: RunRecord) -> RecordProblem:
    said = f"nobody executes the run `{record.run}` any more, and it has not ended"
    return RecordProblem("R411", said, hint=f"`run.resume(flow)` or `solvent resume {record.run}` continues it")


__all__ = ["BackgroundRun", "Run", "Status", "Turn", "cancel_run", "ended_report", "event_of", "executed"]
