"""Runs workflows from Python: `solvent.run`, `run_async`, `submit` and `attach`.

    report = solvent.run(pipeline, {"url": "http://localhost/"}, jobs=8)
    report = solvent.run(pipeline, {"url": "http://localhost/"}, store="runs.db", agents=4)

They take what `@workflow` makes, or the model itself, check it as `solvent run` does, and return the report, or a `Run`
to look at. A run that does not succeed raises `RunFailed`, which has the report; with `check=False` the report is
returned.
"""

from __future__ import annotations

import asyncio
import os
import sys
import tempfile
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, Unpack

from msgspec.structs import replace

from solvent.errors import Misuse, RecordProblem, nearest
from solvent.hocl.process_settings import interruptible
from solvent.runs.report import succeeded
from solvent.runs.run_handle import BackgroundRun, Run, executed
from solvent.runs.store_address import address_of, open_existing
from solvent.workflows.checks import check as problems_of
from solvent.workflows.durations import DURATION_RULE, seconds_of
from solvent.workflows.inputs import typed_inputs
from solvent.workflows.model import Workflow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

    from solvent.runs.agents.launch import LocalAgents
    from solvent.runs.recorded_run import RecordedRun
    from solvent.runs.registry import RunRecord
    from solvent.runs.report import Report, TaskEvent
    from solvent.services import Processes
    from solvent.store import Store
    from solvent.workflows.formats.python.callables import WorkflowFunction

    Flow = Workflow | WorkflowFunction[..., Any]


class RunOptions(TypedDict, total=False):
    """Options of a run: who executes it, where it is recorded, what it is told, and what may end it.

    >>> from solvent import run, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> run(shout, {"text": "hi"}, store="runs.db", name="first", jobs=2).results
    {'upper': 'HI'}
    """

    store: str | os.PathLike[str] | bool | None
    """Where the run is recorded: a file, an address, or `True` for that of the current folder; not at all by default. A
    run that was stopped can be continued: `attach(name, store=...).resume(workflow)`, or `solvent resume NAME`."""
    name: str | None
    """The name of the run in the store; a new one by default."""
    agents: int | None
    """Start so many agents on this machine, which end with the run; 0 leaves it to agents that are there. They import
    the functions that the workflow calls."""
    jobs: int | None
    """How many threads (default: cores + 4, at most 32) or worker processes (default: cores) run Python functions."""
    processes: bool | Processes
    """`True` runs Python functions in worker processes that end with the run; a `Processes` pool can be shared."""
    executor: Executor | None
    """Any `concurrent.futures.Executor` for the Python functions; it stays open."""
    folder: str | os.PathLike[str] | None
    """Where the files that the workflow names are; the current folder by default."""
    signals: Sequence[tuple[float, str, Any]]
    """Signals from outside, each with the seconds from the start, the name and the value."""
    max_seconds: float | None
    """Stop after that time, counted in this process; the run can be resumed, if it is recorded."""
    cache: bool
    """Whether results of all services are used again, by this run and others of its store; without agents."""
    deadline: float | str | None
    """In which time the run must end, also while no process executes it: seconds, `"30m"`, `"2h"`; after that it fails.
    By default that of the workflow."""
    watch: Callable[[TaskEvent], object] | None
    """Called with each `TaskEvent`, one at a time, from any thread of the run."""


def run(
    workflow: Workflow | WorkflowFunction[..., Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    should_stop: Callable[[], bool] | None = None,
    check: bool = True,
    **options: Unpack[RunOptions],
) -> Report:
    """Run a workflow until nothing more can happen, and return its `Report`.

    - `workflow`: what `@workflow` made, or a model (`Workflow`).
    - `inputs`: values for its inputs; those with a default may be left out.
    - `should_stop`: called now and then, from any thread of the run; the run stops when it returns true.
    - `check`: if false, return the report of a run that did not succeed instead of raising `RunFailed`; its `failures`,
      `stuck` and `error` (`LimitReached`, `Interrupted` or `ReactionFailed`) say why.
    - `options`: `RunOptions`.

    Raises `RunFailed` from the exception of the task that failed. Raises `WorkflowProblem` before anything is called if
    the workflow or its inputs are wrong; `ProgramError` if a program that it calls is; `Misuse` (H304, H313, H314,
    H316) for a program that cannot be read, options that exclude each other, something that is no workflow, or a signal
    that no task waits for; `RecordProblem` (R408) for a name that is taken; `AgentProblem` (A101) for what agents
    cannot run; `KeyboardInterrupt` after Ctrl-C, when running calls have ended.

    >>> from solvent import attempt, run, service, workflow
    >>> number, length = service(int), service(len)
    >>> @workflow
    ... def measure(text: str) -> int:
    ...     return attempt(number(text), otherwise=length(text))
    >>> report = run(measure, {"text": "seven"}, jobs=2)
    >>> report.succeeded, report.results
    (True, {'int': 5})
    >>> report.adaptations[0]["cause"]
    "FAILED: ValueError: invalid literal for int() with base 10: 'seven'"
    """
    plan = _plan(workflow, inputs, options, should_stop)
    stop = Flag()
    with interruptible(stop.set):
        report, errors = _carried_out(plan, stop)
    if stop.is_set():
        raise KeyboardInterrupt
    return succeeded(report, errors) if check else report


async def run_async(
    workflow: Workflow | WorkflowFunction[..., Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    check: bool = True,
    **options: Unpack[RunOptions],
) -> Report:
    """Run a workflow as `run` does, while the event loop goes on.

    If the task that awaits it is cancelled, so are the calls of the run; one that is recorded can be resumed.

    Raises what `run` raises.

    >>> import asyncio
    >>> from solvent import run_async, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> async def main():
    ...     return await asyncio.gather(*(run_async(shout, {"text": text}) for text in ("a", "b")))
    >>> [report.results for report in asyncio.run(main())]
    [{'upper': 'A'}, {'upper': 'B'}]
    """
    plan = _plan(workflow, inputs, options)
    stop, loop = Flag(), asyncio.get_running_loop()
    done: asyncio.Future[_Ended] = loop.create_future()

    def work() -> None:
        try:
            found = _carried_out(plan, stop)
        except BaseException as error:  # noqa: BLE001 - raised to the task that waits
            _tell(loop, done.set_exception, error)
        else:
            _tell(loop, done.set_result, found)

    Thread(target=copy_context().run, args=(work,), name="run_async").start()
    try:
        report, errors = await asyncio.shield(done)
    except asyncio.CancelledError:
        stop.set()
        while not done.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([done])
        # One that is never asked for would be reported.
        done.exception()
        raise
    return succeeded(report, errors) if check else report


def submit(
    workflow: Workflow | WorkflowFunction[..., Any],
    inputs: Mapping[str, Any] | None = None,
    **options: Unpack[RunOptions],
) -> Run:
    """Start a workflow, and return its `Run` at once; arguments are those of `run`.

    A thread of this process executes it, unless agents do. Without a `store` its record is temporary.

    Raises what `run` raises before anything is called; what happens later is raised by `wait`.

    >>> from solvent import service, submit, workflow
    >>> upper = service(str.upper)
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return upper(text)
    >>> with submit(shout, {"text": "hi"}, store="runs.db", name="first") as run:
    ...     for change in run.events():
    ...         if type(change).__name__ == "CallChanged":
    ...             print(change.call.task, change.what)
    upper called
    upper done
    """
    return _submitted(_plan(workflow, inputs, options))


def attach(name: str, *, store: str | os.PathLike[str] | bool = True) -> Run:
    """Return the `Run` of this name, or of the only one that begins so, in a store.

    - `store`: a file, an address, or `True` for the store of the current folder.

    Raises `RecordProblem` (R401) if there is no such run or no such store.

    >>> from solvent import attach, run, service, workflow
    >>> @workflow
    ... def shout(text: str) -> str:
    ...     return service(str.upper)(text)
    >>> _ = run(shout, {"text": "hi"}, store="runs.db", name="first")
    >>> with attach("first", store="runs.db") as found:
    ...     print(found.state, found.report().results)
    done {'upper': 'HI'}
    """
    from solvent.runs.registry import find

    url = address_of(store, is_made=False)
    if not url:
        raise RecordProblem("R401", "no store is named", hint="name it: attach(NAME, store=URL)")
    opened = open_existing(url)
    try:
        found = find(opened, name).run
    except BaseException:
        opened.close()
        raise
    return Run(opened, found, **_continuing(url, None))


# ---------------------------------------------------------------------------------------------------------- inside


class _Plan(NamedTuple):
    """What is to be run, and how this process would."""

    flow: Flow
    workflow: Workflow
    inputs: Mapping[str, Any] | None
    options: RunOptions
    should_stop: Callable[[], bool] | None = None

    @property
    def folder(self) -> Path | None:
        """Where the files that the workflow names are, if that is said."""
        given = self.options.get("folder")
        return None if given is None else Path(given)

    @property
    def deadline(self) -> float | None:
        """In how many seconds it must end, if that is said."""
        return deadline_of(self.options.get("deadline"))

    def embedding(self, stop: Flag) -> dict[str, Any]:
        """Return the options for an `EmbeddedRun`."""
        asked = self.should_stop
        given = {key: value for key, value in self.options.items() if key not in _OF_STORES}
        return {
            **given,
            "folder": self.folder,
            "deadline": self.deadline,
            "should_stop": lambda: stop.is_set() or (asked is not None and asked()),
        }


_OF_STORES = ("store", "name", "agents", "cache")
_OF_ONE_PROCESS = ("processes", "executor", "max_seconds", "cache")
_Ended = tuple["Report", "Mapping[str, BaseException]"]
"""The report of a run, and the exceptions of its tasks."""


def _plan(
    flow: Flow,
    inputs: Mapping[str, Any] | None = None,
    options: RunOptions = RunOptions(),  # noqa: B008 - it is not changed
    should_stop: Callable[[], bool] | None = None,
) -> _Plan:
    for name in options.keys() - RunOptions.__annotations__.keys():
        hint = nearest(name, RunOptions.__annotations__) or f"options are {', '.join(RunOptions.__annotations__)}"
        raise TypeError(f"a run has no option `{name}`; {hint}")
    definition = definition_of(flow)
    if problems := problems_of(definition):
        raise problems[0]
    plan = _Plan(flow, definition, typed_inputs(definition, inputs or {}), options, should_stop)
    # It is refused before anything is begun.
    _ = plan.deadline
    return plan


def deadline_of(duration: object) -> float | None:
    """Return the seconds of a deadline; raise `Misuse` H319 for what is no duration."""
    seconds = None if duration is None else seconds_of(duration)
    if duration is not None and not seconds:
        raise Misuse("H319", f"{duration!r} is no deadline", hint=DURATION_RULE)
    return seconds


def definition_of(workflow: object) -> Workflow:
    """Return the model of what may be one or may make one."""
    if isinstance(workflow, Workflow):
        return workflow
    define = getattr(workflow, "definition", None)
    found = define() if callable(define) else None
    if not isinstance(found, Workflow):
        message = f"`solvent.run` runs workflows, and this is a {type(workflow).__name__}"
        raise Misuse("H314", message, hint="give it a function under @workflow, or `load_python(FILE)`")
    return found


def _carried_out(plan: _Plan, stop: Flag) -> _Ended:
    """Run it until it is over, or to stop."""
    options = plan.options
    if options.get("agents") is not None:
        with _submitted(plan) as run:
            return run.wait_until(stop, check=False), {}
    from solvent.runs.embedded import EmbeddedRun
    from solvent.store import open_store

    url = address_of(options.get("store"))
    if not url:
        if options.get("name") is not None:
            raise Misuse("H313", "`name` names a run in a store, and none is given", hint="store=True")
        embedded = EmbeddedRun(plan.workflow, plan.inputs, **plan.embedding(stop))
        report = executed(None, embedded)
    else:
        with open_store(url) as opened:
            held = _held(opened, plan)
            embedded = held.embed(plan.workflow, plan.inputs, **plan.embedding(stop))
            report = executed(held, embedded)
    embedded.execution.dissolve()
    return report, embedded.execution.errors


def _held(store: Store, plan: _Plan) -> RecordedRun:
    """Return the record of a run that this process is to execute."""
    from solvent.runs.recorded_run import new_run
    from solvent.runs.registry import KeptOptions
    from solvent.values import codec

    options = plan.options
    signals, name = options.get("signals"), options.get("name")
    how = KeptOptions(
        jobs=options.get("jobs"),
        processes=bool(options.get("processes")),
        signals=codec.encode([list(one) for one in signals]) if signals else b"",
        folder=str((plan.folder or Path()).absolute()),
        deadline=plan.deadline,
        cache=bool(options.get("cache")),
    )
    file = _file_of(plan.flow)
    held = new_run(store, plan.workflow, plan.inputs, file=file, folder=str(Path.cwd()), options=how)
    if name is not None:
        held.name(name)
    return held


def _submitted(plan: _Plan) -> Run:
    from solvent.store import open_store

    agents = plan.options.get("agents")
    folder, url = None, address_of(plan.options.get("store"))
    if not url:
        if agents == 0:
            raise Misuse("H313", "agents that are there have a store, and none is given", hint="store=URL")
        folder = tempfile.TemporaryDirectory(prefix="solvent-run-")
        url = str(Path(folder.name) / "store.db")
    opened = open_store(url, is_durable=folder is None)
    try:
        if agents is None:
            background = _in_background(_held(opened, plan), plan)
            known = _continuing(url, plan)
            return Run(opened, background.name, background=background, folder=folder, **known)
        given = _given_to_agents(opened, plan)
        local = _local_agents(opened, url, given, plan, agents)
    except BaseException:
        opened.close()
        if folder is not None:
            folder.cleanup()
        raise
    run = Run(opened, given.run, agents=local, folder=folder, **_continuing(url, plan))
    run.watch = plan.options.get("watch")
    return run


def _in_background(held: RecordedRun, plan: _Plan) -> BackgroundRun:
    stop = Flag()
    try:
        embedded = held.embed(plan.workflow, plan.inputs, **plan.embedding(stop))
        held.open()
    except BaseException as error:
        held.give_up(error)
        raise
    return BackgroundRun(held, embedded, stop).start()


def _given_to_agents(store: Store, plan: _Plan) -> RunRecord:
    from solvent.runs.agents.submission import give_to_agents
    from solvent.runs.registry import new_name

    options = plan.options
    own = {**{what: options.get(what) for what in _OF_ONE_PROCESS}, "should_stop": plan.should_stop}
    if wrong := [what for what, value in own.items() if value]:
        raise Misuse("H313", f"`{wrong[0]}` cannot be used with agents", hint="leave one of them out")
    workflow = _importable(plan).workflow
    name = options.get("name") or new_name(workflow.name)
    signals = options.get("signals", ())
    return give_to_agents(store, name, workflow, plan.inputs, signals=signals, deadline=plan.deadline)


def _importable(plan: _Plan) -> _Plan:
    """Return the plan with a workflow whose functions other processes can import, where it is one of the main script.

    That is imported by the name of its file, as agents do.
    """
    function = getattr(plan.flow, "function", None)
    file = _file_of(plan.flow)
    if getattr(function, "__module__", "") != "__main__" or not file:
        return plan
    from solvent.workflows.formats.python.files import read_python

    return plan._replace(workflow=read_python(file).workflow)


def _local_agents(store: Store, url: str, record: RunRecord, plan: _Plan, count: int) -> LocalAgents | None:
    """Start agents for a run, which read its workflow from a file made here."""
    if not count:
        return None
    from solvent.runs.agents.launch import LocalAgents, launch_for, log_folder
    from solvent.runs.registry import document_of, workflow_of

    workflow = _importable(plan).workflow
    descriptor, file = tempfile.mkstemp(prefix="services-", suffix=".json", dir=log_folder())
    with os.fdopen(descriptor, "w", encoding="utf-8") as out:
        out.write(document_of(workflow))
    place = str((plan.folder or Path()).absolute())
    launched = launch_for(
        record.run,
        url,
        [file],
        count,
        jobs=plan.options.get("jobs"),
        more=["--folder", place],
        variables={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    return LocalAgents(store, record, workflow_of(store, record), launched, files=[Path(file)])


def _file_of(flow: object) -> str:
    """Return the file and the name by which a command finds a workflow; nothing if it finds none."""
    function = getattr(flow, "function", None)
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", "")
    if code is None or not name.isidentifier():
        return ""
    module = sys.modules.get(function.__module__)
    path = Path(code.co_filename)
    if getattr(module, name, None) is not flow or path.suffix != ".py" or not path.is_file():
        return ""
    return f"{path.absolute()}:{name}"


def _resuming(url: str, plan: _Plan | None) -> Callable[..., tuple[BackgroundRun | None, LocalAgents | None, str]]:
    """Return what continues a run in a store, whose plan is known or not."""

    def resume(  # noqa: PLR0917 - what a user can ask for
        run: Run,
        flow: Flow | None,
        retry_failed: bool,  # noqa: FBT001
        since: str | None,
        agents: int | None,
        take_over: bool,  # noqa: FBT001
        deadline: float | str | None,
    ) -> tuple[BackgroundRun | None, LocalAgents | None, str]:
        from solvent.runs.agents.submission import hand_to_agents
        from solvent.runs.continuation import next_version
        from solvent.runs.recorded_run import refuse_to_continue
        from solvent.runs.recorded_run import resume as resumed
        from solvent.runs.registry import digest_of, existing, inputs_of, set_deadline, signals_of

        store, seconds = run.store, deadline_of(deadline)
        record = existing(store, run.name)
        known = plan if flow is None else _plan(flow)
        is_asked = retry_failed or since is not None
        if known is None:
            if (record.by_agents and not agents and not is_asked) or (record.has_ended and not is_asked):
                return None, None, run.name
            said = f"the workflow of `{run.name}` is not known here"
            raise RecordProblem("R404", said, hint="give it: run.resume(flow)")
        if record.by_agents or agents is not None:
            known = _importable(known)
        workflow = replace(known.workflow, name=record.workflow)
        if is_asked or digest_of(workflow) != record.digest:
            if not (record.has_ended or record.by_agents):
                refuse_to_continue(store, record, takes_over=take_over)
            place = known.folder or Path(record.options.folder)
            record, _ = next_version(
                store, record, workflow, retry_failed=retry_failed, since=since, folder=place, takes_over=take_over
            )
        if record.has_ended:
            return None, None, record.run
        if seconds is not None:
            record = set_deadline(store, record.run, seconds)
        if record.by_agents or agents is not None:
            if not record.by_agents:
                record = hand_to_agents(store, record, takes_over=take_over)
            return None, _local_agents(store, url, record, known, agents or 0), record.run
        kept = record.options
        options: RunOptions = {
            **known.options,
            "signals": signals_of(record),
            "jobs": known.options.get("jobs") or kept.jobs,
            "folder": known.folder or (Path(kept.folder) if kept.folder else None),
            "processes": known.options.get("processes") or kept.processes,
        }
        known = known._replace(workflow=workflow, inputs=inputs_of(store, record), options=options)
        return _in_background(resumed(store, record, takes_over=take_over), known), None, record.run

    return resume


def _continuing(url: str, plan: _Plan | None) -> dict[str, Any]:
    """Return what a `Run` needs to be resumed and updated."""
    unpickles = plan is not None and plan.workflow.unpickles
    return {"resume": _resuming(url, plan), "workflow_for": _workflow_for, "unpickles": unpickles}


def _workflow_for(flow: Flow, record: RunRecord) -> tuple[Workflow, Path | None]:
    """Return the workflow as who executes a run is to execute it, and the folder of the files that it names."""
    from solvent.runs.agents.offers import refuse_what_agents_cannot

    plan = _plan(flow)
    if record.by_agents:
        plan = _importable(plan)
        refuse_what_agents_cannot(plan.workflow)
    return plan.workflow, plan.folder


def _tell(loop: asyncio.AbstractEventLoop, tell: Callable[[Any], None], what: object) -> None:
    """Tell a loop something, if it is still there."""
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(tell, what)


__all__ = ["RunOptions", "attach", "definition_of", "run", "run_async", "submit"]
