"""How a run of a workflow ended: results on standard output and a summary on standard error, JSON, or WfFormat."""

from __future__ import annotations

import math
import sys
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from solvent.cli.render import counted, shortened, show_error, write, write_json
from solvent.cli.task_states import MARKS, STATES, STYLES, repeatable
from solvent.errors import WorkflowFailed
from solvent.hocl.json_fields import error_as_json
from solvent.runs.report import standing_for, state_of
from solvent.values.text import form_of

if TYPE_CHECKING:
    from argparse import Namespace
    from datetime import datetime

    from solvent.cli.render import Piece
    from solvent.runs.report import Failed, Report
    from solvent.workflows.model import Task, Workflow

_MAX_TASKS = 40
_MAX_FAILURES = 10
_MAX_ADAPTATIONS = 20
_MAX_NAMES = 10
_MAX_VALUE = 4_000
_MAX_CAUSE = 500
_MAX_MOLECULES = 400
_MAX_NAME = 40
_MAX_TRACEBACK = 50
_MAX_DEPTH = 100
_MAX_WAITING = 20
_STATE_WIDTH = 8
_ENDS = ("done", "failed", "cancelled")
_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


def write_report(workflow: Workflow, report: Report, options: Namespace, *, run: str = "") -> None:
    """Write how a run ended: as JSON, or its results and a summary."""
    if options.format == "json":
        _write_as_json(workflow, report, run=run)
    else:
        write_results(report)
        # A log in JSON contains nothing else.
        if getattr(options, "log_format", None) != "json":
            _write_summary(workflow, report, with_molecules=_asks_for_molecules(options))
    sys.stdout.flush()


def _write_as_json(workflow: Workflow, report: Report, *, run: str = "") -> None:
    """Write a run as one line of JSON; `run` is its name, if it is recorded."""
    notes: list[str] = []
    results = {}
    for name, value in report.results.items():
        results[name], is_exact = plain(value)
        if not is_exact:
            notes.append(
                f"the result of `{name}` has values that JSON cannot represent; their Python form replaces them"
            )
    names = [task.name for task in workflow.tasks]
    found: dict[str, Any] = {
        "results": results,
        "states": {name: report.states[name] for name in names if name in report.states},
        "calls": {name: report.calls.get(name, 0) for name in names},
        "adaptations": report.adaptations,
        **({"routes": report.routes} if report.routes else {}),
        **({"reused": report.reused} if report.reused else {}),
        **({"inner": {path: _inner_as_json(one) for path, one in report.inner.items()}} if report.inner else {}),
        "reactions": report.reactions,
        "seconds": round(report.seconds, 6),
    }
    if report.trace is not None:
        found |= {
            "stuck": report.stuck,
            "ended_by": report.ended_by,
            "cancelled": report.is_cancelled,
            "trace": [{"event": one.kind, "task": one.task, "seconds": round(one.seconds, 6)} for one in report.trace],
        }
    if report.failures:
        found["failures"] = [asdict(one) for one in report.failures]
    if report.error is not None:
        found["error"] = error_as_json(report.error)
    if notes:
        found["notes"] = notes
    if run:
        found |= {"called_again": report.called_again, "run": run}
    write_json(found)
    if report.stuck:
        # Also as an error, so that a reader of the results alone does not miss it.
        sys.stdout.flush()
        show_error(Stuck(report.stuck, workflow))


def _inner_as_json(report: Report) -> dict[str, Any]:
    """Return how a sub-workflow went."""
    found: dict[str, Any] = {
        "workflow": report.workflow, "task": report.task, "states": report.states, "calls": report.calls,
        "adaptations": report.adaptations, "seconds": round(report.seconds, 6),
        **({"routes": report.routes} if report.routes else {}),
    }  # fmt: skip
    if report.failures:
        found["failures"] = [asdict(one) for one in report.failures]
    if report.stuck:
        found["stuck"] = report.stuck
    return found


class Stuck(WorkflowFailed):
    """Nothing more can happen, and something still waits."""

    def __init__(self, waiting: list[str], workflow: Workflow) -> None:
        message = "the workflow is stuck: nothing runs, and these tasks still wait"
        hint = "`solvent explore WORKFLOW` shows the orders of tasks that lead here"
        names = {task.control.signal for task in workflow.tasks if task.control is not None and task.control.signal}
        missed = sorted(name for name in names if any(f"the signal `{name}`" in one for one in waiting))
        if missed:
            hint = f"send the signal: --signal {missed[0]}; or record the run, and it waits for `solvent signal`"
        super().__init__("W203", message, hint=hint)
        self.waiting = waiting

    def details(self) -> list[str]:
        """Return which tasks wait for what."""
        more = len(self.waiting) - _MAX_WAITING
        return [*self.waiting[:_MAX_WAITING], *([f"… and {more:,} more"] if more > 0 else [])]


def plain(value: Any, depth: int = 0) -> tuple[Any, bool]:
    """Return a value for JSON, and whether it is exact; parts that JSON cannot represent are their Python form."""
    kind = type(value)
    if value is None or kind in (bool, int, str) or (kind is float and math.isfinite(value)):
        return value, True
    if depth < _MAX_DEPTH:
        if kind in (list, tuple):
            items = [plain(one, depth + 1) for one in value]
            return [one for one, _ in items], all(is_exact for _, is_exact in items)
        if kind is dict and all(type(key) is str for key in value):
            pairs = {key: plain(one, depth + 1) for key, one in value.items()}
            return {key: one for key, (one, _) in pairs.items()}, all(is_exact for _, is_exact in pairs.values())
    return form_of(value), False


def write_results(report: Report) -> None:
    """Write the results to standard output."""
    for name, value in report.results.items():
        text = value if isinstance(value, str) else form_of(value)
        rest = f" … ({len(text):,} characters; --format json prints all)" if len(text) > _MAX_VALUE else ""
        first, *others = (text[:_MAX_VALUE] + rest).split("\n")
        if others:
            write((f"{name}:", "bold"))
            for line in (first, *others):
                write(f"  {line}")
        else:
            write((f"{name}: ", "bold"), first)
    sys.stdout.flush()


def _write_summary(workflow: Workflow, report: Report, *, with_molecules: bool) -> None:
    """Write a summary of a run to standard error."""
    _write_tasks(workflow, report)
    _write_adaptations(workflow, report.adaptations)
    _write_routes(report)
    for failed in report.failures[:_MAX_FAILURES]:
        _write_failure(failed, with_molecules=with_molecules)
    if len(report.failures) > _MAX_FAILURES:
        _say(f"… and {len(report.failures) - _MAX_FAILURES:,} more failed; --format json lists them all")
    if report.failures:
        _say("  hint: fix the cause and run it again, or add an alternative, which takes over when the task fails")
    if report.error is not None:
        show_error(report.error)
    if report.stuck:
        show_error(Stuck(report.stuck, workflow))
    if report.ended_by:
        how: Piece = ("cancelled", "bold red") if report.is_cancelled else ("ended", "bold")
        _say("`", (report.ended_by, "bold"), "` has ", how, " the case")
    _write_end(workflow, report)


def _write_end(workflow: Workflow, report: Report) -> None:
    if not report.succeeded:
        _write_not_done(workflow, report)
    calls = counted(sum(sum(one.calls.values()) for one in (report, *report.inner.values())), "call")
    if again := sum(report.called_again.values()):
        calls += f" and {again:,} repeated"
    if reused := sum(sum(one.reused.values()) for one in (report, *report.inner.values())):
        calls += f" ({reused:,} reused)"
    changes = counted(len(report.adaptations), "adaptation")
    state = "stuck" if report.stuck and report.error is None else state_of(report)
    how: Piece = (state, "bold green" if report.succeeded else "bold red")
    numbers = f"{counted(len(workflow.tasks), 'task')}, {calls}, {changes}, {counted(report.reactions, 'reaction')}"
    _say(how, f" after {report.seconds:.2f} s: {numbers}")


def _write_not_done(workflow: Workflow, report: Report) -> None:
    """Write which tasks have no result, and what each waits for."""
    waiting = [task for task in workflow.tasks if report.states.get(task.name) in ("waiting", "interrupted", None)]
    if not waiting:
        return
    _say("not done:")
    for task in waiting[:_MAX_NAMES]:
        _say(f"  `{task.name}` {_why_not_done(task, workflow, report)}")
    if len(waiting) > _MAX_NAMES:
        _say(f"  … and {len(waiting) - _MAX_NAMES:,} more")


def _why_not_done(task: Task, workflow: Workflow, report: Report) -> str:
    if report.calls.get(task.name):
        service = workflow.service(task.service)
        return "waits for its time" if service is not None and service.kind == "delay" else "was running"
    applied = {one["alternative"] for one in report.adaptations if not one.get("within")}
    missing = []
    for source in task.sources:
        name = standing_for(workflow, source, applied)
        if report.states.get(name) != "done":
            missing.append(f"`{name}`, which failed" if report.states.get(name) == "failed" else f"`{name}`")
    if not missing:
        return "was not started"
    # Those that failed come last, so that "which failed" is read of the right task.
    missing.sort(key=lambda one: one.endswith("failed"))
    return f"waits for {' and '.join(missing)}"


def _write_tasks(workflow: Workflow, report: Report) -> None:
    if len(workflow.tasks) > _MAX_TASKS:
        states = Counter(report.states.values())
        _say("  " + ", ".join(f"{states[state]:,} {state}" for state in STATES if states[state]))
        return
    width = min(_MAX_NAME, max((len(task.name) for task in workflow.tasks), default=0))
    room = max((_STATE_WIDTH, *map(len, report.states.values())))
    took = _seconds(report)
    repeated = {name for name in repeatable(workflow) if report.calls.get(name, 0) > 1}
    for task in workflow.tasks:
        state = report.states.get(task.name, "waiting")
        calls = counted(report.calls.get(task.name, 0), "run" if task.name in repeated else "call")
        time = f"{calls:<9}{took[task.name]:8.2f} s" if task.name in took else calls
        style = STYLES.get(state, "")
        _say("  ", (MARKS[state], style), f" {task.name:<{width}}  ", (f"{state:<{room}}", style), f"  {time}")


def _seconds(report: Report) -> dict[str, float]:
    """Return for how many seconds each task has run, in all its runs."""
    found = {name: one.ended - one.started for name, one in report.timings.items()}
    if report.trace is None:
        return found
    found = {}
    out: Counter[str] = Counter()
    since: dict[str, float] = {}
    for event in report.trace:
        if event.kind == "started":
            if not out[event.task]:
                since[event.task] = event.seconds
            out[event.task] += 1
        elif out[event.task] and event.kind in _ENDS:
            out[event.task] -= 1
            if not out[event.task]:
                found[event.task] = found.get(event.task, 0.0) + event.seconds - since[event.task]
    for name in +out:
        # It was still at work when the run ended.
        found[name] = found.get(name, 0.0) + report.seconds - since[name]
    return found


def _write_adaptations(workflow: Workflow, adaptations: list[dict[str, Any]]) -> None:
    """Write which alternatives took over, each once."""
    alternatives = {one.name: one for one in workflow.alternatives}
    times = Counter((one["alternative"], one["because"], one["cause"], one.get("within", "")) for one in adaptations)
    for key in [*times][:_MAX_ADAPTATIONS]:
        name, because, cause, within = key
        instead = alternatives[name].explain().partition(", ")[0] if name in alternatives and not within else ""
        instead = instead or f"{', '.join(_by(adaptations, key))} takes over"
        because = f"{within}/{because}" if within else because
        often = f", {times[key]:,} times" if times[key] > 1 else ""
        _say(("  ↻ ", "yellow"), f"{name}: {instead}, because of {because} ({shortened(cause, _MAX_CAUSE)}){often}")
    rest = sum([*times.values()][_MAX_ADAPTATIONS:])
    if rest:
        _say(f"  … and {counted(rest, 'more adaptation')}")


def _write_routes(report: Report) -> None:
    """Write which items failed, and by which route their results came; of a task that failed, if several have."""
    failed = Counter(one["task"] for one in report.routes if one["route"] == "failed")
    several = {one.task for one in report.failures if failed[one.task] > 1}
    routes = [one for one in report.routes if one["route"] != "failed" or one["task"] in several]
    for one in routes[:_MAX_ADAPTATIONS]:
        is_lost = one["route"] == "failed"
        route = _ROUTES.get(one["route"], f"`{one['route']}`")
        mark: Piece = ("  ✗ ", "bold red") if is_lost else ("  ↻ ", "yellow")
        _say(
            mark, f"{one['task']}[{one['item']}] {one['argument']}: {route} ({shortened(one['causes'][0], _MAX_CAUSE)})"
        )
    if len(routes) > _MAX_ADAPTATIONS:
        _say(f"  … and {counted(len(routes) - _MAX_ADAPTATIONS, 'more item')}; --format json lists them all")


_ROUTES = {"skipped": "left out", "default": "the default", "failed": "failed"}


def _by(adaptations: list[dict[str, Any]], key: tuple[str, str, str, str]) -> list[str]:
    """Return the tasks by which an alternative inside a sub-workflow does the work."""
    name, _, _, within = key
    found = next(one for one in adaptations if one["alternative"] == name and one.get("within", "") == within)
    return [f"{within}/{one}" if within else one for one in found["by"]]


def _asks_for_molecules(options: Namespace) -> bool:
    """Return whether the user looks at molecules: by `--trace`, or in a concrete workflow, which consists of them."""
    return bool(getattr(options, "trace", False) or getattr(options, "services", None))


def _write_failure(failed: Failed, *, with_molecules: bool) -> None:
    attempts = f" at attempt {failed.attempts}" if failed.attempts > 1 else ""
    what = {"TIMEOUT": "took too long", "LOST": "was lost", "CONDITION": "was rejected"}.get(failed.kind, "failed")
    _say((f"task `{failed.task}` {what}{attempts}: ", "bold red"), shortened(failed.cause, _MAX_CAUSE))
    if failed.output:
        is_traceback = failed.output.startswith('  File "')
        _say("  traceback:" if is_traceback else "  the service's output ends with:")
        for line in failed.output.splitlines()[-(_MAX_TRACEBACK if is_traceback else _MAX_NAMES) :]:
            _say(f"  │ {shortened(line)}")
    if failed.molecules and with_molecules:
        _say(f"  molecules of the task: {shortened(failed.molecules, _MAX_MOLECULES)}")


def _say(*pieces: Piece) -> None:
    write(*pieces, to=sys.stderr)


def write_trace(workflow: Workflow, report: Report, began: datetime, path: str) -> None:
    """Write a run as a trace in WfFormat."""
    import json
    import platform

    from solvent import __version__
    from solvent.hocl.program_file import write_whole
    from solvent.workflows.formats.wfformat import RunRecord, TaskRecord, export_run

    tasks = tuple(
        TaskRecord(name, one.started, one.ended, one.attempts, report.states.get(name, "waiting"))
        for name, one in report.timings.items()
    )
    tasks += tuple(
        TaskRecord(
            f"{path}/{name}", one.started, one.ended, one.attempts, inner.states.get(name, "waiting"), inner.task
        )
        for path, inner in report.inner.items()
        for name, one in inner.timings.items()
    )
    system: Any = _SYSTEMS.get(sys.platform)
    record = RunRecord(
        tasks,
        makespan=report.seconds,
        executed_at=began.isoformat(timespec="seconds"),
        machine=platform.node() or "localhost",
        system=system,
        adaptations=tuple(one["alternative"] for one in report.adaptations if not one.get("within")),
        version=__version__,
    )
    write_whole(path, json.dumps(export_run(workflow, record), indent=1, ensure_ascii=False) + "\n")
