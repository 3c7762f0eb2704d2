"""The trace of a run in WfFormat: of a run of this process by its report, of others by what was recorded."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from solvent.runs.records.history import Happening
    from solvent.runs.report import Report
    from solvent.workflows.model import Workflow

_SYSTEMS = {"linux": "linux", "darwin": "macos", "win32": "windows"}


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
    system: Any = _SYSTEMS.get(sys.platform)
    record = RunRecord(
        tasks,
        makespan=report.seconds,
        executed_at=began.isoformat(timespec="seconds"),
        machine=platform.node() or "localhost",
        system=system,
        adaptations=tuple(one["alternative"] for one in report.adaptations),
        version=__version__,
    )
    write_whole(path, json.dumps(export_run(workflow, record), indent=1, ensure_ascii=False) + "\n")


def write_recorded_trace(
    workflow: Workflow, report: Report, created: float, told: Iterable[Happening], path: str
) -> None:
    """Write a run that was recorded as a trace, with the times of its record: agents have clocks of their own."""
    from solvent.runs.records.timing import times_of
    from solvent.runs.report import Timing

    report.timings = {}
    # Of several calls of a task the last one counts, as in a run of this process.
    for span in times_of(told, created).spans:
        ended = report.seconds if span.ended is None else span.ended
        report.timings[span.task] = Timing(span.began, max(span.began, ended), span.attempts)
    write_trace(workflow, report, datetime.fromtimestamp(created, UTC), path)


__all__ = ["write_recorded_trace", "write_trace"]
